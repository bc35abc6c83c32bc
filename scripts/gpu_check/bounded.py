"""A command that cannot outlast its limit, nor outlive this process, nor fill the disk by what it prints."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

GRACE_SECONDS = 8.0  # between the request to end and the kill: a run writes its files then
KILL_SECONDS = 5.0  # a process that waits for a device may not end even then; it is left behind
TICK_SECONDS = 0.2
KEPT_BYTES = 256 * 1024  # of a command's output: so much of its beginning, and of its end


@dataclass(frozen=True)
class Ending:
    """How a command ended: by itself (`code` as of subprocess), cut at its limit, interrupted, or absent."""

    how: str
    code: int | None
    seconds: float
    output: str

    @property
    def good(self) -> bool:
        """Tell whether it ended by itself and with success."""
        return self.how == "ended" and self.code == 0

    def words(self) -> str:
        """Say what was not good about it."""
        if self.how == "cut":
            return f"cut after {self.seconds:.0f} s"
        if self.how == "interrupted":
            return "interrupted"
        if self.how == "absent":
            return self.output.strip()
        if self.code is not None and self.code < 0:
            with contextlib.suppress(ValueError):
                return f"killed by {signal.Signals(-self.code).name}"
        return f"exit code {self.code}"


class Kept:
    """The first and the last bytes of an output of any length."""

    def __init__(self, limit: int = KEPT_BYTES):
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self._lost = 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        room = self._limit - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:] if room > 0 else chunk
        excess = len(self._tail) - self._limit
        if excess > 0:
            del self._tail[:excess]
            self._lost += excess

    def text(self) -> str:
        """Return all of it, or beginning and end with a line between that says how much is missing."""
        middle = f"\n... {self._lost} bytes left out ...\n".encode() if self._lost else b""
        return (bytes(self._head) + middle + bytes(self._tail)).decode(errors="replace")


def _death_wish() -> Callable[[], None] | None:
    """Make a child die with this process; None where the C library cannot be asked."""
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    return lambda: prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _signal(send: Callable[[int, int], None], process: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        send(process, number)


def _read(pipe: int, kept: Kept, seconds: float) -> bool:
    """Take what is there within `seconds`; False at the end of the output."""
    if not select.select([pipe], [], [], seconds)[0]:
        return True
    chunk = os.read(pipe, 65536)
    kept.add(chunk)
    return bool(chunk)


def run_bounded(
    command: Sequence[str | Path],
    seconds: float,
    log: Path | None = None,
    interrupted: Callable[[], bool] = lambda: False,
    tick: Callable[[int, float], None] = lambda process, seconds: None,
    script: bool = False,
) -> Ending:
    """Run a command in a process group of its own, for at most `seconds` and the time that ending it takes.

    At the limit, or when `interrupted` says so, the command is asked to end (SIGTERM), and its whole group is
    killed GRACE_SECONDS later. `tick` is called five times a second with the process and the seconds so far.
    The output goes into `log`, shortened in its middle. That of a `script` goes where this process's does,
    and its whole group is asked to end, as a shell waits for what it runs.
    """
    begin = time.monotonic()
    kept = Kept()
    try:
        child = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=None if script else subprocess.PIPE,
            stderr=None if script else subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_death_wish(),
        )
    except OSError as error:
        return Ending("absent", None, 0.0, f"{command[0]} cannot be run: {error.strerror}")
    pipe = child.stdout.fileno() if child.stdout else -1
    how, asked, reading = "ended", None, not script
    try:
        while child.poll() is None:
            now = time.monotonic()
            if asked is None and (now - begin >= seconds or interrupted()):
                how = "interrupted" if interrupted() else "cut"
                asked = now
                _signal(os.killpg if script else os.kill, child.pid, signal.SIGTERM)
            if asked is not None and now - asked >= GRACE_SECONDS:
                _signal(os.killpg, child.pid, signal.SIGKILL)
                if now - asked >= GRACE_SECONDS + KILL_SECONDS:
                    break
            if reading:
                reading = _read(pipe, kept, TICK_SECONDS)
            else:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(TICK_SECONDS)
            tick(child.pid, now - begin)
    finally:
        _signal(os.killpg, child.pid, signal.SIGKILL)  # what the command left running
        drained = time.monotonic() + 1.0
        while reading and time.monotonic() < drained:
            ready = select.select([pipe], [], [], 0)[0]
            reading = bool(ready) and _read(pipe, kept, 0)
        if child.stdout:
            child.stdout.close()
        if log is not None:
            with contextlib.suppress(OSError):
                log.write_bytes(kept.text().encode())
    return Ending(how, child.returncode, time.monotonic() - begin, kept.text())
