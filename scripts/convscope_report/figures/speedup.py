"""Heat map: how much faster each algorithm is than the fastest row of a library, layer by layer."""

import numpy
from matplotlib.colors import LogNorm

from convscope_report.contexts import contexts, in_order, is_suspect, passes_of
from convscope_report.figures.palette import LABELS
from convscope_report.figures.style import (
    INK,
    Figure,
    algorithms_in_order,
    canvas,
    caption,
    named,
)

QUESTION = "By what factor does each algorithm beat the fastest record of a library?"
OWN_QUESTION = "What share of the fastest algorithm's speed has each? (no library was measured)"
# Purple below 1, orange above: told apart with any colour vision.
COLOURS = "PuOr_r"
WIDEST = 4.0


def figures(results) -> list:
    """Return a figure for each network and circumstances, the passes side by side."""
    made = []
    for title, circumstances, rows in contexts(results.ranked()):
        text = caption(circumstances, rows, results.runs)
        library = bool(rows["speed_up"].notna().any())
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
        part = rows[rows["pass"] == name]
        layers, values = speedups(part, order, library)
        image = panel(axis, part, layers, order, values)
        axis.set_title(LABELS[name])
    bar = drawing.colorbar(image, ax=list(axes[0]), fraction=0.04, pad=0.01, ticks=[0.25, 0.5, 1, 2, 4])
    bar.ax.set_yticklabels(["≤0.25x", "0.5x", "1x", "2x", "≥4x"])
    bar.minorticks_off()
    bar.set_label("speed-up over the fastest library record" if library else "speed against the fastest")
    return drawing


def speedups(rows, order, library):
    """Return the layers, and by (algorithm, layer) the speed-up over the baseline or the winner, or NaN."""
    layers = in_order(rows["layer"])
    values = numpy.full((len(order), len(layers)), numpy.nan)
    for row in rows.to_dict("records"):
        value = row["speed_up"] if library else 1 / row["over_winner"]
        if value is not None:
            values[order.index(row["algorithm"]), layers.index(row["layer"])] = value
    return layers, values


def panel(axis, rows, layers, order, values):
    """Draw one heat map; cells without a time are hatched, the winner of each layer is bold."""
    axis.set_facecolor("#f4f4f4")
    axis.patch.set(hatch="////", edgecolor="#d0d0d0", linewidth=0)
    image = axis.imshow(
        numpy.ma.masked_invalid(values), cmap=COLOURS, norm=LogNorm(1 / WIDEST, WIDEST), aspect="auto"
    )
    for row in rows.to_dict("records"):
        y, x = order.index(row["algorithm"]), layers.index(row["layer"])
        if numpy.isnan(values[y, x]):
            continue
        strong = abs(numpy.log(values[y, x])) > 0.75 * numpy.log(WIDEST)
        text = f"{values[y, x]:.2f}" + ("t" if is_suspect(row) else "")
        weight = "bold" if row["rank"] == 1 else "normal"
        axis.text(x, y, text, ha="center", va="center", fontsize=7.5, color="white" if strong else INK,
                  fontweight=weight)  # fmt: skip
    axis.set_xticks(range(len(layers)), layers, rotation=35, ha="right")
    axis.set_yticks(range(len(order)), order)
    axis.tick_params(length=0)
    axis.grid(visible=False)
    return image
