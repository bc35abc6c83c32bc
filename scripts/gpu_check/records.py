"""The records of a run's folder, whatever state a kill or a full disk left it in.

Who wins is the program's to say (bench/ranking): a results.json has it, and for a journal `convscope csv` is
asked.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

FAILURES = ("wrong", "crashed", "timeout", "failed")
REFUSED = {"unsupported", "over_workspace", "left_out"}
RESULTS = "results.json"
ASK_SECONDS = 20.0
THROTTLED_SHARE = 0.25  # of measured records; with more a run's times mean little


@dataclass(frozen=True)
class Record:
    """One candidate: `seconds` is the median of a whole run, None where it was not measured.

    `cap` is the workspace that it may have, in bytes, None where there is no cap.
    `rank` is its place among the records of its problem, `standing` what speaks against it; None and "" where
    the program has not ranked it. `throttled_by` is why a measured one is marked throttled, "" where it is
    not. `count` is how many such layers the network has.
    """

    network: str
    layer: str
    direction: str
    math: str
    layout: str
    algorithm: str
    provider: str
    outcome: str
    note: str
    seconds: float | None
    cap: int | None = None
    rank: int | None = field(default=None, compare=False)  # which other records decide
    standing: str = field(default="", compare=False)
    throttled_by: str = ""
    count: int = 1


def _record(entry: dict) -> Record:
    key, algorithm, outcome = entry["key"], entry["algorithm"], entry["outcome"]
    direction, math, layout = key["problem"].split()[:3]
    problem = key["network"], key["layer"], direction, math, layout
    measured = outcome == "measured" and entry.get("time")
    seconds = entry["time"]["full"]["median_seconds"] if measured else None
    note = entry.get("note") or ""
    ranking = entry.get("ranking") or {}
    rank, standing = ranking.get("rank"), ranking.get("standing") or ""
    cap = key.get("workspace_cap_bytes")
    health = entry.get("health") or {}
    throttled_by = (health.get("throttle_reasons") or "its clock") if health.get("throttled") else ""
    return Record(
        *problem,
        algorithm["id"],
        algorithm["provider"],
        outcome,
        note,
        seconds,
        cap,
        rank,
        standing,
        throttled_by,
        key.get("count", 1),
    )


def _entries(path: Path) -> Iterator[dict]:
    """Yield those of a journal or of results; what cannot be read is passed over."""
    try:
        text = path.read_text(errors="replace")
        if path.name == RESULTS:
            yield from json.loads(text)["records"]
            return
    except (OSError, ValueError, KeyError, TypeError):
        return
    for line in text.splitlines():
        try:
            entry = json.loads(line)
            if entry["kind"] == "record":
                yield entry["record"]
        except (ValueError, KeyError, TypeError):
            continue  # the line that a kill cut


# The summary after every stage reads all runs; most are as they were.
@functools.cache
def _records(path: Path, size: int, changed: int) -> tuple[Record, ...]:
    records = []
    for entry in _entries(path):
        with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
            records.append(_record(entry))
    return tuple(records)


def entries_of(folder: Path) -> list[dict]:
    """Return a run's records as the program wrote them, also those of a run that was not finished."""
    for path in (folder / "journal.jsonl", folder / RESULTS):
        if path.is_file():
            return list(_entries(path))
    return []


def throttled(records: list[Record]) -> str:
    """Say in how many measured records the GPU was throttled and by what; "" where those are few."""
    measured = [record for record in records if record.seconds is not None]
    reasons = Counter(record.throttled_by for record in measured if record.throttled_by)
    count = sum(reasons.values())
    if count <= THROTTLED_SHARE * len(measured):
        return ""
    why = reasons.most_common(1)[0][0]
    return f"the GPU was throttled in {count} of {len(measured)} measured records, most by {why}"


def read_records(folder: Path) -> list[Record]:
    """Return all records of a run, in its order: those of the journal, or without one of the results."""
    for path in (folder / "journal.jsonl", folder / RESULTS):
        with contextlib.suppress(OSError):
            now = path.stat()
            return list(_records(path, now.st_size, now.st_mtime_ns))
    return []


def _document(journal: Path) -> dict:
    """Return the results.json that a journal's records would be."""
    plan: dict = {}
    with journal.open(errors="replace") as lines, contextlib.suppress(ValueError, TypeError):
        plan = dict(json.loads(next(lines, "")))
    parts = {part: plan.get(part) for part in ("argv", "config", "environment")}
    return {"schema_version": plan.get("schema"), **parts, "ceilings": [], "records": list(_entries(journal))}


@functools.cache
def _asked(program: Path, journal: Path, size: int, changed: int) -> tuple[Record, ...]:
    """Return a journal's records as `convscope csv` ranks them; none where it does not."""
    with tempfile.TemporaryDirectory() as scratch, contextlib.suppress(OSError, subprocess.SubprocessError):
        (Path(scratch) / RESULTS).write_text(json.dumps(_document(journal)))
        with (Path(scratch) / "csv").open("w+", newline="") as printed:
            subprocess.run(
                [str(program), "csv", scratch],
                stdout=printed, stderr=subprocess.DEVNULL, timeout=ASK_SECONDS, check=True,
            )  # fmt: skip
            printed.seek(0)
            rows = list(csv.DictReader(printed))
        records = _records(journal, size, changed)
        if len(rows) == len(records) and all({"rank", "standing"} <= set(row) for row in rows):
            ranks = [int(row["rank"]) if row["rank"] else None for row in rows]
            return tuple(
                replace(record, rank=rank, standing=row["standing"])
                for record, rank, row in zip(records, ranks, rows)  # noqa: B905 (Python 3.9)
            )
    return ()


def ranked_records(folder: Path, program: Path) -> list[Record]:
    """Return all records of a run with their ranks; without, where the program does not rank them."""
    records = read_records(folder)
    if all(record.seconds is None for record in records):
        return records
    with contextlib.suppress(OSError):
        now = (folder / RESULTS).stat()
        written = _records(folder / RESULTS, now.st_size, now.st_mtime_ns)
        if len(written) == len(records) and all(record.standing for record in written):
            return list(written)
    with contextlib.suppress(OSError):
        now = (folder / "journal.jsonl").stat()
        return list(_asked(program, folder / "journal.jsonl", now.st_size, now.st_mtime_ns)) or records
    return records


def is_complete(folder: Path) -> bool:
    """Tell whether the run wrote its results to the end."""
    try:
        return bool(json.loads((folder / RESULTS).read_bytes())["environment"]["complete"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
