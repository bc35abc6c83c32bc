"""Tables as text for a terminal, Markdown, LaTeX (booktabs) and CSV."""

import csv
import io
import shutil
import textwrap
import unicodedata

from convscope_report.table import Cell, Table, cell_text, plain


def line_width() -> int:
    """Return how many characters a line has: COLUMNS, the terminal's width, or 80 where there is none."""
    return shutil.get_terminal_size(fallback=(80, 24)).columns


def width_of(text: str) -> int:
    """Return how many columns of a terminal a text fills: a letter of CJK or an emoji two, an accent none."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in text
    )


def on_one_line(text: str) -> str:
    """Text without what a terminal obeys, such as line breaks and the escape sequences of colours."""
    return "".join(sign if sign.isprintable() else " " if sign.isspace() else "?" for sign in text)


def mark(value) -> str:
    """`*` for the best, `~` for what ties with it, then `^` for what is suspect."""
    if not isinstance(value, Cell):
        return ""
    return ("*" if value.best else "~" if value.tied else "") + ("^" if value.suspect else "")


def notes(table: Table, best: str = "*", tied: str = "~", suspect: str = "^") -> list:
    """Return the footnotes, after them what the marks mean that the table has, by the names given."""
    used = {sign for row in table.rows for value in row for sign in mark(value)}
    legend = {
        "*": f"{best} {table.best_means}",
        "~": f"{tied} {table.tied_means}",
        "^": f"{suspect} {table.suspect_means}",
    }
    return [*table.footnotes, *(text for sign, text in legend.items() if sign in used)]


def heading(table: Table) -> str:
    """Return the title; figures that others measured say so."""
    return f"PUBLISHED, not measured here: {table.title}" if table.published else table.title


def terminal(table: Table) -> str:
    """Return aligned text; a table wider than a line goes on below, its first column repeated."""
    columns = line_width()
    cells = [[column.heading for column in table.columns]]
    cells += [[mark(value) + cell_text(value, column) for value, column in row] for row in table.pairs()]
    cells = [list(map(on_one_line, row)) for row in cells]
    widths = [max(map(width_of, texts)) for texts in zip(*cells, strict=True)]
    lines = prose(heading(table), columns, "") + prose(table.question, columns)
    if table.circumstances:
        lines += prose(table.circumstances, columns)
    for part in parts(widths, columns - 2):
        for row in cells:
            padded = [padding(row[place], widths[place], table.columns[place].right) for place in part]
            lines.append("  " + "  ".join(padded).rstrip())
    for note in notes(table):
        lines += prose(note, columns)
    return "\n".join(lines) + "\n"


def padding(text: str, width: int, right: bool) -> str:
    """Return the text with spaces before or behind it, so many columns wide."""
    spaces = " " * (width - width_of(text))
    return spaces + text if right else text + spaces


def prose(text: str, columns: int, indent: str = "  ") -> list:
    """Return the lines of a sentence, broken between words."""
    return textwrap.wrap(
        on_one_line(text),
        columns,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def parts(widths: list, columns: int) -> list:
    """Return the columns of each part, at most so many characters wide; the first one is in all of them."""
    made, used = [[0]], widths[0]
    for place, width in enumerate(widths[1:], start=1):
        if used + 2 + width > columns and len(made[-1]) > 1:
            made.append([0])
            used = widths[0]
        made[-1].append(place)
        used += 2 + width
    return made


def markdown_text(text: str) -> str:
    """Text on one line with the signs escaped that Markdown, GitHub's mathematics or HTML would take."""
    return "".join("\\" + sign if sign in "\\|*_<>`[]$&#~" else sign for sign in " ".join(text.split()))


def markdown(table: Table) -> str:
    """Return a table of GitHub's Markdown; the best is bold."""

    def cell(value, column) -> str:
        text = markdown_text(cell_text(value, column))
        signs = mark(value)
        return f"**{text}**{signs[1:]}" if signs.startswith("*") else signs + text

    lines = [f"### {markdown_text(heading(table))}", "", markdown_text(table.question), ""]
    if table.circumstances:
        lines += [markdown_text(table.circumstances), ""]
    lines.append("| " + " | ".join(markdown_text(column.heading) for column in table.columns) + " |")
    lines.append("|" + "|".join("---:" if column.right else "---" for column in table.columns) + "|")
    for row in table.pairs():
        lines.append("| " + " | ".join(cell(value, column) for value, column in row) + " |")
    remarks = notes(table, best="bold:")
    if remarks:
        # A dash at the beginning would be a list in the list.
        texts = (markdown_text(remark) for remark in remarks)
        lines += ["", *(f"- \\{text}" if text.startswith("- ") else f"- {text}" for text in texts)]
    return "\n".join(lines) + "\n"


LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\`{}",
    # At the beginning of a row LaTeX would take these for arguments of the end of the row before.
    **{sign: "{" + sign + "}" for sign in "[]*"},
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "\u00d7": r"$\times$",
    "µ": r"$\mu$",
    "…": r"\ldots{}",
}
LATEX_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0308": '"',
    "\u030a": "r",
    "\u030c": "v",
    "\u0327": "c",
}


def latex_text(text: str) -> str:
    """Text on one line as LaTeX prints it whatever it is; letters that no font of it has by number."""
    letters = "".join(map(latex_letter, " ".join(text.split())))
    return letters.replace("--", "-{}-")  # two hyphens, and no dash


def latex_letter(letter: str) -> str:
    """Return what LaTeX prints as the letter."""
    if letter in LATEX_SPECIAL:
        return LATEX_SPECIAL[letter]
    if " " <= letter <= "~":
        return letter
    base, *accents = unicodedata.normalize("NFD", letter)
    if len(accents) == 1 and accents[0] in LATEX_ACCENTS and base.isascii() and base.isalpha():
        return f"\\{LATEX_ACCENTS[accents[0]]}{{{base}}}"
    return f"(U+{ord(letter):04X})"


def latex(table: Table) -> str:
    """Return a floating table for the booktabs package; the best is bold, ties are italic."""

    def cell(value, column) -> str:
        text = latex_text(cell_text(value, column))
        for sign, form in {"*": r"\textbf{%s}", "~": r"\textit{%s}", "^": r"%s\textsuperscript{t}"}.items():
            text = form % text if sign in mark(value) else text
        return text

    remarks = notes(table, best="bold:", tied="italic:", suspect="raised t:")
    caption = ". ".join(part.rstrip(".") for part in (heading(table), table.circumstances) if part)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_text(caption)}}}",
        rf"\begin{{tabular}}{{{''.join('r' if column.right else 'l' for column in table.columns)}}}",
        r"\toprule",
        " & ".join(latex_text(column.heading) for column in table.columns) + r" \\",
        r"\midrule",
    ]
    for row in table.pairs():
        lines.append(" & ".join(cell(value, column) for value, column in row) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\footnotesize {latex_text(remark)}" for remark in remarks]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def comma_separated(table: Table) -> str:
    """RFC 4180 with plain values in full precision (a percentage as a fraction); no title, no footnotes.

    A column `source` says of each row whether it was measured here or is published.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", "source", *(column.heading for column in table.columns)])
    source = "published" if table.published else "measured"
    for row in table.rows:
        values = [plain(value) for value in row]
        writer.writerow([table.title, source, *("" if value is None else value for value in values)])
    return text.getvalue()


FORMATS = {"terminal": terminal, "markdown": markdown, "latex": latex, "csv": comma_separated}


def render(tables: list, form: str) -> str:
    """All tables in one of FORMATS, an empty line between them."""
    return "\n".join(FORMATS[form](table) for table in tables)
