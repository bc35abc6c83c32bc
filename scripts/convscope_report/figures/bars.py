"""Times with their 95% intervals, and operations, a figure a pass.

Of one layer bars with the algorithms' names; of several a line a layer with a mark for each algorithm on a
logarithmic axis, which 60 layers and 20 algorithms leave readable.
"""

from functools import partial

from convscope_report.contexts import in_order
from convscope_report.figures.style import (
    CAPTION,
    INK,
    Figure,
    algorithms_in_order,
    canvas,
    cut,
    legend,
    log_axis,
    looks,
    mark_suspect,
    of_each_pass,
    scatter,
    sign,
)
from convscope_report.results import dictionaries

LAYERS = "How long does each algorithm take on each layer? A star marks the fastest."
OPCOUNTS = "How many operations does each algorithm really do? The black line is the direct method's count."
# A bar is cut where it is this many times the winner's; its time stands behind it.
CUT = 5.0


def layers(results) -> list:
    """Return a figure for each network, circumstances and pass."""
    look = looks(results.ranked())
    return [
        Figure(stem, drawn(f"{heading}, time by layer", LAYERS, text, records, partial(times, look=look)))
        for stem, heading, text, records in of_each_pass(results, "layers")
    ]


def opcounts(results) -> list:
    """Return a figure for each network, circumstances and pass: operations against the direct method's."""
    draw = partial(counts, look=looks(results.ranked()))
    return [
        Figure(stem, drawn(f"{heading}, operations", OPCOUNTS, text, records, draw))
        for stem, heading, text, records in of_each_pass(results, "opcounts", needs="flops_executed")
    ]


def drawn(title, question, text, records, draw):
    """Return the drawing; `draw(axis, records, alone)` fills it and returns {algorithm: its mark}."""
    layers = in_order(records["layer"])
    alone = len(layers) == 1
    height = 0.4 + (0.14 * len(records) if alone else max(0.13, min(0.24, 3 / len(layers))) * len(layers))
    drawing, axes = canvas(title, question, text, 1, height)
    axis = axes[0][0]
    names = [record["algorithm"] for record in by_rank(records)] if alone else layers
    axis.set_yticks(range(len(names)), map(cut, names))
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    if alone:
        axis.grid(axis="y", visible=False)
        axis.set_title(cut(layers[0]))
    handles = draw(axis, records, alone)
    if not alone:
        log_axis(axis, "x")
        legend(drawing, handles, algorithms_in_order(records))
    return drawing


def by_rank(records) -> list:
    """Return the records of one layer as dicts, the winner first."""
    return sorted(dictionaries(records), key=lambda record: record["rank"])


def bars(axis, records, column: str, unit: float, top: float, look) -> None:
    """Draw a bar for each record of one layer, by rank; its value, and a star for the winner, behind it."""
    for place, record in enumerate(by_rank(records)):
        style = look[record["algorithm"]]
        value = float(record[column]) / unit
        axis.barh(place, min(value, top), 0.8, color=style.colour, hatch=style.hatch, edgecolor="white",
                  linewidth=0.3)  # fmt: skip
        end = min(max(value, float(record["full_ci_high_ms"] or 0) if unit == 1 else 0), top)
        words = f"{value:.4g}" + (" ★" if record["rank"] == 1 else " ~" if record["in_doubt"] else "")
        axis.annotate(f"» {words}" if value > top else words, (end, place), xytext=(2, 0), va="center",
                      textcoords="offset points", fontsize=CAPTION, color=INK)  # fmt: skip
        mark_suspect(axis, sign(record), 0, place)
    axis.set_xlim(0, 1.2 * top)


def marks(axis, records, column: str, unit: float, look) -> dict:
    """Draw a mark for each record on the line of its layer; return the marks by algorithm."""
    layers = in_order(records["layer"])
    handles = {}
    for name in algorithms_in_order(records):
        part = records[records["algorithm"] == name]
        x = [float(value) / unit for value in part[column]]
        y = [layers.index(layer) for layer in part["layer"]]
        handles[name] = scatter(axis, part, x, y, look[name])
    return handles


def times(axis, records, alone, look) -> dict:
    """Draw the medians with their intervals, and a star at each winner."""
    axis.set_xlabel("median time (ms)" if alone else "median time (ms, log)")
    layers = in_order(records["layer"])
    limit = float("inf")
    handles = {}
    if alone:
        slowest = float(records["full_median_ms"].max())
        limit = min(CUT * float((records["full_median_ms"] / records["over_winner"]).max()), slowest)
        bars(axis, records, "full_median_ms", 1, limit, look)
    else:
        handles = marks(axis, records, "full_median_ms", 1, look)
    for place, record in enumerate(by_rank(records) if alone else dictionaries(records)):
        y = place if alone else layers.index(record["layer"])
        low, high, time = record["full_ci_low_ms"], record["full_ci_high_ms"], record["full_median_ms"]
        if low is not None and high is not None and time <= limit:
            axis.plot([low, min(high, limit)], [y, y], color=INK, linewidth=0.6, zorder=2.5)
        if record["rank"] == 1 and not alone:
            axis.plot(time, y - 0.38, marker="*", markersize=4, color="white", markeredgecolor=INK,
                      markeredgewidth=0.4, clip_on=False, zorder=5)  # fmt: skip
    return handles


def counts(axis, records, alone, look) -> dict:
    """Draw executed operations, the nominal ones of each layer as a line beside them."""
    axis.set_xlabel("operations (GFLOP)" if alone else "operations (GFLOP, log)")
    layers = in_order(records["layer"])
    if alone:
        top = float(records[["flops_executed", "flops_nominal"]].astype(float).max().max()) / 1e9
        bars(axis, records, "flops_executed", 1e9, top, look)
        axis.axvline(float(records["flops_nominal"].iloc[0]) / 1e9, color=INK, linewidth=0.9)
        return {}
    for record in dictionaries(records.drop_duplicates("layer")):
        place = layers.index(record["layer"])
        axis.vlines(record["flops_nominal"] / 1e9, place - 0.45, place + 0.45, color=INK, linewidth=1.2)
    return marks(axis, records, "flops_executed", 1e9, look)
