"""How all figures look: marks of algorithms, captions, legends, what each is of, their files.

Every figure is WIDTH inches wide, a column of a page, and is printed as it is: no text in it is smaller than
SMALLEST points, and what does not fit across grows in height.
"""

import contextlib
import re
import sys
import textwrap
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import LogLocator, NullLocator

from convscope_report.contexts import SUSPECT as SUSPECT_SIGNS
from convscope_report.contexts import contexts, is_suspect, pass_contexts
from convscope_report.figures import COLOURS, HATCHES, LABELS, MARKERS, OTHER_COLOUR, group
from convscope_report.results import dictionaries

INK = "#222222"
SUSPECT = "t: throttled while measured, d: disturbed; its time is too long"
WIDTH = 3.5
WIDE_RANGE = 50  # of a logarithmic axis: highest over lowest
LONGEST = 24  # letters of a layer's name
SMALLEST = 5.5
TITLE, TEXT, CAPTION = 8, 6.5, 6  # points
FAINT = "#8a8a8a"

pyplot.rcParams.update(
    {
        "font.size": TEXT,
        "text.parse_math": False,  # a `$` in the name of a layer is a dollar
        "axes.titlesize": 7,
        "axes.labelsize": TEXT,
        "axes.linewidth": 0.6,
        "axes.titlelocation": "left",
        "axes.edgecolor": FAINT,
        "axes.labelcolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": "#e3e3e3",
        "grid.linewidth": 0.4,
        "xtick.color": INK,
        "ytick.color": INK,
        "xtick.labelsize": CAPTION,
        "ytick.labelsize": CAPTION,
        "xtick.major.size": 2,
        "ytick.major.size": 2,
        "hatch.linewidth": 0.4,
        "legend.frameon": False,
        "legend.fontsize": CAPTION,
        "svg.fonttype": "none",
        "svg.hashsalt": "convscope",
        "pdf.fonttype": 42,
    }
)


@dataclass(frozen=True)
class Look:
    """How an algorithm is drawn: the colour of its family; hatch and marker tell it from its family."""

    colour: str
    hatch: str
    marker: str
    filled: bool


@dataclass(frozen=True)
class Figure:
    """A drawing and the stem of its file's name."""

    name: str
    drawing: Drawing


def looks(records) -> dict:
    """Return a Look for each algorithm of the records, by family and provider and then by name.

    Records of a library have open markers and the library's colour, whatever the family.
    """
    found, members = {}, Counter()
    known = dictionaries(records[["algorithm", "family", "provider"]].drop_duplicates("algorithm"))
    order = list(COLOURS)
    for record in sorted(known, key=lambda record: (group(record), record["algorithm"])):
        family = group(record)
        index = members[family]
        members[family] += 1
        offset = order.index(family) if family in order else len(order)
        marker = MARKERS[(index + offset) % len(MARKERS)]
        colour, hatch = COLOURS.get(family, OTHER_COLOUR), HATCHES[index % len(HATCHES)]
        found[record["algorithm"]] = Look(colour, hatch, marker, family != "library")
    return found


def algorithms_in_order(records) -> list:
    """Return the algorithms of the records, grouped as their colours are."""
    return list(looks(records))


def of_each(results, kind: str):
    """Yield (file name, title, caption, records) for a figure of each network and circumstances."""
    for title, circumstances, records in contexts(results.ranked()):
        yield named(kind, title), title, caption(circumstances, records, results.runs), records


def of_each_pass(results, kind: str, varying=(), needs: str = "rank"):
    """Yield (file name, heading, caption, records) for a figure of each set of circumstances and each pass.

    Records whose column `needs` is not known are left out.
    """
    for title, circumstances, name, records in pass_contexts(results.ranked(), varying):
        part = records[records[needs].notna()]
        if not part.empty:
            heading = f"{title}: {LABELS[name]}"
            yield named(kind, title, name), heading, caption(circumstances, part, results.runs), part


def canvas(title: str, question: str, caption: str, rows: int, height: float, columns: int = 1, **options):
    """Return (drawing, axes as a 2-D array) with title, question and, below, the caption.

    `height` is that of the axes in inches; what stands above and below is added to it.
    """
    lines = [(wrapped(title, TITLE, bold=True), TITLE), (wrapped(question, TEXT), TEXT)]
    below = wrapped(caption, CAPTION)
    above = 0.1 + sum(heights(text, size) for text, size in lines)
    foot = 0.08 + heights(below, CAPTION)
    whole = above + height + foot
    drawing, axes = pyplot.subplots(
        rows, columns, figsize=(WIDTH, whole), squeeze=False, layout="constrained", **options
    )
    y = whole - 0.04
    for (text, size), weight in zip(lines, ("bold", "normal"), strict=True):
        drawing.text(0.01, y / whole, text, fontsize=size, fontweight=weight, color=INK, va="top")
        y -= heights(text, size)
    drawing.text(0.01, 0.04 / whole, below, fontsize=CAPTION, color="#555555", va="bottom")
    engine = drawing.get_layout_engine()
    engine.set(rect=(0, foot / whole, 1, 1 - (above + foot) / whole), h_pad=0.03, w_pad=0.03)
    return drawing, axes


def wrapped(text: str, points: float, bold: bool = False) -> str:
    """Return the text in lines that fit across a figure."""
    most = int(WIDTH * 72 / (points * (0.66 if bold else 0.56)))
    return "\n".join(textwrap.fill(line, most) for line in text.split("\n"))


