"""The records of a run's folder, whatever state a kill or a full disk left it in."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FAILURES = ("wrong", "crashed", "timeout", "failed")
REFUSED = {"unsupported", "over_workspace", "left_out"}


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


def _entries(folder: Path) -> Iterator[dict]:
    """Yield those of the journal, or without one of results.json; what cannot be read is passed over."""
    try:
        text = (folder / "journal.jsonl").read_text(errors="replace")
    except OSError:
        try:
            yield from json.loads((folder / "results.json").read_text(errors="replace"))["records"]
        except (OSError, ValueError, KeyError, TypeError):
            return
        return
    for line in text.splitlines():
        try:
            entry = json.loads(line)
            if entry["kind"] == "record":
                yield entry["record"]
        except (ValueError, KeyError, TypeError):
            continue  # the line that a kill cut


def read_records(folder: Path) -> list[Record]:
    """Return all records of a run, in its order."""
    records = []
    for entry in _entries(folder):
        with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
            records.append(_record(entry))
    return records


def is_complete(folder: Path) -> bool:
    """Tell whether the run wrote its results to the end."""
    try:
        return bool(json.loads((folder / "results.json").read_text())["environment"]["complete"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
