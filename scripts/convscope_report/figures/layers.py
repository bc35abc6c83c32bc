"""Grouped bars: time of each algorithm on each layer, with its 95% interval; a figure a pass."""

from convscope_report.contexts import contexts, in_order, passes_of
from convscope_report.figures.palette import LABELS
from convscope_report.figures.style import (
    INK,
    Figure,
    algorithms_in_order,
    canvas,
    caption,
    looks,
    named,
)

QUESTION = "How long does each algorithm take on each layer? A star marks the fastest."
LAYERS_A_ROW = 6
# A bar is cut where it is this many times the slowest of the layers' best; its time is written on it.
CUT = 5.0


def figures(results) -> list:
    """Return a figure for each network, circumstances and pass."""
    made = []
    right = results.right()
    look = looks(right)
    for title, circumstances, rows in contexts(right):
        for name in passes_of(rows):
            part = rows[rows["pass"] == name]
            text = caption(circumstances, part, results.runs)
            drawing = one_pass(f"{title}: {LABELS[name]}, time by layer", text, part, look)
            made.append(Figure(named("layers", title, name), drawing))
    return made


def one_pass(title, text, rows, look):
    """Draw one pass; networks of many layers take several rows of axes."""
    layers = in_order(rows["layer"])
    lines = [layers[i : i + LAYERS_A_ROW] for i in range(0, len(layers), LAYERS_A_ROW)]
    height = 1.6 + 2.7 * len(lines)
    drawing, axes = canvas(title, QUESTION, text, len(lines), 1, (10.5, height))
    order = algorithms_in_order(rows)
    handles = {}
    for axis, line in zip(axes[:, 0], lines, strict=True):
        draw_line(axis, rows[rows["layer"].isin(line)], line, order, look, handles)
    drawing.legend(
        [handles[name] for name in order if name in handles],
        [name for name in order if name in handles],
        loc="outside right upper",
    )
    return drawing


def draw_line(axis, rows, layers, order, look, handles) -> None:
    """Draw the bars of a few layers next to each other, each layer with the algorithms that can do it."""
    best = rows.groupby("layer")["full_median_ms"].min()
    top = CUT * float(best.max())
    top = min(top, 1.12 * float(rows["full_median_ms"].max()))
    axis.set_ylim(0, top)
    position, ticks = 0.0, []
    for layer in layers:
        part = {row["algorithm"]: row for row in rows[rows["layer"] == layer].to_dict("records")}
        present = [name for name in order if name in part]
        for index, name in enumerate(present):
            handles[name] = draw_bar(axis, position + index, part[name], look[name], top, best[layer])
        ticks.append((position + (len(present) - 1) / 2, layer))
        position += len(present) + 1.5
    axis.set_xticks([x for x, _ in ticks], [name for _, name in ticks])
    axis.tick_params(axis="x", length=0)
    axis.grid(axis="x", visible=False)
    axis.set_xlim(-1, position - 1)
    axis.set_ylabel("median time (ms)")


def draw_bar(axis, x, row, style, top, best):
    """Draw one bar with its interval; the time stands on bars that are cut, a dot under the fastest."""
    time = float(row["full_median_ms"])
    bar = axis.bar(
        x, min(time, top), 0.86, color=style.colour, hatch=style.hatch, edgecolor="white", linewidth=0.4
    )
    low, high = row["full_ci_low_ms"], row["full_ci_high_ms"]
    if time > top:
        axis.text(x, 0.98 * top, f"{time:.3g}", rotation=90, ha="center", va="top", fontsize=7, color=INK,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})  # fmt: skip
    elif low is not None and high is not None:
        axis.errorbar(
            x, time, [[time - low], [high - time]], fmt="none", ecolor=INK, elinewidth=0.8, capsize=1.5
        )
    if time == best:
        axis.plot(x, 0.015 * top, marker="*", markersize=7, color="white", markeredgecolor=INK,
                  markeredgewidth=0.5, clip_on=False, zorder=5)  # fmt: skip
    return bar