def heights(text: str, points: float) -> float:
    """Return the height of the lines of a text in inches."""
    return 1.25 * points / 72 * (1 + text.count("\n"))


def legend(drawing, handles: dict, order) -> None:
    """Draw one legend of the handles by algorithm, in that order, in columns between axes and caption."""
    names = [name for name in order if name in handles]
    longest = max(map(len, names))
    columns = max(1, min(3, int(WIDTH * 72 / (CAPTION * (0.58 * longest + 3.5)))))
    lines = -(-len(names) // columns)
    room = lines * 1.5 * CAPTION / 72 + 0.05
    drawing.legend(
        [handles[name] for name in names],
        names,
        loc="lower left",
        bbox_to_anchor=grow(drawing, room),
        ncols=columns,
        handlelength=1.4,
        handletextpad=0.4,
        columnspacing=1.0,
        labelspacing=0.35,
        borderpad=0,
    )


def grow(drawing, inches: float) -> tuple:
    """Make room of that height below the axes; return its lower left corner as shares of the figure."""
    old = drawing.get_figheight()
    left, bottom, width, height = drawing.get_layout_engine().get()["rect"]
    foot, above = bottom * old, (1 - bottom - height) * old
    whole = old + inches
    drawing.set_figheight(whole)
    for text in drawing.texts:
        x, y = text.get_position()
        text.set_position((x, y * old / whole if text.get_va() == "bottom" else 1 - (1 - y) * old / whole))
    drawing.get_layout_engine().set(
        rect=(left, (foot + inches) / whole, width, 1 - (above + foot + inches) / whole)
    )
    return 0.02, foot / whole


def caption(circumstances: str, records, runs) -> str:
    """Return what stands below a figure: circumstances, machine, days, what a t or d means."""
    words = [circumstances]
    if bool(records["virtualised"].map(bool).any()):
        words.append("virtual machine")
    days = sorted({runs[index].started[:10] for index in set(records["run"]) if runs[index].started})
    if days:
        words.append(", ".join(days))
    suspects = any(is_suspect(record) for record in dictionaries(records))
    return "; ".join(words) + (f"\n{SUSPECT}" if suspects else "")


def sign(record) -> str:
    """Return the letter behind what stands for a suspect record; caption() says what it means."""
    return SUSPECT_SIGNS.get(record["standing"], "")


def log_axis(axes, which: str, text="{:g}".format) -> None:
    """Make the axis "x" or "y" logarithmic: labels at 1, 2 and 5, of a wide range at the powers of ten."""
    axes.set(**{f"{which}scale": "log"})
    axis = getattr(axes, f"{which}axis")
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1,) if high / low > WIDE_RANGE else (1, 2, 5), numticks=8))
    axis.set_major_formatter(lambda value, _: text(value))
    axis.set_minor_locator(NullLocator())


def cut(name: str) -> str:
    """Return the name of a layer so short that it leaves room for what it labels."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2 - 1]}…{name[-LONGEST // 2 :]}"


def mark_suspect(axis, letter: str, x, y) -> None:
    """Put the letter of a suspect record, if it has one, beside its mark."""
    if letter:
        axis.annotate(letter, (x, y), fontsize=CAPTION, color=INK, xytext=(2, 2), zorder=6,
                      textcoords="offset points")  # fmt: skip


def scatter(axis, records, x, y, style):
    """Draw the records of one algorithm at the values x and y, suspect ones marked; return the points."""
    for place, record in enumerate(dictionaries(records)):
        mark_suspect(axis, sign(record), x[place], y[place])
    return axis.scatter(
        x,
        y,
        s=14,
        marker=style.marker,
        facecolor=style.colour if style.filled else "none",
        edgecolor=style.colour if not style.filled else "white",
        linewidth=0.8 if not style.filled else 0.3,
        zorder=3,
    )


def named(*parts) -> str:
    """Return a file name's stem from words: letters, digits, and a dash for all else."""
    return "-".join(re.sub(r"[^a-z0-9.]+", "-", str(part).lower()).strip("-") for part in parts if part)


@contextlib.contextmanager
def named_glyphs():
    """Say in one sentence on standard error which letters the font lacks, in place of a warning for each."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield
    lacking = {}
    for warning in said:
        found = re.match(r"Glyph (\d+) .*missing from", str(warning.message))
        if found:
            lacking[chr(int(found[1]))] = None
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if lacking:
        print(
            f"convscope-report: the font lacks {' '.join(lacking)}: they are boxes in the figures, but for "
            "the SVG, whose reader chooses the font",
            file=sys.stderr,
        )


@named_glyphs()
def save(figures: list, folder: Path, formats) -> list:
    """Write the figures into the folder, one file a format; return the paths."""
    paths = []
    folder.mkdir(parents=True, exist_ok=True)
    taken = Counter()
    for figure in figures:
        taken[figure.name] += 1
        stem = figure.name if taken[figure.name] == 1 else f"{figure.name}-{taken[figure.name]}"
        for form in formats:
            path = folder / f"{stem}.{form}"
            # Without a date in the file, the same results give the same bytes.
            metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
            figure.drawing.savefig(path, dpi=300, metadata=metadata)
            # The other formats are laid out as the first is: to lay out takes as long as to draw.
            figure.drawing.set_layout_engine("none")
            paths.append(path)
        pyplot.close(figure.drawing)
    return paths
