"""Heat map: how much faster each algorithm is than the fastest row of a library, layer by layer."""

import numpy
from matplotlib.colors import LogNorm

from convscope_report.contexts import contexts, fastest, in_order, passes_of
from convscope_report.figures.palette import LABELS, is_library
from convscope_report.figures.style import (
    INK,
    Figure,
    algorithms_in_order,
    canvas,
    caption,
    named,
)

QUESTION = "By what factor does each algorithm beat the fastest row of a library?"
OWN_QUESTION = "What share of the fastest algorithm's speed has each? (no library was measured)"
# Purple below 1, orange above: told apart with any colour vision.
COLOURS = "PuOr_r"
WIDEST = 4.0


def figures(results) -> list:
    """Return a figure for each network and circumstances, the passes side by side."""
    made = []
    for title, circumstances, rows in contexts(results.right()):
        text = caption(circumstances, rows, results.runs)
        library = any(of_library(rows))
        made.append(Figure(named("speedup", title), drawn(f"{title}: speed-up", text, rows, library)))
    return made


def drawn(title, text, rows, library):
    """Draw one panel a pass."""
    passes = passes_of(rows)
    order = algorithms_in_order(rows)
    widths = [len(in_order(rows[rows["pass"] == name]["layer"])) for name in passes]
    size = (2.6 + 0.55 * sum(widths) + 0.3 * len(widths), 1.9 + 0.24 * len(order))
    size = (max(size[0], 7.0), size[1])
    question = QUESTION if library else OWN_QUESTION
    drawing, axes = canvas(title, question, text, 1, len(passes), size, sharey=True, width_ratios=widths)
    image = None
    for axis, name in zip(axes[0], passes, strict=True):
        layers, values = speedups(rows[rows["pass"] == name], order, library)
        image = panel(axis, layers, order, values)
        axis.set_title(LABELS[name])
    bar = drawing.colorbar(image, ax=list(axes[0]), fraction=0.04, pad=0.01, ticks=[0.25, 0.5, 1, 2, 4])
    bar.ax.set_yticklabels(["≤0.25x", "0.5x", "1x", "2x", "≥4x"])
    bar.minorticks_off()
    bar.set_label("speed-up over the fastest library row" if library else "speed against the fastest")
    return drawing


def speedups(rows, order, library):
    """Return the layers, and reference time over time by (algorithm, layer); NaN where there is none."""
    layers = in_order(rows["layer"])
    values = numpy.full((len(order), len(layers)), numpy.nan)
    for column, layer in enumerate(layers):
        part = rows[rows["layer"] == layer]
        reference = fastest(part[of_library(part)] if library else part)
        if reference is None:
            continue
        for row in part.to_dict("records"):
            line = order.index(row["algorithm"])
            values[line, column] = reference["full_median_ms"] / row["full_median_ms"]
    return layers, values


def of_library(rows):
    """Return which rows are convolutions of a library, as a list of Booleans."""
    return [is_library(row) for row in rows.to_dict("records")]


def panel(axis, layers, order, values):
    """Draw one heat map; cells without a time are hatched."""
    axis.set_facecolor("#f4f4f4")
    axis.patch.set(hatch="////", edgecolor="#d0d0d0", linewidth=0)
    image = axis.imshow(
        numpy.ma.masked_invalid(values), cmap=COLOURS, norm=LogNorm(1 / WIDEST, WIDEST), aspect="auto"
    )
    for (y, x), value in numpy.ndenumerate(values):
        if numpy.isnan(value):
            continue
        strong = abs(numpy.log(value)) > 0.75 * numpy.log(WIDEST)
        best = value == numpy.nanmax(values[:, x])
        axis.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=7.5,
                  color="white" if strong else INK, fontweight="bold" if best else "normal")  # fmt: skip
    axis.set_xticks(range(len(layers)), layers, rotation=35, ha="right")
    axis.set_yticks(range(len(order)), order)
    axis.tick_params(length=0)
    axis.grid(visible=False)
    return image
