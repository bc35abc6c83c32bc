"""What a check has found, in at most 60 lines for a terminal; read from the files that its stages left."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

from gpu_check.plan import Stage
from gpu_check.rows import FAILURES, Row, read_rows
from gpu_check.state import State

LINES = 60
WIDTH = 118
PASSES = ("forward", "backward_data", "backward_filter")


def best(rows: Iterable[Row], provider: str) -> Row | None:
    """Return the fastest measured row of a provider; a throttled one only where there is no other."""
    measured = [row for row in rows if row.provider == provider and row.seconds]
    return min(measured, key=lambda row: (row.throttled, row.seconds), default=None)


def _milliseconds(row: Row | None) -> str:
    return (
        "-"
        if row is None or row.seconds is None
        else f"{row.seconds * 1e3:.4f}" + ("t" if row.throttled else "")
    )


def _ratio(ours: float | None, theirs: float | None) -> str:
    return f"{theirs / ours:.2f}x" if ours and theirs else "-"


def _short(row: Row | None) -> str:
    return "-" if row is None else row.algorithm.replace(".cuda", "")


def alexnet_table(rows: list[Row]) -> list[str]:
    """Put every layer and pass in fp32 and nchw into a line: our best beside cuDNN's."""
    of_table = [r for r in rows if r.network == "alexnet" and r.math == "fp32" and r.layout == "nchw"]
    lines = [f"{'AlexNet, fp32, nchw':30} {'ours ms':>10}  {'':28} {'cuDNN ms':>10}  {'':28} {'ours is':>8}"]
    for direction in PASSES:
        layers = dict.fromkeys(row.layer for row in of_table if row.direction == direction)
        for layer in layers:
            here = [row for row in of_table if (row.direction, row.layer) == (direction, layer)]
            ours, theirs = best(here, "convscope"), best(here, "cudnn")
            ratio = _ratio(ours and ours.seconds, theirs and theirs.seconds)
            lines.append(
                f"  {layer:8} {direction:19} {_milliseconds(ours):>10}  {_short(ours):28} "
                f"{_milliseconds(theirs):>10}  {_short(theirs):28} {ratio:>8}"
            )
    if len(lines) == 1:
        lines.append("  no row yet")
    return lines


def modes_table(rows: list[Row]) -> list[str]:
    """Put AlexNet in the other modes and layouts into lines: sums over the layers that both sides have.

    3xtf32 is the tensor cores' way to FP32 accuracy, which cuDNN does not have: it stands beside cuDNN's
    fp32.
    """
    lines = []
    others = [row for row in rows if row.network == "alexnet" and (row.math, row.layout) != ("fp32", "nchw")]
    for math, layout in dict.fromkeys((row.math, row.layout) for row in others):
        for direction in PASSES:
            ours, theirs, layers = 0.0, 0.0, 0
            here = [r for r in rows if (r.network, r.layout, r.direction) == ("alexnet", layout, direction)]
            against = "fp32" if math == "3xtf32" else math
            for layer in dict.fromkeys(row.layer for row in here):
                mine = best([r for r in here if (r.layer, r.math) == (layer, math)], "convscope")
                other = best([r for r in here if (r.layer, r.math) == (layer, against)], "cudnn")
                if mine and other:
                    ours, theirs, layers = ours + mine.seconds, theirs + other.seconds, layers + 1
            if layers:
                lines.append(
                    f"  {math:6} {layout:4} {direction:15} {layers} layers: ours {ours * 1e3:.4f} ms, "
                    f"cuDNN {theirs * 1e3:.4f} ms, {_ratio(ours, theirs)}"
                )
    return lines


def failures(rows: Iterable[Row]) -> list[str]:
    """List each algorithm that is wrong or failed, how often, and the first of its words."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.outcome in FAILURES:
            found.setdefault((row.algorithm, row.outcome), []).append(row)
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    lines = []
    for (algorithm, outcome), alike in ordered:
        first = alike[0]
        where = f"{first.layer} {first.direction} {first.math}"
        lines.append(f"  {outcome:8} {len(alike):4} {algorithm}: {where}: {first.note}"[:WIDTH])
    return lines


def _stage_lines(stages: list[Stage], state: State) -> list[str]:
    def named(*statuses: str) -> str:
        return ", ".join(s.name for s in stages if state.of(s.name).status in statuses)

    lines = []
    for stage in stages:
        progress = state.of(stage.name)
        if progress.status in ("failed", "cut", "unfinished"):
            rows = f"{progress.rows} rows, " if stage.run else ""
            lines.append(
                f"{progress.status:10} {stage.name}: {rows}{progress.seconds:.0f} s: {progress.note}"[:WIDTH]
            )
    for status, statuses in (("passed", ["passed"]), ("left out", ["left out"]), ("to come", ["waiting"])):
        if names := named(*statuses):
            lines += textwrap.wrap(f"{status:10} {names}", WIDTH, subsequent_indent=" " * 11)
    return lines


def summarise(folder: Path, stages: list[Stage], state: State, endings: list[str]) -> list[str]:
    """Return the whole summary; `endings`, what the call says of itself, come last and are never cut."""
    rows = {stage.name: read_rows(folder / "runs" / stage.name) for stage in stages if stage.run}
    # The table is of the runs that have ours and cuDNN's beside each other, the others have stages of their
    # own.
    side_by_side = [
        row
        for name in rows
        if name not in ("alexnet-find", "alexnet-aa", "alexnet-engines")
        for row in rows[name]
    ]
    every = [row for stage_rows in rows.values() for row in stage_rows]
    outcomes = ", ".join(
        f"{sum(row.outcome == outcome for row in every)} {outcome}"
        for outcome in dict.fromkeys(r.outcome for r in every)
    )
    head = [
        f"{state.device or 'no GPU'}; cuDNN {state.cudnn or 'none'}; commit {state.commit[:12] or 'unknown'}"
    ]
    stage_lines = _stage_lines(stages, state)
    tables = [*alexnet_table(side_by_side), *modes_table(side_by_side)]
    bad = failures(every)
    counts = [f"{len(every)} rows: {outcomes}" if every else "no rows"]
    room = LINES - sum(map(len, (head, stage_lines, tables, counts, endings)))
    if len(bad) > room:
        bad = [*bad[: max(room - 1, 0)], f"  and {len(bad) - max(room - 1, 0)} kinds of failure more"][
            : max(room, 0)
        ]
    lines = [*head, *stage_lines, *counts, *bad, *tables]
    return [*lines[: LINES - len(endings)], *endings]
