"""`compare-programs` with made-up programs (turning_program.py): what runs in turn, what is said of it."""

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import turning_program
from report_support import recorded, report

from convscope_report import rounds, saved

HERE = Path(__file__).resolve().parent


@pytest.fixture
def programs(tmp_path):
    """Makes the programs "before" and "after" that behave in a way; returns the folder that they are in."""

    def made(**behaviour):
        (tmp_path / "behaviour.json").write_text(json.dumps(behaviour))
        for side in rounds.SIDES:
            words = f'{sys.executable} {HERE / "turning_program.py"} {tmp_path} "$0" "$@"'
            (tmp_path / side).write_text(f"#!/bin/sh\n# {side}\nexec {words}\n")
            (tmp_path / side).chmod(0o755)
        return tmp_path

    return made


def compare(folder, *flags, arguments=("pair",)):
    programs = (folder / side for side in rounds.SIDES)
    return report("compare-programs", *programs, "--folder", folder / "turns", *flags, "--", *arguments)


def calls(folder):
    return (folder / "calls").read_text().splitlines()


def verdict(out, layer, direction, algorithm):
    return re.search(rf"([A-Z]+) +{layer} +{direction} +2 +{re.escape(algorithm)} ", out)[1]


QUIET = {"b": 0.001, "c": 0.001}
RUN = "run pair --time-limit 0.4 --min-samples 10"
BOUTS = [f"--layer {layer} --pass forward" for layer in "bc"]


@pytest.fixture
def in_process(monkeypatch, programs):
    """The programs run within the test, which is quicker; returns what makes them."""

    def run(command):
        side = Path(command[0]).stem
        assert turning_program.main(Path(command[0]).parents[1], side, command[1:]) == 0
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(rounds, "run_program", run)
    return programs


@pytest.fixture
def minutes(monkeypatch):
    """Lets a minute pass with each look at the clock: one at the start, one after each round."""
    clock = itertools.count()
    monkeypatch.setattr(rounds.time, "monotonic", lambda: 60.0 * next(clock))


def test_a_slowdown_of_three_percent_is_found_and_nothing_else(in_process):
    folder = in_process(noise={"b": 0.01, "c": 0.01}, slower=1.03)
    done = compare(folder, "--fail-on", "slower")
    assert done.code == 1, done.err
    assert verdict(done.out, "b", "forward", "winograd.mixed.cpu") == "SLOWER"
    assert "1 SLOWER, 16 SAME, 0 UNDECIDED" in done.out
    assert "0 of 17 records are undecided" in done.err


def test_programs_take_turns_at_each_layer_and_pass_after_a_first_round_of_all(in_process):
    folder = in_process(noise=QUIET)
    assert compare(folder, "--fail-on", "undecided").code == 0
    turns = [("before", "after"), ("after", "before")]
    expected = [f"{side} {RUN}" for side in turns[0]]
    for number in (2, 3, 4):
        for turn, bout in enumerate(BOUTS):
            expected += [f"{side} {RUN} {bout}" for side in turns[(turn + number + 1) % 2]]
    assert calls(folder) == expected


def test_only_layers_and_passes_with_an_undecided_record_go_on(in_process, minutes):
    folder = in_process(noise={"b": 0.001, "c": 0.2})
    done = compare(folder, "--minutes", "6", "--fail-on", "undecided")
    assert done.code == 1
    assert len(calls(folder)) == 2 + 3 * 4 + 3 * 2, "seven rounds, b decided after four"
    assert all("--layer c" in call for call in calls(folder)[14:])
    assert verdict(done.out, "b", "forward", "winograd.mixed.cpu") == "SAME"
    assert verdict(done.out, "c", "forward", "winograd.mixed.cpu") == "UNDECIDED"
    words = f"compare-programs {folder / 'before'} {folder / 'after'} --folder"
    assert words in " ".join(done.out.split())


def test_a_single_layer_and_pass_is_run_as_it_was_asked_for(in_process):
    folder = in_process(noise=QUIET)
    arguments = ("pair", "--layer", "b")  # of --case, which takes no --layer, likewise
    assert compare(folder, arguments=arguments).code == 0
    words = RUN.replace("pair", "pair --layer b")
    assert sorted(calls(folder)) == 4 * [f"after {words}"] + 4 * [f"before {words}"]


