"""Two programs measured in turn until the verdict on every record is in: rounds, kept in a folder.

In a round each program runs the same config once. In the first round that is one run; in later ones the
programs take turns at every layer and pass that has an undecided record, so that what a neighbour does to the
machine for a minute meets both, and the program that begins alternates. Every run is a process of its own,
since where its memory lies makes a difference that no sample of one process shows: many short runs tell more
than few long ones.

The folder holds copies of the programs (before.program and after.program, so that a build meanwhile changes
nothing), the arguments (rounds.json), and N/before/... and N/after/... for each round N: finished runs as the
program wrote them, a folder for the first round, one for each layer and pass after it. Calling again with the
same programs and arguments goes on where the rounds end, within a round, too.
"""

import filecmp
import itertools
import json
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from convscope_report import ReportError, compare

SIDES = ("before", "after")
# Short, for there are many runs, and yet as many samples as an interval needs.
SAMPLING = {"--time-limit": "0.4", "--min-samples": "10"}
FIRST_LOOK = 4  # rounds; the next look is after half as many again, so that luck has few chances


@dataclass(frozen=True)
class Bout:
    """What two programs do in turn: a layer and pass; where both are None all that the arguments say."""

    layer: str | None = None
    direction: str | None = None

    def narrowed(self, arguments: list) -> list:
        """Return arguments of `run` that leave only this of what the given ones do."""
        if self.layer is None:
            return arguments
        return [*without(arguments, "--pass", "--layer"), "--layer", self.layer, "--pass", self.direction]


@dataclass
class Rounds:
    """A folder of rounds: `programs` are the files of before and after, `arguments` those of `run`."""

    folder: Path
    programs: tuple
    arguments: list

    def begin(self) -> None:
        """Make the folder, or raise ReportError where it holds other rounds than these."""
        file = self.folder / "rounds.json"
        copies = [self.program(side) for side in SIDES]
        if file.is_file():
            try:
                alike = json.loads(file.read_text(encoding="utf-8")) == self.arguments
            except ValueError:
                alike = False
            if not alike or not all(map(filecmp.cmp, self.programs, copies, (False, False))):
                raise ReportError(
                    f"{self.folder}: it holds rounds of other programs or arguments; choose another --folder"
                )
            return
        if self.folder.exists() and any(self.folder.iterdir()):
            raise ReportError(f"{self.folder}: it is not empty and holds no rounds; choose another --folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        for program, copy in zip(self.programs, copies, strict=True):
            shutil.copy2(program, copy)
        file.write_text(json.dumps(self.arguments) + "\n", encoding="utf-8")

    def program(self, side: str) -> Path:
        """Return the copy that runs."""
        return self.folder.resolve() / f"{side}.program"

    def measure(self, number: int, bouts: list) -> None:
        """Run what the round still lacks of the bouts; each program begins every other of them."""
        for turn, bout in enumerate(bouts):
            sides = SIDES if (turn + number) % 2 else SIDES[::-1]
            for side in sides:
                folder = self.folder / str(number) / side / str(turn)
                if not (folder / "results.json").is_file():
                    self.run(side, bout, folder)

    def run(self, side: str, bout: Bout, folder: Path) -> None:
        """Let a program do a bout; raise ReportError where it cannot, and leave no unfinished folder."""
        program = self.program(side)
        partial = self.folder / "unfinished"
        shutil.rmtree(partial, ignore_errors=True)
        command = [str(program), "run", *bout.narrowed(self.arguments), "--out", str(partial)]
        folder.parent.mkdir(parents=True, exist_ok=True)
        done = run_program(command)
        # 1: some record is wrong or failed, which compare shows.
        if done.returncode not in (0, 1) or not (partial / "results.json").is_file():
            said = done.stderr.strip() or "no message"
            raise ReportError(
                f"{command[0]} ended with exit code {done.returncode}: {said}\n"
                f"  the command: {shlex.join(command)}"
            )
        partial.rename(folder)

    def folders(self, number: int, side: str) -> list:
        """Return the folders of a program's runs in a round."""
        return sorted((self.folder / str(number) / side).iterdir(), key=lambda path: int(path.name))


def run_program(command: list) -> subprocess.CompletedProcess:
    """Run it to its end, keeping what it says; raises ReportError where it is no program."""
    try:
        return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    except OSError as fault:
        raise ReportError(f"{command[0]}: cannot be run: {fault.strerror}") from fault


def without(arguments: list, *flags: str) -> list:
    """Return the arguments but for these flags, in either form, and their values."""
    left, words = [], iter(arguments)
    for word in words:
        if word in flags:
            next(words, None)
        elif word.partition("=")[0] not in flags:
            left.append(word)
    return left


def with_sampling(arguments: list) -> list:
    """Return the arguments, with SAMPLING where they say nothing else."""
    given = {word.partition("=")[0] for word in arguments}
    return [*arguments, *(word for flag in SAMPLING if flag not in given for word in (flag, SAMPLING[flag]))]


def bouts_of(first: tuple, wanted: set | None) -> list:
    """Return a Bout for each layer and pass of the first round, or those that are wanted."""
    records = first[0].records
    pairs = dict.fromkeys(zip(records["layer"], records["pass"], strict=True))
    if len(pairs) == 1:  # as that of --case, which takes neither flag
        return [Bout()]
    return [Bout(*pair) for pair in pairs if wanted is None or pair in wanted]


def undecided(found: list) -> set:
    """Return layer and pass of the records that more rounds may decide."""
    return {
        (made.place["layer"], made.place["pass"])
        for made in found
        if made.verdict == "UNDECIDED" and made.ratio is not None
    }


def settle(rounds: Rounds, matters: float, seconds: float, load, say) -> tuple:
    """Measure until no record is undecided or the time is over.

    Returns how many rounds there are and what compare_pairs() says of them. `load` reads folders of runs as
    Results; `say` is called with a sentence after each look.
    """
    end = time.monotonic() + seconds
    pairs, bouts, look = [], [Bout()], FIRST_LOOK
    for number in itertools.count(1):
        say(f"round {number}" + (f", layers and passes to decide: {len(bouts)}" if number > 1 else ""))
        rounds.measure(number, bouts)
        pairs.append(tuple(load(rounds.folders(number, side)) for side in SIDES))
        is_over = time.monotonic() > end and number > 1
        if number == look or is_over:
            look += look // 2
            judged = compare.compare_pairs(pairs, matters)
            left = undecided(judged[0])
            open_records = sum(made.verdict == "UNDECIDED" for made in judged[0])
            say(f"{number} rounds: {open_records} of {len(judged[0])} records are undecided")
            if is_over or not left:
                return number, judged
            bouts = bouts_of(pairs[0], left)
        elif number == 1:
            bouts = bouts_of(pairs[0], None)
