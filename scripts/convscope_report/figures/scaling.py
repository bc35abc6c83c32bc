"""Scaling: the network's time over threads and images a batch, for algorithms that can do all its layers."""

from convscope_report.contexts import best, by_place, contexts, counts_of, in_order, passes_of, sum_by_count
from convscope_report.figures.palette import LABELS
from convscope_report.figures.style import (
    INK,
    Figure,
    algorithms_in_order,
    canvas,
    caption,
    looks,
    mark_suspect,
    named,
)

# Column that varies, how it is called, what the right panel shows.
AXES = {
    "threads": ("threads", "How much faster do more threads make the network's convolutions?", "speed-up"),
    "batch": ("images a batch", "From which batch on is the machine busy?", "images/s"),
}


def figures(results) -> list:
    """Return a figure for each network, circumstances and pass with several numbers of threads or batches."""
    made = []
    right = results.ranked()
    look = looks(right)
    for column, (words, question, kind) in AXES.items():
        for title, circumstances, rows in contexts(right, varying=(column,)):
            for name in passes_of(rows):
                part = rows[rows["pass"] == name]
                sums = network_sums(part, column)
                if len({value for value, _ in sums}) < 2:
                    continue
                text = caption(circumstances, part, results.runs)
                heading = f"{title}: {LABELS[name]}, {words}"
                drawing = drawn(heading, question, text, sums, part, look, words, kind)
                made.append(Figure(named("scaling", column, title, name), drawing))
    return made


def network_sums(rows, column) -> dict:
    """Return Cells of ms, the layers by count, by (value, algorithm); algorithms that lack a layer are out.

    The algorithm None is the best of each layer.
    """
    sums = {}
    for value, part in rows.groupby(column):
        counts = counts_of(part)
        found = by_place(part, "layer", "algorithm")
        found |= {(layer, None): best(part[part["layer"] == layer]) for layer in counts}
        for name in [*in_order(part["algorithm"]), None]:
            total = sum_by_count(found, counts, name)
            if total is not None:
                sums[int(value), name] = total
    return sums


def drawn(title, question, text, sums, rows, look, words, kind):
    """Draw time at the left; at the right speed-up (threads) or images a second (batch)."""
    drawing, (axes,) = canvas(title, question, text, 1, 2, (9.5, 4.2))
    values = sorted({value for value, _ in sums})
    order = [name for name in algorithms_in_order(rows) if any((value, name) in sums for value in values)]
    for name in [*order, None]:
        line = [(value, sums[value, name]) for value in values if (value, name) in sums]
        style = (
            {"color": INK, "linewidth": 2, "marker": ""}
            if name is None
            else {"color": look[name].colour, "marker": look[name].marker, "linewidth": 1, "markersize": 5}
        )
        if name is not None and not look[name].filled:
            style["markerfacecolor"] = "white"
        label = name or "best of each layer"
        times = [(value, total.value) for value, total in line]
        axes[0].plot(*zip(*times, strict=True), label=label, **style)
        for value, total in line:
            if total.suspect:
                mark_suspect(axes[0], value, total.value)
        right = [(value, rate(value, ms, times, kind)) for value, ms in times]
        axes[1].plot(*zip(*right, strict=True), **style)
    if kind == "speed-up":
        axes[1].plot(values, [value / values[0] for value in values], "--", color=INK, linewidth=0.8)
        axes[1].annotate("perfect", (values[-1], values[-1] / values[0]), fontsize=7, ha="right",
                         xytext=(-4, -10), textcoords="offset points")  # fmt: skip
    axes[0].set_yscale("log")
    axes[0].set_ylabel("sum over layers by count (ms, log)")
    axes[1].set_ylabel(
        f"speed-up over {values[0]} thread{'' if values[0] == 1 else 's'}"
        if kind == "speed-up"
        else "images a second (1/s)"
    )
    axes[1].set_ylim(0)
    for axis in axes:
        axis.set_xscale("log", base=2)
        axis.set_xticks(values, [str(value) for value in values])
        axis.set_xticks([], minor=True)
        axis.set_xlabel(words)
    drawing.legend(loc="outside right upper")
    return drawing


def rate(value, ms, line, kind) -> float:
    """Return images a second, or the speed-up over the first point of the line."""
    return 1e3 * value / ms if kind == "images/s" else line[0][1] / ms
