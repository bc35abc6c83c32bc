"""The records of a run's folder, whatever state a kill or a full disk left it in."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FAILURES = ("wrong", "crashed", "timeout", "failed")
REFUSED = {"unsupported", "over_workspace", "left_out"}
RESULTS = "results.json"


@dataclass(frozen=True)
class Record:
    """One candidate: `seconds` is the median of a whole run, None where it was not measured."""

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
    throttled: bool


def _record(entry: dict) -> Record:
    key, algorithm, outcome = entry["key"], entry["algorithm"], entry["outcome"]
    direction, math, layout = key["problem"].split()[:3]
    problem = key["network"], key["layer"], direction, math, layout
    measured = outcome == "measured" and entry.get("time")
    seconds = entry["time"]["full"]["median_seconds"] if measured else None
    throttled = bool((entry.get("health") or {}).get("throttled"))
    note = entry.get("note") or ""
    return Record(*problem, algorithm["id"], algorithm["provider"], outcome, note, seconds, throttled)


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


def read_records(folder: Path) -> list[Record]:
    """Return all records of a run, in its order: those of the journal, or without one of the results."""
    for path in (folder / "journal.jsonl", folder / RESULTS):
        with contextlib.suppress(OSError):
            now = path.stat()
            return list(_records(path, now.st_size, now.st_mtime_ns))
    return []


def is_complete(folder: Path) -> bool:
    """Tell whether the run wrote its results to the end."""
    try:
        return bool(json.loads((folder / RESULTS).read_text())["environment"]["complete"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
