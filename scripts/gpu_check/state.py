"""What a check has done so far, on disk: replaced whole or not at all, so that any kill can be resumed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from dataclasses import asdict, dataclass, field
from pathlib import Path

STATE_FILE = "state.json"
# waiting: nothing yet. unfinished: begun, and to be gone on with. The others are final.
FINAL = ("passed", "failed", "cut", "left out")


@dataclass
class Progress:
    """Of one stage: `seconds` over all its turns, `rows` its run's records, `failures` its untimely ends."""

    status: str = "waiting"
    seconds: float = 0.0
    failures: int = 0
    rows: int = 0
    note: str = ""


@dataclass
class State:
    """Of one check. Results of two devices do not belong together: `device` is that of the first call."""

    device: str = ""
    commit: str = ""
    cudnn: str = ""
    batch: int = 0
    without_cudnn: bool = False
    stages: dict[str, Progress] = field(default_factory=dict)
    running: dict[str, int] = field(default_factory=dict)

    def of(self, stage: str) -> Progress:
        """Return the stage's progress, waiting when it has none."""
        return self.stages.setdefault(stage, Progress())


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file whole or not at all; raises OSError, which names it, when the disk takes no more."""
    beside = path.with_name(path.name + ".new")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from error


def save(state: State, folder: Path) -> None:
    """Write the state into the check's folder."""
    write_atomically(folder / STATE_FILE, (json.dumps(asdict(state), indent=1) + "\n").encode())


def load(folder: Path) -> State:
    """Read it again; raises ValueError or OSError where there is none."""
    fields = json.loads((folder / STATE_FILE).read_bytes())
    stages = {name: Progress(**progress) for name, progress in fields.pop("stages").items()}
    return State(**fields, stages=stages)


def start_of_process(process: int) -> int:
    """Return when a process started, in ticks since the machine did; 0 where there is none."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def end_leftover(state: State) -> None:
    """Kill what an earlier call was running when it was killed itself, should it still be there."""
    process, start = state.running.get("process", 0), state.running.get("start", 0)
    if process and start and start_of_process(process) == start:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process, signal.SIGKILL)
    state.running = {}
