"""Time-error plane: what an algorithm costs in time against what it costs in accuracy."""

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

QUESTION = "What accuracy does speed cost? A point is a layer; time is against the layer's fastest."


def figures(results) -> list:
    """Return a figure for each network and circumstances, a panel a pass."""
    made = []
    right = results.ranked()
    look = looks(right)
    for title, circumstances, rows in contexts(right):
        text = caption(circumstances, rows, results.runs)
        made.append(Figure(named("accuracy", title), drawn(f"{title}: time and error", text, rows, look)))
    return made


def drawn(title, text, rows, look):
    """Draw the panels with one legend."""
    passes = passes_of(rows)
    drawing, axes = canvas(
        title, QUESTION, text, 1, len(passes), (3.2 * len(passes) + 2.6, 4.6), sharey=True, sharex=True
    )
    handles = {}
    for axis, name in zip(axes[0], passes, strict=True):
        panel(axis, rows[rows["pass"] == name], look, handles)
        axis.set_title(LABELS[name])
        axis.set_xlabel("time over the layer's fastest (log)")
    axes[0][0].set_ylabel("relative L2 error against f64 (log)")
    order = [name for name in algorithms_in_order(rows) if name in handles]
    drawing.legend([handles[name] for name in order], order, loc="outside right upper")
    return drawing


def panel(axis, rows, look, handles) -> None:
    """Draw one pass: a point a row, and the gate above which no row can win."""
    for name in in_order(rows["algorithm"]):
        part = rows[rows["algorithm"] == name]
        handles[name] = scatter(
            axis,
            part,
            list(part["over_winner"].astype(float)),
            list(part["relative_l2"].astype(float)),
            look[name],
        )
    axis.set_xscale("log")
    axis.set_yscale("log")
    ticks = [1, 2, 4, 8, 16, 32]
    axis.set_xticks(ticks, [f"{tick}x" for tick in ticks])
    axis.set_xticks([], minor=True)
    axis.set_xlim(
        min(0.9, 0.9 * float(rows["over_winner"].min())), max(2.2, 1.15 * float(rows["over_winner"].max()))
    )
    for gate in sorted({float(value) for value in rows["gate"] if value is not None}):
        axis.axhline(gate, color=INK, linewidth=1, linestyle="--")
        axis.annotate(f"gate {gate:.0e}", (1, gate), xycoords=("axes fraction", "data"), ha="right",
                      fontsize=7, xytext=(0, -9), textcoords="offset points", color=INK)  # fmt: skip
