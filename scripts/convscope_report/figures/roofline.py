"""Roofline: executed operations a second against operations per byte, below the measured ceilings."""

import numpy
from matplotlib.ticker import LogLocator, NullLocator

from convscope_report.contexts import contexts, passes_of
from convscope_report.figures.palette import LABELS
from convscope_report.figures.style import INK, Figure, canvas, caption, looks, named, scatter

QUESTION = (
    "How far is each record from what the machine was measured to do? A ring marks each layer's fastest."
)


def figures(results) -> list:
    """Return a figure for each network and circumstances, a panel a pass."""
    made = []
    right = results.ranked()
    look = looks(right)
    for title, circumstances, rows in contexts(right):
        known = rows[rows["gflops_executed"].notna() & rows["arithmetic_intensity"].notna()]
        known = known[known["ceiling_gflops"].notna()]
        if known.empty:
            continue
        text = caption(circumstances, rows, results.runs)
        left_out = sorted(set(rows["algorithm"]) - set(known["algorithm"]))
        if left_out:
            text += f"\nwithout {', '.join(left_out)}: what it executes is not known"
        made.append(Figure(named("roofline", title), drawn(f"{title}: roofline", text, known, look)))
    return made


def drawn(title, text, rows, look):
    """Draw the panels with one legend."""
    passes = passes_of(rows)
    drawing, axes = canvas(
        title, QUESTION, text, 1, len(passes), (3.4 * len(passes) + 2.6, 4.8), sharey=True, sharex=True
    )
    handles = {}
    for axis, name in zip(axes[0], passes, strict=True):
        part = rows[rows["pass"] == name]
        ceilings(axis, rows)
        points(axis, part, look, handles)
        axis.set_title(LABELS[name])
        axis.set_xlabel("operations per tensor byte (flop/byte, log)")
    axes[0][0].set_ylabel("executed arithmetic (GFLOP/s, log)")
    drawing.legend(handles.values(), handles.keys(), loc="outside right upper")
    return drawing


def ceilings(axis, rows) -> None:
    """Draw the measured multiply-add rate and bandwidths; one set for all rows of the figure."""
    row = rows.iloc[0]
    rate = float(row["ceiling_gflops"])
    intensity = rows["arithmetic_intensity"].astype(float)
    left, right = 0.6 * intensity.min(), 1.6 * intensity.max()
    bandwidths = [("memory", max(float(row["ceiling_read_gbs"]), float(row["ceiling_copy_gbs"])), "-")]
    if row["ceiling_cache_gbs"] is not None:
        bandwidths.append(("cache", float(row["ceiling_cache_gbs"]), ":"))
    left = min(left, 0.5 * rate / bandwidths[0][1])
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlim(left, right)
    axis.set_ylim(min(0.6 * rows["gflops_executed"].astype(float).min(), left * bandwidths[0][1]), 2.2 * rate)
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_locator(NullLocator())
    x = numpy.geomspace(left, right, 200)
    for name, bandwidth, style in bandwidths:
        axis.plot(x, numpy.minimum(rate, bandwidth * x), style, color=INK, linewidth=1.2)
        place = max(left * 1.15, axis.get_ylim()[0] / bandwidth * 1.2)
        if bandwidth * place < rate:
            axis.annotate(f"{name} {bandwidth:.3g} GB/s", (place, bandwidth * place), fontsize=7, color=INK,
                          xytext=(4, -2), textcoords="offset points", va="top")  # fmt: skip
    axis.annotate(f"multiply-add {rate:.4g} GFLOP/s", (right, rate), fontsize=7, color=INK, ha="right",
                  xytext=(-2, 3), textcoords="offset points")  # fmt: skip


def points(axis, rows, look, handles) -> None:
    """Draw the rows; the fastest of each layer has a ring."""
    for name in sorted(set(rows["algorithm"])):
        part = rows[rows["algorithm"] == name]
        places = [list(part[column].astype(float)) for column in ("arithmetic_intensity", "gflops_executed")]
        handles[name] = scatter(axis, part, *places, look[name])
    winners = rows[rows["rank"] == 1]
    places = [winners[column].astype(float) for column in ("arithmetic_intensity", "gflops_executed")]
    axis.scatter(*places, s=95, facecolor="none", edgecolor=INK, linewidth=0.9, zorder=4)
