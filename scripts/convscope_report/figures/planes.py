"""Figures with a point a record: time against error, arithmetic against intensity, time against workspace."""

import math
from functools import partial

import numpy

from convscope_report.contexts import in_order, passes_of
from convscope_report.figures import LABELS
from convscope_report.figures.style import (
    CAPTION,
    INK,
    Figure,
    algorithms_in_order,
    canvas,
    cut,
    legend,
    log_axis,
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
MANY = "How much workspace is worth its bytes? A point is a layer; --where layer=... shows a layer's front."
# Up to so many layers have a panel each; more share one, with times over each layer's winner.
PANELS = 12
PANELS_A_ROW = 2
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
        drawing = by_pass(words, 1.5, labels, records, draw, algorithms_in_order(records))
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
        if beaten(known):
            text += "\n? behind a ceiling: a record beats it, so that it was measured too low"
        words = f"{title}: roofline", ROOFLINE, text
        draw = partial(rates, everything=known, look=look)
        made.append(Figure(stem, by_pass(words, 1.7, labels, known, draw)))
    return made


def by_pass(words, height, labels, records, draw, order=None):
    """Return the drawing: title, question and caption in `words`, a panel of that height a pass, one legend.

    `draw(axis, records)` fills a panel and returns {algorithm: its points}.
    """
    passes = passes_of(records)
    drawing, axes = canvas(*words, len(passes), height * len(passes) + 0.3, sharey=True, sharex=True)
    handles = {}
    for axis, name in zip(axes[:, 0], passes, strict=True):
        handles |= draw(axis, records[records["pass"] == name])
        axis.set_title(LABELS[name])
    axes[-1][0].set_xlabel(labels[0])
    axes[len(passes) // 2][0].set_ylabel(labels[1])
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
    ratios = records["over_winner"].astype(float)
    axis.set_xlim(0.9, max(2.2, 1.15 * ratios.max()))
    log_axis(axis, "x", "{:g}x".format)
    log_axis(axis, "y", "{:.0e}".format)
    for gate in sorted({float(value) for value in records["gate"] if value is not None}):
        axis.axhline(gate, color=INK, linewidth=1, linestyle="--")
        axis.annotate(f"gate {gate:.0e}", (1, gate), xycoords=("axes fraction", "data"), ha="right",
                      fontsize=CAPTION, xytext=(0, -9), textcoords="offset points", color=INK)  # fmt: skip
    return handles


def beaten(records) -> set:
    """Return which ceilings, by the column `bound`, are suspect: one of the records beats them.

    The bandwidth that bounds a record with hot tensors is that of the cache where they fit it: either may be.
    """
    found = records[records["suspect_ceiling"].map(bool)]
    of_cache = {"cache"} if ((found["bound"] == "memory") & (found["cache"] != "cold")).any() else set()
    return set(found["bound"]) | of_cache


def ceilings(axis, records) -> None:
    """Draw the measured multiply-add rate and bandwidths; one set for all records of the figure."""
    record = records.iloc[0]
    doubts = dict.fromkeys(beaten(records), "?")
    rate = float(record["ceiling_gflops"])
    intensity = records["arithmetic_intensity"].astype(float)
    left, right = 0.6 * intensity.min(), 1.6 * intensity.max()
    bandwidths = [("memory", max(float(record["ceiling_read_gbs"]), float(record["ceiling_copy_gbs"])), "-")]
    if record["ceiling_cache_gbs"] is not None:
        bandwidths.append(("cache", float(record["ceiling_cache_gbs"]), ":"))
    left = min(left, 0.5 * rate / bandwidths[0][1])
    axis.set_xlim(left, right)
    axis.set_ylim(
        min(0.6 * records["gflops_executed"].astype(float).min(), left * bandwidths[0][1]), 2.2 * rate
    )
    log_axis(axis, "x")
    log_axis(axis, "y")
    x = numpy.geomspace(left, right, 200)
    for name, bandwidth, style in bandwidths:
        axis.plot(x, numpy.minimum(rate, bandwidth * x), style, color=INK, linewidth=0.9)
        place = max(left * 1.15, axis.get_ylim()[0] / bandwidth * 1.2)
        if bandwidth * place < rate:
            label = f"{name} {bandwidth:.3g} GB/s{doubts.get(name, '')}"
            axis.annotate(label, (place, bandwidth * place), fontsize=CAPTION, color=INK, xytext=(4, -2),
                          textcoords="offset points", va="top")  # fmt: skip
    label = f"multiply-add {rate:.4g} GFLOP/s{doubts.get('compute', '')}"
    axis.annotate(label, (right, rate), fontsize=CAPTION, color=INK, ha="right", xytext=(-2, 3),
                  textcoords="offset points")  # fmt: skip


def rates(axis, records, everything, look) -> dict:
    """Draw one pass: the ceilings, and a point a record; the fastest of each layer has a ring."""
    ceilings(axis, everything)
    columns = "arithmetic_intensity", "gflops_executed"
    handles = points(axis, records, *columns, look, lambda names: sorted(set(names)))
    winners = records[records["rank"] == 1]
    places = [winners[column].astype(float) for column in columns]
    axis.scatter(*places, s=40, facecolor="none", edgecolor=INK, linewidth=0.6, zorder=4)
    return handles


def workspace(results) -> list:
    """Return a figure for each network, circumstances and pass; records of several caps share it."""
    look = looks(results.ranked())
    parts = of_each_pass(results, "workspace", ("workspace_cap_bytes",), needs="workspace_bytes")
    below = f"records of more than {CUT:.0f} times the layer's fastest are outside their panel"
    return [
        Figure(stem, by_layer(f"{heading}, time and workspace", f"{text}\n{below}", records, look))
        if len(in_order(records["layer"])) <= PANELS
        else Figure(stem, together(f"{heading}, time and workspace", text, records, look))
        for stem, heading, text, records in parts
    ]


def by_layer(title, text, records, look):
    """Draw a panel a layer with one legend."""
    layers = in_order(records["layer"])
    columns = min(PANELS_A_ROW, len(layers))
    lines = math.ceil(len(layers) / columns)
    drawing, axes = canvas(title, WORKSPACE, text, lines, 1.25 * lines + 0.3, columns)
    handles = {}
    for place, axis in enumerate(axes.flat):
        if place >= len(layers):
            axis.set_visible(False)
            continue
        handles |= panel(axis, records[records["layer"] == layers[place]], look)
        axis.set_title(cut(layers[place]))
        if place % columns == 0:
            axis.set_ylabel("median time (ms)")
        if place + columns >= len(layers):
            axis.set_xlabel("workspace (MiB)")
    legend(drawing, handles, algorithms_in_order(records))
    return drawing


def together(title, text, records, look):
    """Draw the records of many layers in one panel, their times over the layer's fastest at any cap."""
    drawing, axes = canvas(title, MANY, text, 1, 2.6)
    axis = axes[0][0]
    fastest = {layer: winner_ms(part) for layer, part in records.groupby("layer", sort=False)}
    over = records["full_median_ms"].astype(float) / records["layer"].map(fastest)
    records = records.assign(mib=records["workspace_bytes"].astype(float) / MIB, over_fastest=over)
    handles = points(axis, records, "mib", "over_fastest", look, in_order)
    workspace_axis(axis, records)
    log_axis(axis, "y", "{:g}x".format)
    axis.set_ylabel("time over the layer's fastest (log)")
    axis.set_xlabel("workspace (MiB)")
    legend(drawing, handles, algorithms_in_order(records))
    return drawing


def workspace_axis(axis, records) -> None:
    """Make the x axis that of workspace, linear below 1 MiB so that 0 has a place."""
    most = 1.5 * max(1.0, float(records["mib"].max()))
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xlim(-0.2, most)
    axis.set_xticks([tick for tick in (0, 1, 8, 64, 512, 4096) if tick <= most])
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")


def panel(axis, records, look) -> dict:
    """Draw one layer: points, and the front as steps."""
    records = records.assign(mib=records["workspace_bytes"].astype(float) / MIB)
    handles = points(axis, records, "mib", "full_median_ms", look, in_order)
    if line := front(records):
        steps = [*line, (float(records["mib"].max()), line[-1][1])]
        axis.step(*zip(*steps, strict=True), where="post", color=INK, linewidth=0.9, zorder=2)
    workspace_axis(axis, records)
    axis.set_ylim(0, 1.08 * min(float(records["full_median_ms"].max()), CUT * winner_ms(records)))
    return handles


def winner_ms(records) -> float:
    """Return the time of the winner of one layer, of several caps that of the fastest; none may hide it."""
    return float((records["full_median_ms"] / records["over_winner"]).min())


def front(records) -> list:
    """Return (MiB, ms) of the records that no other beats in both, by workspace."""
    line = records[records["on_front"].astype(bool)].sort_values("mib")
    return list(zip(line["mib"], line["full_median_ms"], strict=True))
