"""Figures with a point a record: time against error, arithmetic against intensity, time against workspace."""

import math
from functools import partial

import numpy
from matplotlib.ticker import LogLocator, NullLocator

from convscope_report.contexts import in_order, passes_of
from convscope_report.figures import LABELS
from convscope_report.figures.style import (
    INK,
    Figure,
    algorithms_in_order,
    canvas,
    legend,
    looks,
    of_each,
    of_each_pass,
    scatter,
)

ACCURACY = "What accuracy does speed cost? A point is a layer; time is against the layer's fastest."
ROOFLINE = (
    "How far is each record from what the machine was measured to do? A ring marks each layer's fastest."
)
WORKSPACE = (
    "How much workspace is worth its bytes? On the line is what no other beats in both time and memory."
)
PANELS_A_ROW = 4
MIB = 2**20
# Records slower than this many times the layer's fastest lie outside the panel of their workspace.
CUT = 5.0


def accuracy(results) -> list:
    """Return a figure for each network and circumstances, a panel a pass."""
    draw = partial(errors, look=looks(results.ranked()))
    labels = "time over the layer's fastest (log)", "relative L2 error against f64 (log)"
    made = []
    for stem, title, text, records in of_each(results, "accuracy"):
        words = f"{title}: time and error", ACCURACY, text
        drawing = by_pass(words, (3.2, 4.6), labels, records, draw, algorithms_in_order(records))
        made.append(Figure(stem, drawing))
    return made


def roofline(results) -> list:
    """Return a figure for each network and circumstances, a panel a pass, below the measured ceilings."""
    made = []
    look = looks(results.ranked())
    labels = "operations per tensor byte (flop/byte, log)", "executed arithmetic (GFLOP/s, log)"
    for stem, title, text, records in of_each(results, "roofline"):
        columns = ["gflops_executed", "arithmetic_intensity", "ceiling_gflops"]
        known = records[records[columns].notna().all(axis=1)]
        if known.empty:
            continue
        left_out = sorted(set(records["algorithm"]) - set(known["algorithm"]))
        if left_out:
            text += f"\nwithout {', '.join(left_out)}: what it executes is not known"
        words = f"{title}: roofline", ROOFLINE, text
        draw = partial(rates, everything=known, look=look)
        made.append(Figure(stem, by_pass(words, (3.4, 4.8), labels, known, draw)))
    return made


def by_pass(words, size, labels, records, draw, order=None):
    """Return the drawing: title, question and caption in `words`, a panel of that size a pass, one legend.

    `draw(axis, records)` fills a panel and returns {algorithm: its points}.
    """
    passes = passes_of(records)
    width, height = size
    size = (width * len(passes) + 2.6, height)
    drawing, axes = canvas(*words, 1, len(passes), size, sharey=True, sharex=True)
    handles = {}
    for axis, name in zip(axes[0], passes, strict=True):
        handles |= draw(axis, records[records["pass"] == name])
        axis.set_title(LABELS[name])
        axis.set_xlabel(labels[0])
    axes[0][0].set_ylabel(labels[1])
    legend(drawing, handles, order or handles)
    return drawing


def points(axis, records, x: str, y: str, look, order) -> dict:
    """Draw the records at the values of two columns, algorithm by algorithm; return the points of each."""
    parts = {name: records[records["algorithm"] == name] for name in order(records["algorithm"])}
    return {
        name: scatter(axis, part, list(part[x].astype(float)), list(part[y].astype(float)), look[name])
        for name, part in parts.items()
    }


def errors(axis, records, look) -> dict:
    """Draw one pass: a point a record, and the gate above which no record can win."""
    handles = points(axis, records, "over_winner", "relative_l2", look, in_order)
    axis.set_xscale("log")
    axis.set_yscale("log")
    ticks = [1, 2, 4, 8, 16, 32]
    axis.set_xticks(ticks, [f"{tick}x" for tick in ticks])
    axis.set_xticks([], minor=True)
    ratios = records["over_winner"].astype(float)
    axis.set_xlim(min(0.9, 0.9 * ratios.min()), max(2.2, 1.15 * ratios.max()))
    for gate in sorted({float(value) for value in records["gate"] if value is not None}):
        axis.axhline(gate, color=INK, linewidth=1, linestyle="--")
        axis.annotate(f"gate {gate:.0e}", (1, gate), xycoords=("axes fraction", "data"), ha="right",
                      fontsize=7, xytext=(0, -9), textcoords="offset points", color=INK)  # fmt: skip
    return handles


