"""The command line of gpu-check: which stages come when, and how each call ends."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import fcntl
import fnmatch
import os
import shlex
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from gpu_check.archive import SUFFIX, unpack, write_archive
from gpu_check.place import CannotStart, Found, find_place, look
from gpu_check.plan import Stage, Words, stages_of
from gpu_check.state import FINAL, STATE_FILE, State, end_leftover, load, save, write_atomically
from gpu_check.summary import summarise
from gpu_check.work import Desk, dry_run, expected_seconds, take_turn, time_limit

GOOD, BAD, CANNOT, TIME_IS_UP, INTERRUPTED = 0, 1, 2, 3, 130
CORE = 1  # the block that shares a call's time, so that all of it is in the archive of the first
RESERVE_SECONDS, RESERVE_SHARE = 20.0, 0.15  # of a call: to end a stage, to write the archive and the summary
CORE_SHARE = 0.2  # of a call: the most for one of the stages before AlexNet
USEFUL_SECONDS = 15.0  # a run that can be resumed is not begun for less

DESCRIPTION = f"""\
Runs on this machine's GPU whatever the project wants to know of one, the most important first: versions,
device tests, small problems verified, AlexNet's three passes beside cuDNN, the other math modes, cuDNN's
Find, the noise floor, larger networks, sanitizers. Leaves FOLDER, and FOLDER{SUFFIX} with all that is worth
keeping, rewritten after every stage."""
EXIT_CODES = """\
exit codes:
  0    all done and good
  1    all done, and something is wrong or failed: the summary says what
  2    cannot start: no GPU, no cuDNN, no program
  3    time is up: go on with --resume
  130  interrupted: go on with --resume

  gpu-check --minutes 9.5 check
  gpu-check --resume check --minutes 9.5     until its exit code is not 3
  gpu-check --resume check.tar.xz            the same on a machine that has the archive only"""


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the command line; exits with 2 when it is wrong."""
    parser = argparse.ArgumentParser(
        "gpu-check",
        description=DESCRIPTION,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, help="a new folder; gpu-check-<date-time> when left out"
    )
    parser.add_argument("--minutes", type=float, metavar="M", help="end this call within so many minutes")
    parser.add_argument(
        "--resume", type=Path, metavar="FOLDER", help="go on with that check, or with its archive"
    )
    parser.add_argument(
        "--archive", type=Path, metavar="FILE", help=f"write the archive there (FOLDER{SUFFIX})"
    )
    parser.add_argument(
        "--batch", type=int, default=0, metavar="N", help="images of the measured networks (config's)"
    )
    parser.add_argument(
        "--without-cudnn", action="store_true", help="check our kernels alone where cuDNN is missing"
    )
    parser.add_argument(
        "--stages", default="*", metavar="NAME,...", help="only these, or patterns of them, in this call"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the plan in minutes; run nothing")
    parser.add_argument("--build", action="store_true", help="in a checkout: build first")
    options = parser.parse_args(arguments)
    if options.resume and (options.folder or options.batch):
        parser.error("--resume takes the folder and the batch of the check that it goes on with")
    if options.minutes is not None and not options.minutes > 0:
        parser.error("--minutes: must be positive")
    return options


class Clock:
    """A call's time: without --minutes there is no end to it."""

    def __init__(self, minutes: float | None):
        self._begin = time.monotonic()
        self.whole = minutes * 60 if minutes else float("inf")
        self.reserve = min(RESERVE_SECONDS, RESERVE_SHARE * self.whole)

    def left(self) -> float:
        """Return the seconds that stages may still take."""
        return self.whole - self.reserve - (time.monotonic() - self._begin)


class Interrupts:
    """Ctrl-C, SIGTERM and SIGHUP: noted, so that whatever runs is ended and the summary still comes."""

    def __init__(self):
        self.requested = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)

    def _note(self, *_: object) -> None:
        self.requested = True

    def __call__(self) -> bool:
        """Tell whether there was one."""
        return self.requested


