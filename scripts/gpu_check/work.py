"""Carries out one turn of one stage and judges it by what it left."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gpu_check.bounded import Ending, run_bounded
from gpu_check.place import find_tool
from gpu_check.plan import Stage, Words
from gpu_check.records import FAILURES, REFUSED, is_complete, read_records, throttled
from gpu_check.state import Progress, State, save, start_of_process

SAVE_SECONDS = 2.0  # how much of a stage's time a kill may leave uncounted
# Of a group of candidates: a process, a context and the libraries' loading; of a candidate: planning and
# verification. On an H100 AlexNet's passes of 4 and 5 groups with 63 to 76 candidates took 19 to 26 s at a
# --time-limit of 0.1 s.
GROUP_SECONDS, CANDIDATE_SECONDS = 1.0, 0.2
SHORTEST_LIMIT, LONGEST_LIMIT = 0.1, 0.7  # --time-limit, in seconds a candidate
FILL = 0.8  # of a turn that a run is planned to take
# --stage-limit, in seconds of one stage of one candidate. The first that asks cuDNN waits until its libraries
# are read from the disk, a gigabyte and more; Find and autotuning try everything while they plan.
CANDIDATE_LIMIT, PROFILING_LIMIT = 30, 90
ATTEMPTS = 2  # at a run that ends before its end


@dataclass
class Desk:
    """What carrying out stages needs: words of commands, the state and its folder, who may interrupt."""

    words: Words
    state: State
    interrupted: Callable[[], bool]
    notes: list[str] = field(default_factory=list)
    stage_limit: bool = False

    @property
    def folder(self) -> Path:
        """Return the check's folder."""
        return self.words.folder

    def save(self) -> None:
        """Save the state; a full disk is said once, and the check goes on as long as it can."""
        try:
            save(self.state, self.folder)
        except OSError as error:
            self.note(f"the state could not be saved: {error}")

    def note(self, sentence: str) -> None:
        """Add a note, each only once."""
        if sentence not in self.notes:
            self.notes.append(sentence)


def candidates_in(plan: str) -> tuple[int, int]:
    """Count groups, and candidates that nobody refuses, in what `run --dry-run` prints; zeros in garbage."""
    last = re.search(r"^(\d+) groups?, \d+ candidates?,", plan, re.MULTILINE)
    wanted = re.findall(r"^    \S+$", plan, re.MULTILINE)
    return (int(last.group(1)), len(wanted)) if last else (0, 0)


def time_limit(plan: str, seconds: float) -> float:
    """Return the --time-limit with which the run of a plan takes about `seconds`."""
    groups, candidates = candidates_in(plan)
    if candidates == 0:
        return SHORTEST_LIMIT
    free = seconds - groups * GROUP_SECONDS - candidates * CANDIDATE_SECONDS
    return round(min(max(free / candidates, SHORTEST_LIMIT), LONGEST_LIMIT), 2)


def expected_seconds(plan: str, limit: float) -> float:
    """Guess how long the run of a plan takes with that --time-limit."""
    groups, candidates = candidates_in(plan)
    return groups * GROUP_SECONDS + candidates * (CANDIDATE_SECONDS + limit)


def dry_run(desk: Desk, stage: Stage, seconds: float = 30) -> str:
    """Ask what a stage's run would do; empty where the program does not say."""
    command = [*desk.words.begin(stage, find_tool), "--dry-run"]
    ending = run_bounded(command, seconds, None, desk.interrupted)
    return ending.output if ending.good else ""


def _command(desk: Desk, stage: Stage, seconds: float) -> list[str]:
    run = desk.words.run_folder(stage)
    if stage.run and read_records(run):
        return desk.words.resume(stage)
    # Nothing was done in it, and a run does not begin where one is.
    shutil.rmtree(run, ignore_errors=True)
    command = desk.words.begin(stage, find_tool)
    if not stage.run:
        return command
    command += ["--out", str(run)]
    if desk.stage_limit:
        command += ["--stage-limit", str(PROFILING_LIMIT if stage.cudnn else CANDIDATE_LIMIT)]
    if stage.weight:
        plan = dry_run(desk, stage, min(30, seconds / 4))
        command += ["--time-limit", str(time_limit(plan, FILL * seconds))]
    return command


def failed_tests(output: str) -> list[str]:
    """Return the tests that a GoogleTest program says failed, in the order in which they did."""
    return list(dict.fromkeys(re.findall(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", output, re.MULTILINE)))


def _judge(desk: Desk, stage: Stage, progress: Progress, ending: Ending, whole_turn: bool) -> None:
    """Set a stage's status and note after a turn."""
    run = desk.words.run_folder(stage)
    records = read_records(run) if stage.run else []
    progress.rows = len(records)
    last_words = ending.output.strip().splitlines()[-1:]
    notes = [] if ending.good else [ending.words()]
    if ending.how == "interrupted" or (ending.how == "cut" and not stage.run and not whole_turn):
        progress.status = "unfinished"
    elif ending.how == "cut":
        progress.status = "unfinished" if stage.run and progress.seconds < stage.limit else "cut"
    elif stage.run and not is_complete(run):
        # Ended before its end: a crash of the program, a lost device, a full disk. Once more, then no more.
        notes += [] if ending.good else last_words
        notes.append("left no whole results.json")
        progress.failures += 1
        progress.status = "unfinished" if progress.failures < ATTEMPTS else "failed"
    elif stage.optional and not ending.good and '"library_missing"' in ending.output:
        progress.status, progress.note = "left out", f"there is no {stage.optional} here"
        return
    else:
        progress.status = "passed" if ending.good else "failed"
    if {record.outcome for record in records} - REFUSED == {"out_of_memory"}:
        progress.status = "failed" if progress.status == "passed" else progress.status
        notes.append("every record ran out of memory")
    if words := throttled(records):
        progress.status = "failed" if progress.status in ("passed", "cut") else progress.status
        notes.append(words)
    if bad := sum(record.outcome in FAILURES for record in records):
        notes.append(f"{bad} records are wrong or failed")
    if not stage.run and not ending.good:
        names = failed_tests(ending.output)
        notes += [f"{len(names)} failed: {', '.join(names)}"] if names else last_words
    progress.note = "; ".join(notes)


def take_turn(desk: Desk, stage: Stage, seconds: float) -> Ending | None:
    """Take one turn of a stage of at most `seconds`; None where its tool is missing and it is left out."""
    progress = desk.state.of(stage.name)
    begin, used, saved = time.monotonic(), progress.seconds, [0.0]
    try:
        command = _command(desk, stage, seconds)
    except KeyError as missing:
        progress.status, progress.note = "left out", f"{missing.args[0]} is not installed"
        return None
    progress.status = "unfinished"

    def tick(process: int, _: float) -> None:
        now = time.monotonic()
        if now - saved[0] >= SAVE_SECONDS:
            progress.seconds = used + now - begin
            desk.state.running = {"process": process, "start": start_of_process(process)}
            desk.save()
            saved[0] = time.monotonic()

    left = max(seconds - (time.monotonic() - begin), 1.0)
    log = desk.folder / "logs" / f"{stage.name}.log"
    ending = run_bounded(command, left, log, desk.interrupted, tick)
    progress.seconds = used + time.monotonic() - begin
    desk.state.running = {}
    _judge(desk, stage, progress, ending, seconds >= stage.turn)
    return ending
