"""Grouped bars: time of each algorithm on each layer, with its 95% interval; a figure a pass."""

from functools import partial

from convscope_report.contexts import contexts, is_suspect, passes_of
from convscope_report.figures.grouped_bars import bar, drawn, groups
from convscope_report.figures.palette import LABELS
from convscope_report.figures.style import INK, Figure, caption, looks, mark_suspect, named

QUESTION = "How long does each algorithm take on each layer? A star marks the fastest."
# A bar is cut where it is this many times the slowest of the layers' best; its time is written on it.
CUT = 5.0


def figures(results) -> list:
    """Return a figure for each network, circumstances and pass."""
    made = []
    right = results.ranked()
    look = looks(right)
    for title, circumstances, rows in contexts(right):
        for name in passes_of(rows):
            part = rows[rows["pass"] == name]
            text = caption(circumstances, part, results.runs)
            heading = f"{title}: {LABELS[name]}, time by layer"
            drawing = drawn(heading, QUESTION, text, part, 2.7, partial(draw_line, look=look))
            made.append(Figure(named("layers", title, name), drawing))
    return made


def draw_line(axis, rows, layers, order, look) -> dict:
    """Draw the times of a few layers and return the bars by algorithm."""
    winners = rows["full_median_ms"] / rows["over_winner"]
    top = CUT * float(winners.max())
    top = min(top, 1.12 * float(rows["full_median_ms"].max()))
    axis.set_ylim(0, top)
    axis.set_ylabel("median time (ms)")
    return {
        row["algorithm"]: draw_bar(axis, x, row, look[row["algorithm"]], top)
        for _, places in groups(axis, rows, layers, order)
        for x, row in places
    }


def draw_bar(axis, x, row, style, top):
    """Draw one bar with its interval; the time stands on bars that are cut, a star under the winner."""
    time = float(row["full_median_ms"])
    made = bar(axis, x, min(time, top), style)
    low, high = row["full_ci_low_ms"], row["full_ci_high_ms"]
    if time > top:
        axis.text(x, 0.98 * top, f"{time:.3g}", rotation=90, ha="center", va="top", fontsize=7, color=INK,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})  # fmt: skip
    elif low is not None and high is not None:
        axis.errorbar(
            x, time, [[time - low], [high - time]], fmt="none", ecolor=INK, elinewidth=0.8, capsize=1.5
        )
    if is_suspect(row):
        mark_suspect(axis, x, min(time, 0.9 * top))
    if row["rank"] == 1:
        axis.plot(x, 0.015 * top, marker="*", markersize=7, color="white", markeredgecolor=INK,
                  markeredgewidth=0.5, clip_on=False, zorder=5)  # fmt: skip
    return made
