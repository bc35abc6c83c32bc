"""How all figures look: colours, hatches and markers of algorithms, captions, files.

Which colour, hatch and marker an algorithm has is palette.py's business.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.figure import Figure as Drawing

from convscope_report.contexts import in_order, is_suspect
from convscope_report.figures.palette import COLOURS, HATCHES, MARKERS, OTHER_COLOUR, group

INK = "#222222"
SUSPECT = "t: throttled while measured; it ranks behind all others"
FAINT = "#8a8a8a"
FORMATS = ("png", "svg", "pdf")

pyplot.rcParams.update(
    {
        "font.size": 9,
        "axes.titlesize": 9.5,
        "axes.titlelocation": "left",
        "axes.edgecolor": FAINT,
        "axes.labelcolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": "#e3e3e3",
        "grid.linewidth": 0.6,
        "xtick.color": INK,
        "ytick.color": INK,
        "hatch.linewidth": 0.5,
        "legend.frameon": False,
        "legend.fontsize": 8,
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


def looks(rows) -> dict:
    """Return a Look for each algorithm of the rows, by family and provider and then by name.

    Rows of a library have open markers and the library's colour, whatever the family.
    """
    found = {}
    members: dict = {}
    known = rows[["algorithm", "family", "provider"]].drop_duplicates("algorithm").to_dict("records")
    order = list(COLOURS)
    for row in sorted(known, key=lambda row: (group(row), row["algorithm"])):
        place = members.setdefault(group(row), [])
        place.append(row["algorithm"])
        index = len(place) - 1
        colour = COLOURS.get(group(row), OTHER_COLOUR)
        offset = order.index(group(row)) if group(row) in order else len(order)
        marker = MARKERS[(index + offset) % len(MARKERS)]
        found[row["algorithm"]] = Look(colour, HATCHES[index % len(HATCHES)], marker, group(row) != "library")
    return found


def algorithms_in_order(rows) -> list:
    """Return the algorithms of the rows, grouped as their colours are."""
    return [name for name in looks(rows) if name in set(in_order(rows["algorithm"]))]


def canvas(
    title: str, question: str, caption: str, rows: int = 1, columns: int = 1, size=(9.0, 4.5), **options
):
    """Return (drawing, axes as a 2-D array) with title, question and, below, the caption; size in inches."""
    drawing, axes = pyplot.subplots(
        rows, columns, figsize=size, squeeze=False, layout="constrained", **options
    )
    # Heights of the lines above and below the axes, in inches.
    above, below = 0.62, 0.2 + 0.15 * (1 + caption.count("\n"))
    drawing.text(0.01, 1 - 0.08 / size[1], title, fontsize=11, fontweight="bold", color=INK, va="top")
    drawing.text(0.01, 1 - 0.33 / size[1], question, fontsize=8.5, color=INK, va="top")
    drawing.get_layout_engine().set(rect=(0, below / size[1], 1, 1 - (above + below) / size[1]))
    drawing.text(0.01, 0.1 / size[1], caption, fontsize=7.5, color="#555555", va="bottom")
    return drawing, axes


def caption(circumstances: str, rows, runs) -> str:
    """Return what stands below a figure: circumstances, machine, whether virtual, days, what a t means."""
    words = [circumstances]
    if bool(rows["virtualised"].map(bool).any()):
        words.append("virtual machine")
    days = sorted({runs[index].started[:10] for index in set(rows["run"]) if runs[index].started})
    if days:
        words.append(", ".join(days))
    suspects = any(is_suspect(row) for row in rows.to_dict("records"))
    return "; ".join(words) + (f"\n{SUSPECT}" if suspects else "")


def mark_suspect(axis, x, y) -> None:
    """Put a t beside a mark whose time is suspect; caption() says what it means."""
    axis.annotate("t", (x, y), fontsize=7, color=INK, xytext=(3, 3), textcoords="offset points", zorder=6)


def scatter(axis, rows, x, y, style):
    """Draw the rows of one algorithm at the values x and y, suspect ones marked; return the points."""
    for place, row in enumerate(rows.to_dict("records")):
        if is_suspect(row):
            mark_suspect(axis, x[place], y[place])
    return axis.scatter(
        x,
        y,
        s=32,
        marker=style.marker,
        facecolor=style.colour if style.filled else "none",
        edgecolor=style.colour if not style.filled else "white",
        linewidth=1.0 if not style.filled else 0.4,
        zorder=3,
    )


def named(*parts) -> str:
    """Return a file name's stem from words: letters, digits, and a dash for all else."""
    return "-".join(re.sub(r"[^a-z0-9.]+", "-", str(part).lower()).strip("-") for part in parts if part)


def save(figures: list, folder: Path, formats) -> list:
    """Write the figures into the folder, one file a format; return the paths."""
    paths = []
    folder.mkdir(parents=True, exist_ok=True)
    taken: dict = {}
    for figure in figures:
        taken[figure.name] = taken.get(figure.name, 0) + 1
        stem = figure.name if taken[figure.name] == 1 else f"{figure.name}-{taken[figure.name]}"
        for form in formats:
            path = folder / f"{stem}.{form}"
            # Without a date in the file, the same results give the same bytes.
            metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
            figure.drawing.savefig(path, dpi=160, metadata=metadata)
            paths.append(path)
        pyplot.close(figure.drawing)
    return paths