def ceilings(axis, records) -> None:
    """Draw the measured multiply-add rate and bandwidths; one set for all records of the figure."""
    record = records.iloc[0]
    rate = float(record["ceiling_gflops"])
    intensity = records["arithmetic_intensity"].astype(float)
    left, right = 0.6 * intensity.min(), 1.6 * intensity.max()
    bandwidths = [("memory", max(float(record["ceiling_read_gbs"]), float(record["ceiling_copy_gbs"])), "-")]
    if record["ceiling_cache_gbs"] is not None:
        bandwidths.append(("cache", float(record["ceiling_cache_gbs"]), ":"))
    left = min(left, 0.5 * rate / bandwidths[0][1])
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlim(left, right)
    axis.set_ylim(
        min(0.6 * records["gflops_executed"].astype(float).min(), left * bandwidths[0][1]), 2.2 * rate
    )
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


def rates(axis, records, everything, look) -> dict:
    """Draw one pass: the ceilings, and a point a record; the fastest of each layer has a ring."""
    ceilings(axis, everything)
    columns = "arithmetic_intensity", "gflops_executed"
    handles = points(axis, records, *columns, look, lambda names: sorted(set(names)))
    winners = records[records["rank"] == 1]
    places = [winners[column].astype(float) for column in columns]
    axis.scatter(*places, s=95, facecolor="none", edgecolor=INK, linewidth=0.9, zorder=4)
    return handles


def workspace(results) -> list:
    """Return a figure for each network, circumstances and pass; records of several caps share it."""
    look = looks(results.ranked())
    parts = of_each_pass(results, "workspace", ("workspace_cap_bytes",), needs="workspace_bytes")
    below = f"records of more than {CUT:.0f} times the layer's fastest are outside their panel"
    return [
        Figure(stem, by_layer(f"{heading}, time and workspace", f"{text}\n{below}", records, look))
        for stem, heading, text, records in parts
    ]


def by_layer(title, text, records, look):
    """Draw a panel a layer with one legend."""
    layers = in_order(records["layer"])
    columns = min(PANELS_A_ROW, len(layers))
    lines = math.ceil(len(layers) / columns)
    drawing, axes = canvas(title, WORKSPACE, text, lines, columns, (2.3 * columns + 2.6, 1.4 + 2.4 * lines))
    handles = {}
    for place, axis in enumerate(axes.flat):
        if place >= len(layers):
            axis.set_visible(False)
            continue
        handles |= panel(axis, records[records["layer"] == layers[place]], look)
        axis.set_title(layers[place])
        if place % columns == 0:
            axis.set_ylabel("median time (ms)")
        if place + columns >= len(layers):
            axis.set_xlabel("workspace (MiB)")
    legend(drawing, handles, algorithms_in_order(records))
    return drawing


def panel(axis, records, look) -> dict:
    """Draw one layer: points, and the front as steps."""
    records = records.assign(mib=records["workspace_bytes"].astype(float) / MIB)
    handles = points(axis, records, "mib", "full_median_ms", look, in_order)
    if line := front(records):
        steps = [*line, (float(records["mib"].max()), line[-1][1])]
        axis.step(*zip(*steps, strict=True), where="post", color=INK, linewidth=0.9, zorder=2)
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xlim(-0.2, 1.5 * max(1.0, float(records["mib"].max())))
    axis.set_xticks(
        [tick for tick in (0, 1, 8, 64, 512, 4096) if tick <= 1.5 * max(1.0, records["mib"].max())]
    )
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
    winner = float(
        (records["full_median_ms"] / records["over_winner"]).min()
    )  # of the cap that lets it be fastest
    axis.set_ylim(0, 1.08 * min(float(records["full_median_ms"].max()), CUT * winner))
    return handles


def front(records) -> list:
    """Return (MiB, ms) of the records that no other beats in both, by workspace."""
    line = records[records["on_front"].astype(bool)].sort_values("mib")
    return list(zip(line["mib"], line["full_median_ms"], strict=True))
