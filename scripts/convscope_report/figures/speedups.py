"""How much faster: than the fastest record of a library, with more threads, with larger batches."""

from dataclasses import dataclass

import numpy
from matplotlib.colors import LogNorm

from convscope_report.contexts import (
    best_by,
    by_place,
    counts_of,
    in_order,
    pass_contexts,
    passes_of,
    sum_by_count,
)
from convscope_report.figures import LABELS, without_device
from convscope_report.figures.style import (
    CAPTION,
    INK,
    SMALLEST,
    WIDTH,
    Figure,
    algorithms_in_order,
    canvas,
    cut,
    legend,
    log_axis,
    looks,
    mark_suspect,
    named,
    of_each,
    of_each_pass,
    sign,
)
from convscope_report.results import dictionaries
from convscope_report.table import Cell, counted

QUESTION = "By what factor does each algorithm beat the fastest record of a library?"
OWN_QUESTION = "What share of the fastest algorithm's speed has each? (no library was measured)"
# Purple below 1, orange above: told apart with any colour vision.
COLOURS = "PuOr_r"
WIDEST = 4.0
MOST_LINES = 40  # of a heat map, all its passes together
# Points of a cell's width from which it has room for two digits, and for two decimals.
NARROW, WIDE = 10.5, 15.0
# Column that varies, how it is called, what the right panel shows.
AXES = {
    "threads": ("threads", "How much faster do more threads make the network's convolutions?", "speed-up"),
    "batch": ("images a batch", "From which batch on is the machine busy?", "images/s"),
}


def speedup(results) -> list:
    """Return a heat map for each network and circumstances; of a large network one for each pass."""
    made = []
    for stem, title, text, records in of_each(results, "speedup"):
        passes = passes_of(records)
        places = records[["layer", "pass"]].drop_duplicates()
        parts = [passes] if len(places) <= MOST_LINES else [[name] for name in passes]
        for part in parts:
            here = records[records["pass"].isin(part)]
            name = stem if len(parts) == 1 else f"{stem}-{named(part[0])}"
            made.append(Figure(name, heat_maps(f"{title}: speed-up", text, here)))
    return made


def heat_maps(title, text, records):
    """Draw one panel a pass, a line a layer; without a library the speeds are against the fastest's."""
    library = bool(records["speed_up"].notna().any())
    passes = passes_of(records)
    order = algorithms_in_order(records)
    lines = [len(in_order(records[records["pass"] == name]["layer"])) for name in passes]
    height = 0.13 * sum(lines) + 0.2 * len(lines) + 0.055 * max(map(len, order)) + 0.5
    question = QUESTION if library else OWN_QUESTION
    room = cell_points(records, order)
    if room < NARROW:
        question += " Numbers: the winners'."
    drawing, axes = canvas(
        title, question, text, len(passes), height, sharex=True, gridspec_kw={"height_ratios": lines}
    )
    image = None
    for axis, name in zip(axes[:, 0], passes, strict=True):
        part = records[records["pass"] == name]
        layers, values = speedups(part, order, library)
        image = panel(axis, part, layers, order, values, room)
        axis.set_title(LABELS[name])
    axes[-1][0].set_xticks(range(len(order)), map(without_device, order), rotation=90)
    bar = drawing.colorbar(image, ax=list(axes[:, 0]), location="bottom", fraction=0.04, pad=0.03,
                           aspect=40, ticks=[0.25, 0.5, 1, 2, 4])  # fmt: skip
    bar.ax.set_xticklabels(["≤0.25x", "0.5x", "1x", "2x", "≥4x"])
    bar.minorticks_off()
    bar.set_label("speed-up over the fastest library record" if library else "speed against the fastest")
    return drawing


def speedups(records, order, library):
    """Return the layers, and by (layer, algorithm) the speed-up over the baseline or the winner, or NaN."""
    layers = in_order(records["layer"])
    values = numpy.full((len(layers), len(order)), numpy.nan)
    for record in dictionaries(records):
        value = record["speed_up"] if library else 1 / record["over_winner"]
        if value is not None:
            values[layers.index(record["layer"]), order.index(record["algorithm"])] = value
    return layers, values


def panel(axis, records, layers, order, values, room):
    """Draw one heat map; cells without a time are hatched, the winner of each layer is bold."""
    axis.set_facecolor("#f4f4f4")
    axis.patch.set(hatch="////", edgecolor="#d0d0d0", linewidth=0)
    image = axis.imshow(
        numpy.ma.masked_invalid(values), cmap=COLOURS, norm=LogNorm(1 / WIDEST, WIDEST), aspect="auto"
    )
    for record in dictionaries(records):
        y, x = layers.index(record["layer"]), order.index(record["algorithm"])
        if numpy.isnan(values[y, x]) or (room < NARROW and record["rank"] != 1):
            continue
        strong = abs(numpy.log(values[y, x])) > 0.75 * numpy.log(WIDEST)
        doubt = "?" if record["speed_up"] is not None and record["baseline_suspect"] else ""
        text = factor_text(values[y, x], room < WIDE) + (sign(record) or doubt)
        weight = "bold" if record["rank"] == 1 else "normal"
        axis.text(x, y, text, ha="center", va="center", fontsize=SMALLEST, fontweight=weight,
                  color="white" if strong else INK)  # fmt: skip
    axis.set_yticks(range(len(layers)), map(cut, layers))
    axis.tick_params(length=0)
    axis.grid(visible=False)
    return image


