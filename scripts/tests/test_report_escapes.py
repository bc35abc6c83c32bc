"""Names with the signs of Markdown and LaTeX in them: every sign is printed, and the tables hold together."""

import io
import re
import shutil
import subprocess

import pytest
from latex_structure import tabulars

from convscope_report.output import Output
from convscope_report.render import latex, latex_text, markdown, markdown_text, terminal, width_of
from convscope_report.table import Cell, Column, Table

SIGNS = "\\|*_<>`[]$&#%{}~^\"'-!?,.:;=+/@()0aZ"
NAMES = [
    *(f"{sign}a{sign}{sign}b" for sign in SIGNS),
    r"a$\badmacro{$",
    r"\input{/etc/passwd}",
    "two\nlines",
    "--flag ---x ?`!` <<q>>",
    "Größe naïve façade Škoda Ångström",
    "中文 λ ≤ \u00d7 µ … 😀",
    "% comment",
    "[1ex]",
    "*",
]


def table_of(names):
    table = Table(
        "net|<b> $x$ & #1", "Which *is* it?", [Column("layer_%"), Column("a|b_c", "number", "ms")], "m <1>"
    )
    for place, name in enumerate(names):
        table.add(name, Cell(1.5, best=place % 3 == 0, tied=place % 3 == 1, suspect=place % 2 == 0))
    table.note("not <i>shown</i> | here, 100% _sure_")
    return table


def test_names_do_not_break_a_markdown_table():
    text = markdown(table_of(NAMES))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == len(NAMES) + 2
    assert all(len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3 for row in rows), rows
    assert markdown_text("con|v*<script>`x`_y_\\") == r"con\|v\*\<script\>\`x\`\_y\_\\"
    assert markdown_text("[a](b) $c$ &lt; #d\ne") == r"\[a\](b) \$c\$ \&lt; \#d e"
    assert markdown_text("a~~b~~") == r"a\~\~b\~\~"
    assert r"### net\|\<b\> \$x\$ \& \#1" in text
    assert r"- not \<i\>shown\</i\> \| here, 100% \_sure\_" in text
    table = table_of(NAMES)
    table.note("- where there is none")
    assert "\n- \\- where there is none\n" in markdown(table)


def test_a_terminal_table_has_its_columns_whatever_the_names():
    names = ["中文", "e\u0301", "plain", "two\nlines", "\x1b[31mred"]
    text = terminal(table_of(names))
    assert "\x1b" not in text
    rows = text.splitlines()[3 : 4 + len(names)]
    assert "?[31mred" in rows[-1] and "two lines" in rows[-2]
    assert [width_of(row) for row in rows[1:]] == [width_of(rows[0])] * len(names)


def test_a_name_that_the_terminals_encoding_lacks_is_printed_as_its_number():
    raw = io.BytesIO()
    stream = Output(io.TextIOWrapper(raw, encoding="latin-1"))
    stream.write("Größe 中")
    stream.flush()
    assert raw.getvalue().decode("latin-1") == r"Größe \u4e2d"


def test_what_latex_would_take_for_its_own_is_escaped():
    assert latex_text(r"a_b & 100% $x$ #1 {y} ~^\ <z>|") == (
        r"a\_b \& 100\% \$x\$ \#1 \{y\} \textasciitilde{}\textasciicircum{}\textbackslash{} "
        r"\textless{}z\textgreater{}\textbar{}"
    )
    assert latex_text("[1ex] *\n--aa ---") == "{[}1ex{]} {*} -{}-aa -{}--"
    assert latex_text("é Š 中") == r"\'{e} \v{S} (U+4E2D)"
    assert latex(table_of(NAMES)).isascii()


def test_a_latex_table_has_its_columns_and_rows_whatever_the_names():
    assert tabulars(latex(table_of(NAMES))) == [[2] * (1 + len(NAMES))]


GOOD_TABLE = latex(table_of(["a_b", "50%"]))


@pytest.mark.parametrize(
    ("good", "bad", "why"),
    [
        (r"\_", "_", "_ is not escaped"),
        (r"\%", "%", "% is not escaped"),
        (r"\#", "#", "# is not escaped"),
        (r"\&", "&", "& outside a tabular"),
        (r"\$x\$", "$x", "on the wrong side of $"),
        (" & ", r" \& ", "a row of 1 cells in a tabular of 2 columns"),
        (r"{lr}", "{lrr}", "a row of 2 cells in a tabular of 3 columns"),
        (r"{lr}", "{l,r}", "is missing"),
        (r"{tabular}{", r"{tabbing}{", r"\toprule within a row"),
        ("\\end{tabular}\n", "", "the end of table, where tabular is open"),
        ("\\end{table}\n", "", "table is not closed"),
        (r"\textbf{", r"\textbf", "the end of {, where tabular is open"),
        (r"\centering", r"\centring", r"\centring is not known"),
        (" \\\\\n\\bottomrule", "\n\\bottomrule", r"\bottomrule within a row"),
        ("\\midrule\n", "[1ex]", "takes for an argument"),
        ("\\end{table}\n", "\\end{table} $x", "$ is not closed"),
        ("\\centering\n", "\\centering\n\n", "a blank line within table"),
        ("shown", "gezeigt, größer", "ö is not ASCII"),
    ],
)
def test_a_broken_latex_table_is_found_without_tex(good, bad, why):
    broken = GOOD_TABLE.replace(good, bad, 1)
    assert broken != GOOD_TABLE
    with pytest.raises(ValueError, match=re.escape(why)):
        tabulars(broken)


DOCUMENT = r"""\documentclass{article}
\usepackage{booktabs}
\usepackage[landscape,margin=5mm]{geometry}
\begin{document}
%s
\end{document}
"""


def compiler():
    """The command of the TeX that is installed, or None."""
    if shutil.which("pdflatex"):
        return ["pdflatex", "-interaction=nonstopmode", "-halt-on-error"]
    if shutil.which("tectonic"):
        return ["tectonic", "--only-cached"]
    return None


@pytest.mark.parametrize("where", ["names", "golden"])
def test_latex_tables_compile(where, tmp_path, root):
    command = compiler()
    if command is None:
        pytest.skip("no TeX: neither pdflatex (Debian: texlive-latex-recommended) nor tectonic is installed")
    golden = root / "scripts" / "tests" / "report_data" / "golden" / "format-latex.tex"
    text = latex(table_of(NAMES)) if where == "names" else golden.read_text(encoding="utf-8")
    (tmp_path / "table.tex").write_text(DOCUMENT % text, encoding="utf-8")
    done = subprocess.run([*command, "table.tex"], cwd=tmp_path, capture_output=True, text=True, check=False,
                          timeout=120, errors="replace")  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert (tmp_path / "table.pdf").read_bytes().startswith(b"%PDF")
    assert "Missing character" not in done.stdout
