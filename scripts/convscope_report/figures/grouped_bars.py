"""Bars of algorithms grouped by layer: the frame that the figures of times and of operations share."""

from convscope_report.contexts import in_order
from convscope_report.figures.style import algorithms_in_order, canvas

LAYERS_A_LINE = 6


def drawn(title, question, text, rows, line_height, draw_line):
    """Return the drawing: a few layers a line, `line_height` inches each, and one legend.

    `draw_line(axis, rows, layers, order)` fills a line and returns {algorithm: its bar}.
    """
    layers = in_order(rows["layer"])
    lines = [layers[i : i + LAYERS_A_LINE] for i in range(0, len(layers), LAYERS_A_LINE)]
    size = (10.5, 1.6 + line_height * len(lines))
    drawing, axes = canvas(title, question, text, len(lines), 1, size)
    order = algorithms_in_order(rows)
    handles = {}
    for axis, line in zip(axes[:, 0], lines, strict=True):
        handles |= draw_line(axis, rows[rows["layer"].isin(line)], line, order)
    names = [name for name in order if name in handles]
    drawing.legend([handles[name] for name in names], names, loc="outside right upper")
    return drawing


def groups(axis, rows, layers, order):
    """Yield (layer, [(x, row), ...]) for each layer, its algorithms side by side; then set up the x axis."""
    position, ticks = 0.0, []
    for layer in layers:
        part = {row["algorithm"]: row for row in rows[rows["layer"] == layer].to_dict("records")}
        present = [part[name] for name in order if name in part]
        yield layer, [(position + index, row) for index, row in enumerate(present)]
        ticks.append((position + (len(present) - 1) / 2, layer))
        position += len(present) + 1.5
    axis.set_xticks([x for x, _ in ticks], [name for _, name in ticks])
    axis.tick_params(axis="x", length=0)
    axis.grid(axis="x", visible=False)
    axis.set_xlim(-1, position - 1)


def bar(axis, x, height, look):
    """Draw one bar in the look of its algorithm and return it."""
    return axis.bar(x, height, 0.86, color=look.colour, hatch=look.hatch, edgecolor="white", linewidth=0.4)