def seconds_of_turn(stage: Stage, stages: list[Stage], state: State, clock: Clock) -> float:
    """Return how long a stage may take now; 0 when it is not to be begun any more in this call."""
    left = clock.left()
    turn = min(stage.turn, CORE_SHARE * clock.whole) if stage.block <= CORE else stage.turn
    if not stage.run:
        # It cannot be gone on with: all of its turn, or not now. A call shorter than that gives what it has.
        return turn if left >= turn else max(left, 0) if clock.whole < stage.turn else 0
    allowed = max(stage.limit - state.of(stage.name).seconds, 1.0)
    useful = min(USEFUL_SECONDS, clock.whole / 10)
    if left < useful:
        return 0
    if stage.block == CORE and stage.weight and left != float("inf"):
        weights = sum(s.weight for s in stages if s.block == CORE and state.of(s.name).status not in FINAL)
        return min(max(left * stage.weight / weights, useful), allowed, left)
    return min(stage.turn if stage.weight else turn, allowed, left)


def next_stage(
    stages: list[Stage], state: State, turns: Counter[str], clock: Clock
) -> tuple[Stage, float] | None:
    """Choose the stage whose turn it is: block by block, in each those with the fewest turns first.

    One that cannot be gone on with, and was cut, waits for the next call.
    """
    open_stages = [
        s for s in stages if state.of(s.name).status not in FINAL and (s.run or s.name not in turns)
    ]
    for stage in sorted(open_stages, key=lambda s: (s.block, turns[s.name])):
        seconds = seconds_of_turn(stage, stages, state, clock)
        if seconds > 0:
            return stage, seconds
    return None


def print_plan(desk: Desk | None, stages: list[Stage], state: State) -> None:
    """Print in minutes what each stage is expected to take, where the program can be asked, and may take."""
    total = 0.0
    print(f"{'stage':24} {'expected':>9} {'at most':>8}  minutes")
    for stage in stages:
        if state.of(stage.name).status in FINAL:
            continue
        expected = stage.turn
        if desk is not None and stage.weight:
            plan = dry_run(desk, stage)
            seconds = expected_seconds(plan, time_limit(plan, 0.8 * stage.turn))
            expected = min(seconds, stage.limit) or expected
        total += expected
        print(f"{stage.name:24} {expected / 60:9.1f} {stage.limit / 60:8.1f}  {stage.what}")
    print(f"{'all':24} {total / 60:9.1f}")


def chosen(stages: list[Stage], patterns: str) -> list[Stage]:
    """Return the stages that --stages names, and `info`, which says of what commit the check is.

    Raises CannotStart for a pattern that names none.
    """
    wanted = {"info"}
    for pattern in patterns.split(","):
        names = fnmatch.filter([stage.name for stage in stages], pattern)
        if not names:
            known = ", ".join(stage.name for stage in stages)
            raise CannotStart(f"--stages {pattern}: there is no such stage; there are {known}")
        wanted.update(names)
    return [stage for stage in stages if stage.name in wanted]


def leave_out(stages: list[Stage], state: State, gpus: int) -> None:
    """Mark what a check without cuDNN, or on so many GPUs, has nothing to do for; what passed stays so."""
    for stage in stages:
        progress = state.of(stage.name)
        if progress.status == "passed":
            continue
        if stage.gpus > gpus:
            progress.status, progress.note = "left out", f"needs {stage.gpus} GPUs"
        if state.without_cudnn and (stage.cudnn or stage.name == "cudnn_backend_test"):
            progress.status, progress.note = "left out", "needs cuDNN"


OF_A_CHECK = {"logs", "runs", "lock", STATE_FILE + ".new"}  # what one leaves that was killed at its beginning


def refuse_folder(folder: Path) -> None:
    """Raise CannotStart where a folder is no place for a new check."""
    if (folder / STATE_FILE).exists():
        again = shlex.quote(str(folder))
        raise CannotStart(f"{folder} holds a check: go on with --resume {again}, or name another folder")
    if folder.exists() and not (folder.is_dir() and {path.name for path in folder.iterdir()} <= OF_A_CHECK):
        raise CannotStart(f"{folder} is there and is no check: name a new folder")


