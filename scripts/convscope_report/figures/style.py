"""How all figures look: marks of algorithms, captions, legends, what each is of, their files."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.figure import Figure as Drawing

from convscope_report.contexts import contexts, is_suspect, pass_contexts
from convscope_report.figures import COLOURS, HATCHES, LABELS, MARKERS, OTHER_COLOUR, group

INK = "#222222"
SUSPECT = "t: throttled while measured; it ranks behind all others"
FAINT = "#8a8a8a"

pyplot.rcParams.update(
    {
        "font.size": 9,
        "text.parse_math": False,  # a `$` in the name of a layer is a dollar
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


def looks(records) -> dict:
    """Return a Look for each algorithm of the records, by family and provider and then by name.

    Records of a library have open markers and the library's colour, whatever the family.
    """
    found, members = {}, Counter()
    known = records[["algorithm", "family", "provider"]].drop_duplicates("algorithm").to_dict("records")
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


def legend(drawing, handles: dict, order) -> None:
    """Draw one legend of the handles by algorithm, in that order."""
    names = [name for name in order if name in handles]
    drawing.legend([handles[name] for name in names], names, loc="outside right upper")


def caption(circumstances: str, records, runs) -> str:
    """Return what stands below a figure: circumstances, machine, whether virtual, days, what a t means."""
    words = [circumstances]
    if bool(records["virtualised"].map(bool).any()):
        words.append("virtual machine")
    days = sorted({runs[index].started[:10] for index in set(records["run"]) if runs[index].started})
    if days:
        words.append(", ".join(days))
    suspects = any(is_suspect(record) for record in records.to_dict("records"))
    return "; ".join(words) + (f"\n{SUSPECT}" if suspects else "")


def mark_suspect(axis, x, y) -> None:
    """Put a t beside a mark whose time is suspect; caption() says what it means."""
    axis.annotate("t", (x, y), fontsize=7, color=INK, xytext=(3, 3), textcoords="offset points", zorder=6)


def scatter(axis, records, x, y, style):
    """Draw the records of one algorithm at the values x and y, suspect ones marked; return the points."""
    for place, record in enumerate(records.to_dict("records")):
        if is_suspect(record):
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
    taken = Counter()
    for figure in figures:
        taken[figure.name] += 1
        stem = figure.name if taken[figure.name] == 1 else f"{figure.name}-{taken[figure.name]}"
        for form in formats:
            path = folder / f"{stem}.{form}"
            # Without a date in the file, the same results give the same bytes.
            metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
            figure.drawing.savefig(path, dpi=160, metadata=metadata)
            paths.append(path)
        pyplot.close(figure.drawing)
    return paths
