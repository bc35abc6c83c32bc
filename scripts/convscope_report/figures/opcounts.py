"""Operation counts: what each algorithm executes on each layer against the direct method's count."""

from functools import partial

from convscope_report.contexts import contexts, passes_of
from convscope_report.figures.grouped_bars import bar, drawn, groups
from convscope_report.figures.palette import LABELS
from convscope_report.figures.style import INK, Figure, caption, looks, named

QUESTION = "How many operations does each algorithm really do? The black line is the direct method's count."


def figures(results) -> list:
    """Return a figure for each network, circumstances and pass."""
    made = []
    right = results.ranked()
    look = looks(right)
    for title, circumstances, rows in contexts(right):
        rows = rows[rows["flops_executed"].notna()]
        for name in passes_of(rows):
            part = rows[rows["pass"] == name]
            text = caption(circumstances, part, results.runs)
            heading = f"{title}: {LABELS[name]}, operations"
            drawing = drawn(heading, QUESTION, text, part, 2.6, partial(draw_line, look=look))
            made.append(Figure(named("opcounts", title, name), drawing))
    return made


def draw_line(axis, rows, layers, order, look) -> dict:
    """Draw executed operations as bars, the nominal ones of each layer as a line across them."""
    handles = {}
    for _, places in groups(axis, rows, layers, order):
        for x, row in places:
            executed = row["flops_executed"] / 1e9
            handles[row["algorithm"]] = bar(axis, x, executed, look[row["algorithm"]])
            share = row["flops_executed"] / row["flops_nominal"]
            axis.annotate(f"{share:.2f}x", (x, executed), fontsize=6.5, ha="center", rotation=90,
                          xytext=(0, 2), textcoords="offset points", color=INK)  # fmt: skip
        (first, row), (last, _) = places[0], places[-1]
        axis.hlines(row["flops_nominal"] / 1e9, first - 0.6, last + 0.6, color=INK, linewidth=1.3)
    axis.set_ylim(0, 1.18 * float(rows[["flops_executed", "flops_nominal"]].astype(float).max().max()) / 1e9)
    axis.set_ylabel("operations (GFLOP)")
    return handles