def test_rounds_go_on_where_they_ended_whatever_became_of_the_programs_files(in_process, minutes):
    folder = in_process(noise={"b": 0.2, "c": 0.2})
    assert compare(folder, "--minutes", "1").code == 0
    assert len(calls(folder)) == 2 + 4
    again = compare(folder, "--minutes", "3")
    assert again.code == 0, again.err
    assert len(calls(folder)) == 2 + 4 + 2 * 4, "two rounds more"


def test_an_interrupted_round_is_completed(in_process, monkeypatch):
    folder = in_process(noise=QUIET)
    measure = rounds.run_program

    def interrupted(command):
        if (folder / "calls").exists() and len(calls(folder)) == 6:
            raise KeyboardInterrupt
        return measure(command)

    monkeypatch.setattr(rounds, "run_program", interrupted)
    done = compare(folder)
    assert done.code == 130
    assert "interrupted; go on with: scripts/convscope-report compare-programs" in done.err
    monkeypatch.setattr(rounds, "run_program", measure)
    assert compare(folder).code == 0
    assert len(calls(folder)) == 2 + 3 * 4, "each run once"


def test_a_program_that_fails_is_quoted_with_its_command(programs):
    folder = programs(noise=QUIET, fails=4)
    done = compare(folder)
    assert done.code == 2
    assert "before.program ended with exit code 2: convscope: it fails here\n  the command: " in done.err
    (folder / "behaviour.json").write_text(json.dumps({"noise": QUIET}))
    assert compare(folder).code == 0, "what was measured is still there"
    assert len(calls(folder)) == 2 + 3 * 4 + 1


def test_what_is_no_program_is_named(programs):
    folder = programs(noise=QUIET)
    (folder / "before").chmod(0o644)
    done = compare(folder)
    assert (done.code, "before.program: cannot be run: Permission denied" in done.err) == (2, True)


def test_a_folder_whose_arguments_are_damaged_is_refused(in_process):
    folder = in_process(noise=QUIET)
    assert compare(folder).code == 0
    (folder / "turns" / "rounds.json").write_text("[")
    assert "rounds of other programs or arguments" in compare(folder).err


def test_a_folder_of_something_else_is_refused(in_process):
    folder = in_process(noise=QUIET)
    assert compare(folder).code == 0
    assert "rounds of other programs or arguments" in compare(folder, arguments=("other",)).err
    (folder / "after").write_text((folder / "after").read_text() + "# changed\n")
    assert "rounds of other programs or arguments" in compare(folder).err
    done = report("compare-programs", folder / "before", folder / "after", "--folder", folder, "--", "pair")
    assert (done.code, "it is not empty and holds no rounds" in done.err) == (2, True)


@pytest.mark.parametrize("flag", ["--out=x", "--resume", "--dry-run"])
def test_flags_that_make_no_sense_here_are_refused(programs, flag):
    done = compare(programs(noise=QUIET), arguments=("pair", flag))
    assert (done.code, f"{flag}: not for" in done.err) == (2, True)


def test_a_saved_program_is_found_by_its_name(programs, monkeypatch, tmp_path):
    folder = programs(noise=QUIET)
    monkeypatch.setattr(saved, "FOLDER", tmp_path / "saved")
    assert (
        "saved with one: none"
        in report("compare-programs", "old", folder / "after", "--folder", "x", "--", "p").err
    )
    saved.save(recorded("same_a"), "old", folder / "before")
    assert saved.program("old").read_text() == (folder / "before").read_text()
    assert saved.names() == ["old"]


def test_the_flags_of_a_bout_replace_those_of_the_user():
    given = ["net.json", "--pass", "forward", "--layer=x*", "--batch", "1"]
    assert rounds.Bout("x1", "forward").narrowed(given) == [
        "net.json", "--batch", "1", "--layer", "x1", "--pass", "forward"
    ]  # fmt: skip
    assert rounds.Bout().narrowed(given) == given
    assert rounds.with_sampling(["net", "--time-limit=2"])[2:] == ["--min-samples", "10"]