def cell_points(records, order) -> float:
    """Return about how wide the cells of a heat map are, in points."""
    names = 0.58 * CAPTION * max(len(cut(name)) for name in records["layer"])
    return (72 * WIDTH - names - 12) / len(order)


def factor_text(value: float, narrow: bool) -> str:
    """Return a factor for a cell: two decimals, in narrow cells two digits (1.3, .78)."""
    if not narrow:
        return f"{value:.2f}"
    if value >= 9.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 0.995 else f"{value:.2f}"[1:]


def scaling(results) -> list:
    """Return a figure for each network, circumstances and pass with several numbers of threads or batches."""
    made = []
    look = looks(results.ranked())
    for column, (words, question, kind) in AXES.items():
        for stem, heading, text, records in of_each_pass(results, f"scaling-{column}", (column,)):
            if records[column].nunique() < 2:
                continue
            counts = counts_of(beside(results, records, column))
            sums = network_sums(records, column, counts)
            if len({value for value, _ in sums}) > 1:
                order = [*algorithms_in_order(records), None]
                below = "\n".join([text, *without_sum(records, column, counts)])
                drawing = lines((f"{heading}, {words}", question, below), sums, order, look, words, kind)
                made.append(Figure(stem, drawing))
    return made


@dataclass(frozen=True)
class Sum(Cell):
    """A sum of times; `sign` is the letter of the first suspect record in it, empty without one."""

    sign: str = ""


def beside(results, records, column):
    """Return all records of the circumstances and pass of these, but for the column, right or not."""
    parts = (part for *_, part in pass_contexts(results.records, (column,)))
    return next(part for part in parts if records.index[0] in part.index)


def without_sum(records, column, counts) -> list:
    """Return a sentence for each value of the column at which layers of `counts` have no right record."""
    found = set(zip(records[column], records["layer"], strict=True))
    said = []
    for value in sorted(set(records[column])):
        left = [layer for layer in counts if (value, layer) not in found]
        if left:
            said.append(f"{column} {value:.0f}: no right record of {', '.join(left)}, so no sum")
    return said


def network_sums(records, column, counts) -> dict:
    """Return Sums of ms, the layers by count, by (value, algorithm); those that lack a layer are out.

    The layers are those of `counts`, also where none of their records is right, so that sums of two values
    are of the same. The algorithm None is the best of each layer.
    """
    sums = {}
    for value, part in records.groupby(column):
        found = by_place(part, "layer", "algorithm")
        found |= {(*layer, None): record for layer, record in best_by(part, "layer").items()}
        for name in [*in_order(part["algorithm"]), None]:
            total = sum_by_count(found, counts, name)
            if total is not None:
                letters = [sign(found[layer, name]) for layer in counts]
                letter = next(filter(None, letters), "")
                sums[int(value), name] = Sum(total.value, suspect=total.suspect, sign=letter)
    return sums


def lines(heading, sums, order, look, words, kind):
    """Draw time above; below speed-up (threads) or images a second (batch)."""
    drawing, axes = canvas(*heading, 2, 3.2, sharex=True)
    axes = list(axes[:, 0])
    values = sorted({value for value, _ in sums})
    for name in order:
        line = {value: sums[value, name] for value in values if (value, name) in sums}
        if line:
            draw_line(axes, line, name, look.get(name), values[0] if kind == "speed-up" else None)
    speed_up = kind == "speed-up"
    if speed_up:
        axes[1].plot(values, [value / values[0] for value in values], "--", color=INK, linewidth=0.8)
        axes[1].annotate("perfect", (values[-1], values[-1] / values[0]), fontsize=CAPTION, ha="right",
                         xytext=(-4, -10), textcoords="offset points")  # fmt: skip
    log_axis(axes[0], "y")
    axes[0].set_ylabel("sum by count (ms, log)")
    first = counted(values[0], "thread")
    axes[1].set_ylabel(f"speed-up over {first}" if speed_up else "images a second (1/s)")
    axes[1].set_ylim(0)
    for axis in axes:
        axis.set_xscale("log", base=2)
        axis.set_xticks(values, [str(value) for value in values])
        axis.set_xticks([], minor=True)
    axes[1].set_xlabel(words)
    handles = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    legend(drawing, handles, list(handles))
    return drawing


def draw_line(axes, line: dict, name: str | None, look, base: int | None) -> None:
    """Draw the sums of one algorithm by value in both panels; the best of each layer has no name and look.

    Below are speed-ups over the value `base`, where the algorithm has that; images a second without `base`.
    """
    style = {"color": INK, "linewidth": 1.4, "marker": ""}
    if look:
        style = {"color": look.colour, "marker": look.marker, "linewidth": 0.8, "markersize": 3}
        style |= {} if look.filled else {"markerfacecolor": "white"}
    times = {value: total.value for value, total in line.items()}
    axes[0].plot(list(times), list(times.values()), label=name or "best of each layer", **style)
    for value, total in line.items():
        mark_suspect(axes[0], total.sign, value, total.value)
    if base is None:
        axes[1].plot(list(times), [1e3 * value / ms for value, ms in times.items()], **style)
    elif base in times:
        axes[1].plot(list(times), [times[base] / ms for ms in times.values()], **style)
