"""What is here: the program, its tests and the configs, in a bundle or a checkout; a GPU, cuDNN."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpu_check.bounded import Ending, run_bounded

LIMIT_SECONDS = 60.0  # of one question to the program
TOOLKIT = "/usr/local/cuda/bin"

# The tests that use a GPU where there is one; scripts/bundle packs them. Those of the algorithms run their
# kernels on the emulator only: on a GPU every record is verified instead.
TESTS = ("device_cuda_test", "emulator_test", "verify_test", "cudnn_backend_test")


class CannotStart(Exception):
    """Nothing can be run here; the message says why and what to do."""


@dataclass(frozen=True)
class Place:
    """The programs of one bundle or build."""

    program: Path
    tests: tuple[Path, ...]
    configs: Path


def _build(root: Path, seconds: float, interrupted: Callable[[], bool]) -> None:
    script = root / "scripts" / "build"
    ending = run_bounded([script, "release"], seconds, None, interrupted, script=True)
    if ending.how == "interrupted":
        raise KeyboardInterrupt
    if ending.how == "cut":
        raise CannotStart(f"building was {ending.words()}: --minutes was too short for it; build it before")
    if not ending.good:
        why = ending.words() if ending.how == "absent" else "the message is above"
        raise CannotStart(f"building failed; {why}")


def find_place(home: Path, build: bool, seconds: float, interrupted: Callable[[], bool]) -> Place:
    """Find the bundle or checkout that `home`, the folder of gpu-check, belongs to.

    A checkout is used as it was built: a node with a GPU often lacks what building needs, and its time is
    dear. With `build` it is built first, within `seconds`.

    Raises:
        CannotStart: there is no built program.
        KeyboardInterrupt: the user interrupted.

    """
    if (home / "bin" / "convscope").exists():
        tests = [home / "bin" / "tests" / name for name in TESTS]
        return Place(home / "bin" / "convscope", tuple(t for t in tests if t.exists()), home / "configs")
    root = home.parent
    if build:
        _build(root, seconds, interrupted)
    program = root / "build" / "convscope"
    if not program.exists():
        raise CannotStart(
            f"{program} is not there: build it with `scripts/build release` or gpu-check --build, or carry "
            "the folder that `scripts/bundle` makes to this machine"
        )
    found = {path.name: path for path in sorted((root / "build").rglob("*_test")) if path.is_file()}
    return Place(program, tuple(found[name] for name in TESTS if name in found), root / "configs")


def find_tool(name: str) -> str | None:
    """Find a program of NVIDIA's, on PATH or in the toolkit's usual place."""
    return shutil.which(name) or shutil.which(name, path=TOOLKIT)


@dataclass(frozen=True)
class Found:
    """The first GPU's name, cuDNN's version ("" where it is missing: `why`), whether stages can be limited.

    And how many GPUs there are.
    """

    device: str
    cudnn: str
    why: str
    stage_limit: bool
    gpus: int = 1


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
    algorithms = _document(program, seconds, interrupted, "list", "algorithms")
    cudnn = [algorithm for algorithm in algorithms if algorithm.get("provider") == "cudnn"]
    there = [algorithm for algorithm in cudnn if not algorithm.get("refusal")]
    version = str(there[0].get("version") or "of unknown version") if there else ""
    refusals = (str(algorithm["refusal"]) for algorithm in cudnn if algorithm.get("refusal"))
    why = next(refusals, "the program was built without it")
    help_text = _ask(program, seconds, interrupted, "run", "--help").output
    name = str(gpus[0].get("name", "a GPU"))
    return Found(name, version, why, "--stage-limit" in help_text, len(gpus))
