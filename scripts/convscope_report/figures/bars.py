"""Bars of algorithms grouped by layer, a figure a pass: times with their 95% intervals, and operations."""

from functools import partial

from convscope_report.contexts import by_place, in_order, is_suspect
from convscope_report.figures.style import (
    INK,
    Figure,
    algorithms_in_order,
    canvas,
    legend,
    looks,
    mark_suspect,
    of_each_pass,
)

LAYERS = "How long does each algorithm take on each layer? A star marks the fastest."
OPCOUNTS = "How many operations does each algorithm really do? The black line is the direct method's count."
LAYERS_A_LINE = 6
# A bar is cut where it is this many times the slowest of the layers' best; its time is written on it.
CUT = 5.0


def layers(results) -> list:
    """Return a figure for each network, circumstances and pass."""
    draw = partial(draw_times, look=looks(results.ranked()))
    return [
        Figure(stem, drawn(f"{heading}, time by layer", LAYERS, text, records, 2.7, draw))
        for stem, heading, text, records in of_each_pass(results, "layers")
    ]


def opcounts(results) -> list:
    """Return a figure for each network, circumstances and pass: operations against the direct method's."""
    draw = partial(draw_operations, look=looks(results.ranked()))
    return [
        Figure(stem, drawn(f"{heading}, operations", OPCOUNTS, text, records, 2.6, draw))
        for stem, heading, text, records in of_each_pass(results, "opcounts", needs="flops_executed")
    ]


def drawn(title, question, text, records, line_height, draw_line):
    """Return the drawing: a few layers a line, `line_height` inches each, and one legend.

    `draw_line(axis, records, layers, order)` fills a line and returns {algorithm: its bar}.
    """
    layers = in_order(records["layer"])
    lines = [layers[i : i + LAYERS_A_LINE] for i in range(0, len(layers), LAYERS_A_LINE)]
    size = (10.5, 1.6 + line_height * len(lines))
    drawing, axes = canvas(title, question, text, len(lines), 1, size)
    order = algorithms_in_order(records)
    handles = {}
    for axis, line in zip(axes[:, 0], lines, strict=True):
        handles |= draw_line(axis, records[records["layer"].isin(line)], line, order)
    legend(drawing, handles, order)
    return drawing


def groups(axis, records, layers, order):
    """Yield (layer, [(x, record), ...]) for each layer, algorithms side by side; then set up the x axis."""
    position, ticks = 0.0, []
    for layer in layers:
        part = by_place(records[records["layer"] == layer], "algorithm")
        present = [part[name,] for name in order if (name,) in part]
        yield layer, [(position + index, record) for index, record in enumerate(present)]
        ticks.append((position + (len(present) - 1) / 2, layer))
        position += len(present) + 1.5
    axis.set_xticks([x for x, _ in ticks], [name for _, name in ticks])
    axis.tick_params(axis="x", length=0)
    axis.grid(axis="x", visible=False)
    axis.set_xlim(-1, position - 1)


def bar(axis, x, height, look):
    """Draw one bar in the look of its algorithm and return it."""
    return axis.bar(x, height, 0.86, color=look.colour, hatch=look.hatch, edgecolor="white", linewidth=0.4)


def draw_times(axis, records, layers, order, look) -> dict:
    """Draw the times of a few layers and return the bars by algorithm."""
    winners = records["full_median_ms"] / records["over_winner"]
    top = min(CUT * float(winners.max()), 1.12 * float(records["full_median_ms"].max()))
    axis.set_ylim(0, top)
    axis.set_ylabel("median time (ms)")
    return {
        record["algorithm"]: draw_bar(axis, x, record, look[record["algorithm"]], top)
        for _, places in groups(axis, records, layers, order)
        for x, record in places
    }


def draw_bar(axis, x, record, style, top):
    """Draw one bar with its interval; the time stands on bars that are cut, a star under the winner."""
    time = float(record["full_median_ms"])
    made = bar(axis, x, min(time, top), style)
    low, high = record["full_ci_low_ms"], record["full_ci_high_ms"]
    if time > top:
        axis.text(x, 0.98 * top, f"{time:.3g}", rotation=90, ha="center", va="top", fontsize=7, color=INK,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})  # fmt: skip
    elif low is not None and high is not None:
        axis.errorbar(
            x, time, [[time - low], [high - time]], fmt="none", ecolor=INK, elinewidth=0.8, capsize=1.5
        )
    if is_suspect(record):
        mark_suspect(axis, x, min(time, 0.9 * top))
    if record["rank"] == 1:
        axis.plot(x, 0.015 * top, marker="*", markersize=7, color="white", markeredgecolor=INK,
                  markeredgewidth=0.5, clip_on=False, zorder=5)  # fmt: skip
    return made


def draw_operations(axis, records, layers, order, look) -> dict:
    """Draw executed operations as bars, the nominal ones of each layer as a line across them."""
    handles = {}
    for _, places in groups(axis, records, layers, order):
        for x, record in places:
            executed = record["flops_executed"] / 1e9
            handles[record["algorithm"]] = bar(axis, x, executed, look[record["algorithm"]])
            share = record["flops_executed"] / record["flops_nominal"]
            axis.annotate(f"{share:.2f}x", (x, executed), fontsize=6.5, ha="center", rotation=90,
                          xytext=(0, 2), textcoords="offset points", color=INK)  # fmt: skip
        (first, record), (last, _) = places[0], places[-1]
        axis.hlines(record["flops_nominal"] / 1e9, first - 0.6, last + 0.6, color=INK, linewidth=1.3)
    axis.set_ylim(
        0, 1.18 * float(records[["flops_executed", "flops_nominal"]].astype(float).max().max()) / 1e9
    )
    axis.set_ylabel("operations (GFLOP)")
    return handles
