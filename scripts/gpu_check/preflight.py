"""What must be there before anything is run: a program that starts, a GPU, cuDNN."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpu_check.bounded import Ending, run_bounded
from gpu_check.place import CannotStart

LIMIT_SECONDS = 60.0


@dataclass(frozen=True)
class Found:
    """The GPU's name, cuDNN's version ("" where it is missing: `why`), and whether stages can be limited."""

    device: str
    cudnn: str
    why: str
    stage_limit: bool


def _ask(program: Path, seconds: float, interrupted: Callable[[], bool], *arguments: str) -> Ending:
    ending = run_bounded([program, *arguments], seconds, None, interrupted)
    if ending.how == "interrupted":
        raise KeyboardInterrupt
    if not ending.good:
        last = ending.output.strip().splitlines()[-1:] if ending.how == "ended" else []
        raise CannotStart(": ".join([f"{program} {' '.join(arguments)}: {ending.words()}", *last]))
    return ending


def _document(program: Path, seconds: float, interrupted: Callable[[], bool], *arguments: str) -> list[dict]:
    text = _ask(program, seconds, interrupted, *arguments, "--json").output
    # Warnings of libraries may stand around the document.
    try:
        entries = json.loads(text[text.index("[") : text.rindex("]") + 1])
        if not all(isinstance(entry, dict) for entry in entries):
            raise ValueError
    except ValueError as error:
        raise CannotStart(
            f"{program} {' '.join(arguments)} --json: prints no list: {text.strip()[:100]!r}"
        ) from error
    return entries


def look(program: Path, seconds: float, interrupted: Callable[[], bool]) -> Found:
    """Ask the program what is here, each question for at most `seconds`.

    Raises:
        CannotStart: it does not run, or there is no GPU.
        KeyboardInterrupt: the user interrupted.

    """
    seconds = min(seconds, LIMIT_SECONDS)
    devices = _document(program, seconds, interrupted, "list", "devices")
    gpus = [d for d in devices if str(d.get("kind", "")).startswith("cuda")]
    if not gpus:
        text = _ask(program, seconds, interrupted, "list", "devices").output
        why = [line for line in text.splitlines() if line.startswith("no ")]
        raise CannotStart("; ".join([*why, "there is nothing to check without a GPU"]))
    rows = _document(program, seconds, interrupted, "list", "algorithms")
    cudnn = [row for row in rows if row.get("provider") == "cudnn"]
    there = [row for row in cudnn if not row.get("refusal")]
    version = str(there[0].get("version") or "of unknown version") if there else ""
    refusals = [str(row.get("refusal")) for row in cudnn if row.get("refusal")]
    help_text = _ask(program, seconds, interrupted, "run", "--help").output
    why = refusals[0] if refusals else "the program was built without it"
    return Found(str(gpus[0].get("name", "a GPU")), version, why, "--stage-limit" in help_text)
