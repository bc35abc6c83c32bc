"""Time against workspace, a panel a layer: the Pareto front is what no other row beats in both."""

import math

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
    scatter,
)

QUESTION = (
    "How much workspace is worth its bytes? On the line is what no other beats in both time and memory."
)
PANELS_A_ROW = 4
MIB = 2**20
# Rows slower than this many times the layer's fastest lie outside its panel.
CUT = 5.0


def figures(results) -> list:
    """Return a figure for each network, circumstances and pass; rows of several caps share it."""
    made = []
    right = results.ranked()
    look = looks(right)
    for title, circumstances, rows in contexts(right, varying=("workspace_cap_bytes",)):
        for name in passes_of(rows):
            part = rows[(rows["pass"] == name) & rows["workspace_bytes"].notna()]
            if part.empty:
                continue
            text = caption(circumstances, part, results.runs)
            text += f"\nrows of more than {CUT:.0f} times the layer's fastest are outside their panel"
            drawing = drawn(f"{title}: {LABELS[name]}, time and workspace", text, part, look)
            made.append(Figure(named("workspace", title, name), drawing))
    return made


def drawn(title, text, rows, look):
    """Draw a panel a layer with one legend."""
    layers = in_order(rows["layer"])
    columns = min(PANELS_A_ROW, len(layers))
    lines = math.ceil(len(layers) / columns)
    drawing, axes = canvas(title, QUESTION, text, lines, columns, (2.3 * columns + 2.6, 1.4 + 2.4 * lines))
    handles = {}
    for place, axis in enumerate(axes.flat):
        if place >= len(layers):
            axis.set_visible(False)
            continue
        panel(axis, rows[rows["layer"] == layers[place]], look, handles)
        axis.set_title(layers[place])
        if place % columns == 0:
            axis.set_ylabel("median time (ms)")
        if place + columns >= len(layers):
            axis.set_xlabel("workspace (MiB)")
    order = [name for name in algorithms_in_order(rows) if name in handles]
    drawing.legend([handles[name] for name in order], order, loc="outside right upper")
    return drawing


def panel(axis, rows, look, handles) -> None:
    """Draw one layer: points, and the front as steps."""
    rows = rows.assign(mib=rows["workspace_bytes"].astype(float) / MIB)
    for name in in_order(rows["algorithm"]):
        part = rows[rows["algorithm"] == name]
        handles[name] = scatter(axis, part, list(part["mib"]), list(part["full_median_ms"]), look[name])
    if line := front(rows):
        steps = [*line, (float(rows["mib"].max()), line[-1][1])]
        axis.step(*zip(*steps, strict=True), where="post", color=INK, linewidth=0.9, zorder=2)
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xlim(-0.2, 1.5 * max(1.0, float(rows["mib"].max())))
    axis.set_xticks([tick for tick in (0, 1, 8, 64, 512, 4096) if tick <= 1.5 * max(1.0, rows["mib"].max())])
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
    winner = float((rows["full_median_ms"] / rows["over_winner"]).min())  # of the cap that lets it be fastest
    axis.set_ylim(0, 1.08 * min(float(rows["full_median_ms"].max()), CUT * winner))


def front(rows) -> list:
    """Return (MiB, ms) of the rows that no other beats in both, by workspace."""
    line = rows[rows["on_front"].astype(bool)].sort_values("mib")
    return list(zip(line["mib"], line["full_median_ms"], strict=True))
