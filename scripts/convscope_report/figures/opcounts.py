"""Operation counts: what each algorithm executes on each layer against the direct method's count."""

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

QUESTION = "How many operations does each algorithm really do? The black line is the direct method's count."
LAYERS_A_ROW = 6


def figures(results) -> list:
    """Return a figure for each network, circumstances and pass."""
    made = []
    right = results.right()
    look = looks(right)
    for title, circumstances, rows in contexts(right):
        rows = rows[rows["flops_executed"].notna()]
        for name in passes_of(rows):
            part = rows[rows["pass"] == name]
            text = caption(circumstances, part, results.runs)
            drawing = drawn(f"{title}: {LABELS[name]}, operations", text, part, look)
            made.append(Figure(named("opcounts", title, name), drawing))
    return made


def drawn(title, text, rows, look):
    """Draw the bars, a few layers a line."""
    layers = in_order(rows["layer"])
    lines = [layers[i : i + LAYERS_A_ROW] for i in range(0, len(layers), LAYERS_A_ROW)]
    drawing, axes = canvas(title, QUESTION, text, len(lines), 1, (10.5, 1.6 + 2.6 * len(lines)))
    order = algorithms_in_order(rows)
    handles = {}
    for axis, line in zip(axes[:, 0], lines, strict=True):
        draw_line(axis, rows[rows["layer"].isin(line)], line, order, look, handles)
    names = [name for name in order if name in handles]
    drawing.legend([handles[name] for name in names], names, loc="outside right upper")
    return drawing


def draw_line(axis, rows, layers, order, look, handles) -> None:
    """Draw executed operations as bars, the nominal ones of each layer as a line across them."""
    position, ticks = 0.0, []
    for layer in layers:
        part = {row["algorithm"]: row for row in rows[rows["layer"] == layer].to_dict("records")}
        present = [name for name in order if name in part]
        for index, name in enumerate(present):
            style, row = look[name], part[name]
            handles[name] = axis.bar(
                position + index,
                row["flops_executed"] / 1e9,
                0.86,
                color=style.colour,
                hatch=style.hatch,
                edgecolor="white",
                linewidth=0.4,
            )
            share = row["flops_executed"] / row["flops_nominal"]
            place = (position + index, row["flops_executed"] / 1e9)
            axis.annotate(f"{share:.2f}x", place, fontsize=6.5, ha="center", rotation=90,
                          xytext=(0, 2), textcoords="offset points", color=INK)  # fmt: skip
        nominal = next(iter(part.values()))["flops_nominal"] / 1e9
        axis.hlines(nominal, position - 0.6, position + len(present) - 0.4, color=INK, linewidth=1.3)
        ticks.append((position + (len(present) - 1) / 2, layer))
        position += len(present) + 1.5
    axis.set_xticks([x for x, _ in ticks], [name for _, name in ticks])
    axis.tick_params(axis="x", length=0)
    axis.grid(axis="x", visible=False)
    axis.set_ylim(0, 1.18 * float(rows[["flops_executed", "flops_nominal"]].astype(float).max().max()) / 1e9)
    axis.set_xlim(-1, position - 1)
    axis.set_ylabel("operations (GFLOP)")
