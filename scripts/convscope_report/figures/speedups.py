"""How much faster: than the fastest record of a library, with more threads, with larger batches."""

import numpy
from matplotlib.colors import LogNorm

from convscope_report.contexts import (
    best_by,
    by_place,
    counts_of,
    in_order,
    is_suspect,
    passes_of,
    sum_by_count,
)
from convscope_report.figures import LABELS
from convscope_report.figures.style import (
    INK,
    Figure,
    algorithms_in_order,
    canvas,
    looks,
    mark_suspect,
    of_each,
    of_each_pass,
)

QUESTION = "By what factor does each algorithm beat the fastest record of a library?"
OWN_QUESTION = "What share of the fastest algorithm's speed has each? (no library was measured)"
# Purple below 1, orange above: told apart with any colour vision.
COLOURS = "PuOr_r"
WIDEST = 4.0
# Column that varies, how it is called, what the right panel shows.
AXES = {
    "threads": ("threads", "How much faster do more threads make the network's convolutions?", "speed-up"),
    "batch": ("images a batch", "From which batch on is the machine busy?", "images/s"),
}


def speedup(results) -> list:
    """Return a heat map for each network and circumstances, the passes side by side."""
    return [
        Figure(stem, heat_maps(f"{title}: speed-up", text, records))
        for stem, title, text, records in of_each(results, "speedup")
    ]


def heat_maps(title, text, records):
    """Draw one panel a pass; without a library the speeds are against the fastest algorithm's."""
    library = bool(records["speed_up"].notna().any())
    passes = passes_of(records)
    order = algorithms_in_order(records)
    widths = [len(in_order(records[records["pass"] == name]["layer"])) for name in passes]
    size = (max(2.6 + 0.55 * sum(widths) + 0.3 * len(widths), 7.0), 1.9 + 0.24 * len(order))
    question = QUESTION if library else OWN_QUESTION
    drawing, axes = canvas(title, question, text, 1, len(passes), size, sharey=True, width_ratios=widths)
    image = None
    for axis, name in zip(axes[0], passes, strict=True):
        part = records[records["pass"] == name]
        layers, values = speedups(part, order, library)
        image = panel(axis, part, layers, order, values)
        axis.set_title(LABELS[name])
    bar = drawing.colorbar(image, ax=list(axes[0]), fraction=0.04, pad=0.01, ticks=[0.25, 0.5, 1, 2, 4])
    bar.ax.set_yticklabels(["≤0.25x", "0.5x", "1x", "2x", "≥4x"])
    bar.minorticks_off()
    bar.set_label("speed-up over the fastest library record" if library else "speed against the fastest")
    return drawing


def speedups(records, order, library):
    """Return the layers, and by (algorithm, layer) the speed-up over the baseline or the winner, or NaN."""
    layers = in_order(records["layer"])
    values = numpy.full((len(order), len(layers)), numpy.nan)
    for record in records.to_dict("records"):
        value = record["speed_up"] if library else 1 / record["over_winner"]
        if value is not None:
            values[order.index(record["algorithm"]), layers.index(record["layer"])] = value
    return layers, values


def panel(axis, records, layers, order, values):
    """Draw one heat map; cells without a time are hatched, the winner of each layer is bold."""
    axis.set_facecolor("#f4f4f4")
    axis.patch.set(hatch="////", edgecolor="#d0d0d0", linewidth=0)
    image = axis.imshow(
        numpy.ma.masked_invalid(values), cmap=COLOURS, norm=LogNorm(1 / WIDEST, WIDEST), aspect="auto"
    )
    for record in records.to_dict("records"):
        y, x = order.index(record["algorithm"]), layers.index(record["layer"])
        if numpy.isnan(values[y, x]):
            continue
        strong = abs(numpy.log(values[y, x])) > 0.75 * numpy.log(WIDEST)
        text = f"{values[y, x]:.2f}" + ("t" if is_suspect(record) else "")
        weight = "bold" if record["rank"] == 1 else "normal"
        axis.text(x, y, text, ha="center", va="center", fontsize=7.5, color="white" if strong else INK,
                  fontweight=weight)  # fmt: skip
    axis.set_xticks(range(len(layers)), layers, rotation=35, ha="right")
    axis.set_yticks(range(len(order)), order)
    axis.tick_params(length=0)
    axis.grid(visible=False)
    return image


def scaling(results) -> list:
    """Return a figure for each network, circumstances and pass with several numbers of threads or batches."""
    made = []
    look = looks(results.ranked())
    for column, (words, question, kind) in AXES.items():
        for stem, heading, text, records in of_each_pass(results, f"scaling-{column}", (column,)):
            sums = network_sums(records, column)
            if len({value for value, _ in sums}) > 1:
                order = [*algorithms_in_order(records), None]
                drawing = lines((f"{heading}, {words}", question, text), sums, order, look, words, kind)
                made.append(Figure(stem, drawing))
    return made


def network_sums(records, column) -> dict:
    """Return Cells of ms, the layers by count, by (value, algorithm); algorithms that lack a layer are out.

    The algorithm None is the best of each layer.
    """
    sums = {}
    for value, part in records.groupby(column):
        counts = counts_of(part)
        found = by_place(part, "layer", "algorithm")
        found |= {(*layer, None): record for layer, record in best_by(part, "layer").items()}
        for name in [*in_order(part["algorithm"]), None]:
            sums[int(value), name] = sum_by_count(found, counts, name)
    return {place: total for place, total in sums.items() if total is not None}


def lines(heading, sums, order, look, words, kind):
    """Draw time at the left; at the right speed-up (threads) or images a second (batch)."""
    drawing, (axes,) = canvas(*heading, 1, 2, (9.5, 4.2))
    values = sorted({value for value, _ in sums})
    for name in order:
        line = {value: sums[value, name] for value in values if (value, name) in sums}
        if line:
            draw_line(axes, line, name, look.get(name), kind)
    speed_up = kind == "speed-up"
    if speed_up:
        axes[1].plot(values, [value / values[0] for value in values], "--", color=INK, linewidth=0.8)
        axes[1].annotate("perfect", (values[-1], values[-1] / values[0]), fontsize=7, ha="right",
                         xytext=(-4, -10), textcoords="offset points")  # fmt: skip
    axes[0].set_yscale("log")
    axes[0].set_ylabel("sum over layers by count (ms, log)")
    first = f"{values[0]} thread{'' if values[0] == 1 else 's'}"
    axes[1].set_ylabel(f"speed-up over {first}" if speed_up else "images a second (1/s)")
    axes[1].set_ylim(0)
    for axis in axes:
        axis.set_xscale("log", base=2)
        axis.set_xticks(values, [str(value) for value in values])
        axis.set_xticks([], minor=True)
        axis.set_xlabel(words)
    drawing.legend(loc="outside right upper")
    return drawing


def draw_line(axes, line: dict, name: str | None, look, kind: str) -> None:
    """Draw the sums of one algorithm by value in both panels; the best of each layer has no name and look."""
    style = {"color": INK, "linewidth": 2, "marker": ""}
    if look:
        style = {"color": look.colour, "marker": look.marker, "linewidth": 1, "markersize": 5}
        style |= {} if look.filled else {"markerfacecolor": "white"}
    times = {value: total.value for value, total in line.items()}
    axes[0].plot(list(times), list(times.values()), label=name or "best of each layer", **style)
    for value, total in line.items():
        if total.suspect:
            mark_suspect(axes[0], value, total.value)
    first = next(iter(times.values()))
    rates = [1e3 * value / ms if kind == "images/s" else first / ms for value, ms in times.items()]
    axes[1].plot(list(times), rates, **style)
