"""The rows of a run's folder, whatever state a kill or a full disk left it in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FAILURES = ("wrong", "crashed", "timeout", "failed")
REFUSED = {"unsupported", "over_workspace", "left_out"}


@dataclass(frozen=True)
class Row:
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


def _row(record: dict) -> Row:
    key, algorithm = record["key"], record["algorithm"]
    direction, math, layout = key["problem"].split()[:3]
    measured = record["outcome"] == "measured" and record.get("time")
    return Row(
        network=key["network"],
        layer=key["layer"],
        direction=direction,
        math=math,
        layout=layout,
        algorithm=algorithm["id"],
        provider=algorithm["provider"],
        outcome=record["outcome"],
        note=record.get("note") or "",
        seconds=record["time"]["full"]["median_seconds"] if measured else None,
        throttled=bool((record.get("health") or {}).get("throttled")),
    )


def _records(folder: Path) -> Iterator[dict]:
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


def read_rows(folder: Path) -> list[Row]:
    """Return all rows of a run, in its order."""
    rows = []
    for record in _records(folder):
        try:
            rows.append(_row(record))
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
    return rows


def is_complete(folder: Path) -> bool:
    """Tell whether the run wrote its results to the end."""
    try:
        return bool(json.loads((folder / "results.json").read_text())["environment"]["complete"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
