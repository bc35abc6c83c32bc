"""scripts/torture: what it refuses to begin with, and that it leaves nothing where nothing was lost."""

import fcntl
import subprocess
import sys

import pytest


@pytest.fixture
def torture(root, convscope, tmp_path):
    """A function that runs it with few kills and such words; it works in the folder `work`."""

    def run(*words, python=(sys.executable,), folder=tmp_path / "work"):
        command = [*python, root / "scripts" / "torture", "--kills", "2", "--full", "1", "--folder", folder]
        command += ["--build", convscope.parent, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    return run


def test_nothing_is_left_where_nothing_was_lost_also_of_one_that_was_killed(torture, tmp_path):
    (tmp_path / "work" / "run1").mkdir(parents=True)
    (tmp_path / "work" / "lock").touch()
    done = torture()
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "nothing was lost"), done.stderr
    assert not (tmp_path / "work").exists()


def test_a_folder_of_another_is_left_alone(torture, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.txt").touch()
    done = torture()
    assert (done.returncode, done.stderr) == (
        2,
        f"torture: {tmp_path / 'work'} is there and not empty, and would be deleted: name another --folder\n",
    )
    assert (tmp_path / "work" / "thesis.txt").exists()


def test_a_second_one_in_the_same_folder_is_refused(torture, tmp_path):
    (tmp_path / "work").mkdir()
    with (tmp_path / "work" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = torture()
    assert done.returncode == 2
    assert "another torture is at work in" in done.stderr


def test_a_missing_program_and_a_missing_module_are_named(torture, tmp_path):
    done = torture("--build", tmp_path)
    assert done.returncode == 2
    assert (
        done.stderr
        == f"torture: {tmp_path}/convscope is not there: run scripts/build release, or name --build\n"
    )
    done = torture(python=(sys.executable, "-I", "-S"))
    assert done.returncode == 2
    assert done.stderr.startswith("torture: No module named 'pytest'; scripts/setup, then .venv/bin/python ")