def open_check(options: argparse.Namespace, locks: contextlib.ExitStack) -> tuple[Path, State]:
    """Find the folder of a new check or of the one to go on with, and what it has done.

    The latter is then locked, a dry run aside: what it has done changes no more.
    """
    if not options.resume:
        stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H-%M-%S")
        folder = (options.folder or Path(f"gpu-check-{stamp}")).resolve()
        refuse_folder(folder)
        return folder, State(batch=options.batch, without_cudnn=options.without_cudnn)
    folder = options.resume.resolve()
    try:
        if folder.is_file():
            archive, folder = folder, folder.with_name(folder.name.split(".tar.")[0])
            if not (folder / STATE_FILE).exists():
                unpack(archive, folder)
        state = load(folder)
        if not options.dry_run:
            locks.enter_context(sole_user(folder))
            state = load(folder)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise CannotStart(f"{options.resume}: there is no check to go on with: {error}") from error
    state.without_cudnn = state.without_cudnn or options.without_cudnn
    return folder, state


def admit(found: Found, state: State) -> None:
    """Note what is here; raises CannotStart when the check does not belong to it or cuDNN is missing."""
    if state.device and state.device != found.device:
        raise CannotStart(f"the check was begun on {state.device}, this is {found.device}: begin a new one")
    state.device, state.cudnn = found.device, found.cudnn or state.cudnn
    if not found.cudnn and not state.without_cudnn:
        raise CannotStart(
            f"THERE IS NO cuDNN, and AlexNet beside cuDNN is what a check is for: {found.why}. Install it "
            "(`pip install nvidia-cudnn-cu13` in an active environment will do), or say --without-cudnn"
        )


