"""What a check has found, in at most 60 lines for a terminal; read from the files that its stages left."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from gpu_check.plan import CAPPED, Stage
from gpu_check.records import FAILURES, Record, ranked_records, read_records
from gpu_check.state import State

LINES = 60
WIDTH = 118
PASSES = ("forward", "backward_data", "backward_filter")
MARKS = {"throttled": "t", "disturbed": "d"}  # behind a time
# Runs in which ours and cuDNN's do not stand beside each other, or not for the first time.
ALONE = ("alexnet-find", "alexnet-aa", "alexnet-engines")
NOT_FIRST = (*ALONE, CAPPED)  # which measure once more what another run does


def best(records: Iterable[Record], provider: str) -> Record | None:
    """Return the record of a provider that ranks first."""
    ranked = [record for record in records if record.provider == provider and record.rank is not None]
    return min(ranked, key=lambda record: record.rank, default=None)


def _milliseconds(record: Record | None) -> str:
    if record is None or record.seconds is None:
        return "-"
    return f"{record.seconds * 1e3:.4f}" + MARKS.get(record.standing, "")


def _ratio(ours: float | None, theirs: float | None) -> str:
    return f"{theirs / ours:.2f}x" if ours and theirs else "-"


def _short(record: Record | None) -> str:
    return "-" if record is None else record.algorithm.replace(".cuda", "")


def cap_text(cap: int | None) -> str:
    """Say which workspace cap a record was measured at."""
    return "no cap" if cap is None else f"cap {cap / 2**20:g} MiB"


def mode_of_table(records: Iterable[Record]) -> tuple[str, str, int | None]:
    """Return math, layout and workspace cap of AlexNet's table; the cap is that of the first such run."""
    caps = (r.cap for r in records if (r.network, r.math, r.layout) == ("alexnet", "fp32", "nchw"))
    return "fp32", "nchw", next(caps, None)


def alexnet_table(records: list[Record]) -> list[str]:
    """Put every layer and pass in fp32 and nchw into a line: our best beside cuDNN's, at one cap."""
    mode = mode_of_table(records)
    of_table = [r for r in records if r.network == "alexnet" and (r.math, r.layout, r.cap) == mode]
    heading = f"AlexNet fp32 nchw, {cap_text(mode[2])}"
    lines = [f"{heading:30} {'ours ms':>10}  {'':28} {'cuDNN ms':>10}  {'':28} {'ours is':>8}"]
    for direction in PASSES:
        layers = dict.fromkeys(record.layer for record in of_table if record.direction == direction)
        for layer in layers:
            here = [record for record in of_table if (record.direction, record.layer) == (direction, layer)]
            ours, theirs = best(here, "convscope"), best(here, "cudnn")
            ratio = _ratio(ours and ours.seconds, theirs and theirs.seconds)
            lines.append(
                f"  {layer:8} {direction:19} {_milliseconds(ours):>10}  {_short(ours):28} "
                f"{_milliseconds(theirs):>10}  {_short(theirs):28} {ratio:>8}"
            )
    if len(lines) == 1:
        lines.append("  no record yet")
    return lines


def sums_table(records: list[Record]) -> list[str]:
    """Put AlexNet in the other modes, layouts and caps, and other networks, into lines.

    A sum is over the layers that both sides have, each as often as the network has it. 3xtf32 is the tensor
    cores' way to FP32 accuracy, which cuDNN does not have: it stands beside cuDNN's fp32.
    """
    lines = []
    groups = dict.fromkeys((r.network, r.math, r.layout, r.cap) for r in records if r.rank is not None)
    groups.pop(("alexnet", *mode_of_table(records)), None)
    for network, math, layout, cap in groups:
        for direction in PASSES:
            ours, theirs, layers, mark = 0.0, 0.0, 0, ""
            place = (network, layout, cap, direction)
            here = [r for r in records if (r.network, r.layout, r.cap, r.direction) == place]
            against = "fp32" if math == "3xtf32" else math
            for layer in dict.fromkeys(record.layer for record in here):
                mine = best([r for r in here if (r.layer, r.math) == (layer, math)], "convscope")
                other = best([r for r in here if (r.layer, r.math) == (layer, against)], "cudnn")
                if mine and other:
                    ours += mine.count * mine.seconds
                    theirs += mine.count * other.seconds
                    layers += mine.count
                    mark = mark or MARKS.get(mine.standing) or MARKS.get(other.standing) or ""
            if layers:
                lines.append(
                    f"  {network:10} {math:6} {layout:4} {direction:15} {cap_text(cap):12} {layers} layers: "
                    f"ours {ours * 1e3:.4f} ms, cuDNN {theirs * 1e3:.4f} ms, {_ratio(ours, theirs)}{mark}"
                )
    return lines


def failures(records: Iterable[Record]) -> list[str]:
    """List each algorithm that is wrong or failed, how often, and the first of its words."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record.outcome in FAILURES:
            found.setdefault((record.algorithm, record.outcome), []).append(record)
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    lines = []
    for (algorithm, outcome), alike in ordered:
        first = alike[0]
        where = f"{first.layer} {first.direction} {first.math}"
        note = re.sub(
            r"/\S+/(?=\w+\.\w+:\d+:)", "", first.note
        )  # a source file's folder is where it was built
        lines.append(f"  {outcome:8} {len(alike):4} {algorithm}: {where}: {note}"[:WIDTH])
    return lines


def _stage_lines(stages: list[Stage], state: State) -> list[str]:
    def named(*statuses: str) -> str:
        return ", ".join(s.name for s in stages if state.of(s.name).status in statuses)

    lines = []
    for stage in stages:
        progress = state.of(stage.name)
        if progress.status in ("failed", "cut", "unfinished"):
            measured = f"{progress.rows} records, " if stage.run else ""
            spent = f"{measured}{progress.seconds:.0f} s"
            lines.append(f"{progress.status:10} {stage.name}: {spent}: {progress.note}"[:WIDTH])
    for status, statuses in (("passed", ["passed"]), ("left out", ["left out"]), ("to come", ["waiting"])):
        if names := named(*statuses):
            lines += textwrap.wrap(f"{status:10} {names}", WIDTH, subsequent_indent=" " * 11)
    return lines


def unranked(records: dict[str, list[Record]]) -> list[str]:
    """Name the runs that the program does not rank, which are in no table."""
    names = [
        name
        for name, of_stage in records.items()
        if any(record.seconds for record in of_stage) and not any(record.standing for record in of_stage)
    ]
    return [f"not ranked by `convscope csv`, so in no table: {', '.join(names)}"[:WIDTH]] if names else []


def summarise(
    folder: Path, stages: list[Stage], state: State, endings: list[str], program: Path
) -> list[str]:
    """Return the whole summary; `endings`, what the call says of itself, come last and are never cut.

    `program` is asked who wins where a run has not written it yet.
    """
    runs = {stage.name: folder / "runs" / stage.name for stage in stages if stage.run}
    records = {
        name: read_records(run) if name in ALONE else ranked_records(run, program)
        for name, run in runs.items()
    }
    beside = {name: of_stage for name, of_stage in records.items() if name not in ALONE}
    side_by_side = [record for of_stage in beside.values() for record in of_stage]
    every = [record for of_stage in records.values() for record in of_stage]
    counts = Counter(record.outcome for record in every)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    summed = [f"{len(every)} records: {outcomes}" if every else "no records"]
    head = [
        f"{state.device or 'no GPU'}; cuDNN {state.cudnn or 'none'}; commit {state.commit[:12] or 'unknown'}"
    ]
    stage_lines = _stage_lines(stages, state)
    tables = [*unranked(beside), *alexnet_table(side_by_side), *sums_table(side_by_side)]
    bad = failures(every)
    room = LINES - sum(map(len, (head, stage_lines, tables, summed, endings)))
    if len(bad) > room:
        shown = max(room - 1, 0)
        bad = [*bad[:shown], f"  and {len(bad) - shown} kinds of failure more"][: max(room, 0)]
    lines = [*head, *stage_lines, *summed, *bad, *tables]
    return [*lines[: LINES - len(endings)], *endings]