@contextlib.contextmanager
def sole_user(folder: Path):
    """Hold the check's lock; raises CannotStart when another gpu-check has it."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CannotStart(f"another gpu-check is at work in {folder}") from error
        yield


class Check:
    """One call, from its first stage to its last line."""

    def __init__(self, desk: Desk, stages: list[Stage], now: list[Stage], archive: Path, clock: Clock):
        self.desk, self.stages, self.archive, self.clock = desk, stages, archive, clock
        self.now = now  # of the stages, those of this call
        self._turns: Counter[str] = Counter()

    def work(self) -> None:
        """Take turns until all is done, time is up, or the user interrupts."""
        state = self.desk.state
        while not self.desk.interrupted() and (turn := next_stage(self.now, state, self._turns, self.clock)):
            stage, seconds = turn
            print(f"{stage.name}: at most {seconds:.0f} s", flush=True)
            self._turns[stage.name] += 1
            take_turn(self.desk, stage, seconds)
            progress = state.of(stage.name)
            log = self.desk.folder / "logs" / "info.log"
            if not state.commit and log.is_file():
                _, _, rest = log.read_text(errors="replace").partition('"commit": "')
                state.commit = rest.partition('"')[0][:40]
            self.keep()  # before it is said, as the terminal may be gone
            said = f"{stage.name}: {progress.status}, {progress.seconds:.0f} s {progress.note}"
            print(said[:118], flush=True)

    def keep(self, endings: list[str] | None = None) -> list[str]:
        """Write state, summary and archive; returns the summary."""
        desk = self.desk
        desk.save()
        said = [*desk.notes, *(endings or [])]
        lines = summarise(desk.folder, self.stages, desk.state, said, desk.words.place.program)
        try:
            write_atomically(desk.folder / "summary.txt", ("\n".join(lines) + "\n").encode(errors="replace"))
        except OSError as error:
            desk.note(f"the summary could not be written: {error}")
        try:  # it may be on another disk
            left_out = write_archive(self.archive, desk.folder, desk.state, [s.name for s in self.stages])
            if left_out:
                desk.notes = [n for n in desk.notes if not n.startswith("the archive has")]
                desk.note(f"the archive has no room for {', '.join(left_out)}: they are in {desk.folder}")
        except OSError as error:
            desk.note(f"the archive could not be written: {error}")
        return lines

    def end(self) -> int:
        """Write and print the summary; returns the exit code."""
        statuses = [self.desk.state.of(stage.name).status for stage in self.stages]
        again = f"go on with: gpu-check --resume {shlex.quote(str(self.desk.folder))}"
        if self.desk.interrupted():
            code, words = INTERRUPTED, f"INTERRUPTED; {again}"
        elif any(status not in FINAL for status in statuses):
            cause = "TIME IS UP, more to do" if len(self.now) == len(self.stages) else "MORE TO DO"
            minutes = "" if self.clock.whole == float("inf") else f" --minutes {self.clock.whole / 60:g}"
            code, words = TIME_IS_UP, f"{cause}; {again}{minutes}"
        elif any(status in ("failed", "cut") for status in statuses) or self.desk.notes:
            code, words = BAD, "DONE; something is wrong: see above"
        else:
            code, words = GOOD, "DONE; all is good"
        self.keep()  # first, as it may have something to note
        endings = [words, f"archive: {self.archive}"]
        print("\n".join(["", *self.keep(endings)]), flush=True)
        return code


def archive_of(options: argparse.Namespace, folder: Path) -> Path:
    """Return where the archive goes; raises CannotStart where no file can be made there."""
    archive = (options.archive or folder.with_name(folder.name + SUFFIX)).resolve()
    if options.archive and (archive.is_dir() or not archive.parent.is_dir()):
        raise CannotStart(f"--archive {options.archive}: name a file in a folder that is there")
    return archive


def carry_out(
    options: argparse.Namespace, home: Path, interrupted: Interrupts, locks: contextlib.ExitStack
) -> int:
    """Carry out a call, holding `locks`; raises CannotStart and KeyboardInterrupt."""
    clock = Clock(options.minutes)
    place = find_place(home, options.build, clock.left(), interrupted)
    stages = stages_of(place)
    now = chosen(stages, options.stages)
    folder, state = open_check(options, locks)
    archive = archive_of(options, folder)
    words = Words(place, folder, state.batch, state.without_cudnn)
    if options.dry_run:
        try:
            found = look(place.program, max(clock.left(), 1.0), interrupted)
            print(f"{found.device}; cuDNN {found.cudnn or 'MISSING: ' + found.why}")
            desk = Desk(words, state, interrupted)
        except CannotStart as defect:
            print(f"gpu-check: {defect}; the plan of a machine that has one:")
            found, desk = None, None
        leave_out(stages, state, found.gpus if found else 1)
        print_plan(desk, now, state)
        return GOOD
    found = look(place.program, max(clock.left(), 1.0), interrupted)
    admit(found, state)
    words = dataclasses.replace(words, gpus=found.gpus)
    for part in ("logs", "runs"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    if not options.resume:
        locks.enter_context(sole_user(folder))
        refuse_folder(folder)
    end_leftover(state)
    leave_out(stages, state, found.gpus)
    save(state, folder)
    desk = Desk(words, state, interrupted, stage_limit=found.stage_limit)
    check = Check(desk, stages, now, archive, clock)
    check.work()
    return check.end()


def main(arguments: list[str], home: Path) -> int:
    """Run gpu-check, which lies in the folder `home`; returns the exit code."""
    options = parse(arguments)
    if sys.stdout:  # what programs print is more than some locales have
        sys.stdout.reconfigure(errors="replace")
    interrupted = Interrupts()
    try:
        with contextlib.ExitStack() as locks:
            return carry_out(options, home, interrupted, locks)
    except CannotStart as defect:
        print(f"gpu-check: {defect}", file=sys.stderr)
        return CANNOT
    except KeyboardInterrupt:
        print("gpu-check: interrupted before anything was run", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # nobody reads what is printed; the summary is in the folder
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD
    except OSError as error:
        print(f"gpu-check: {error}", file=sys.stderr)
        return CANNOT
