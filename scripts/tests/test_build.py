"""scripts/build, with a cmake that only talks, and scripts/setup: what they show and say."""

import os
import pty
import re
import shutil
import subprocess

import pytest
from cli_support import terminal_output

CMAKE = """#!/bin/sh
[ "$1" = --build ] || exit 0
echo '[1/3] Building CXX object a.o'
echo '[2/3] Building CXX object b.o'
{fault}
echo '[3/3] Linking CXX executable a'
"""


def without_times(text: str) -> str:
    """The text without ", 1m05s"."""
    return re.sub(r", [0-9]+m[0-9]{2}s", "", text)


@pytest.fixture
def build(root, tmp_path):
    """A function: the command that builds, and its environment, where cmake does what `fault` says."""

    def made(fault: str = "", **more: str) -> dict:
        cmake = tmp_path / "cmake"
        cmake.write_text(CMAKE.format(fault=fault), encoding="utf-8")
        cmake.chmod(0o755)
        path = f"{tmp_path}:{os.environ['PATH']}"
        return {"args": [root / "scripts" / "build", "release"], "env": os.environ | {"PATH": path} | more}

    return made


def test_a_short_build_is_quiet(build):
    done = subprocess.run(**build(), capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("build: release\n", "")


def test_a_long_one_says_from_time_to_time_how_far_it_is(build):
    done = subprocess.run(**build(BUILD_PROGRESS_SECONDS="0"), capture_output=True, text=True, check=True)
    assert without_times(done.stdout).splitlines()[1:] == [f"build: {step} of 3" for step in (1, 2, 3)]


def test_a_terminal_gets_one_line_that_is_rewritten(build):
    made = build()
    text = terminal_output(made["args"], made["env"])
    lines = without_times(text).split("\r\x1b[K")[1:]
    assert lines == [*(f"build: {step} of 3" for step in (1, 2, 3)), ""]


def test_a_failed_one_prints_what_the_compiler_said_and_nothing_else(build):
    done = subprocess.run(
        **build("echo 'a.cpp:1: error: no'; exit 1"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "a.cpp:1: error: no\nbuild: compiling failed; the compiler's words are above\n"


@pytest.fixture
def setup(root, tmp_path):
    """A function: the result of scripts/setup in a checkout where programs do as their text says."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "bin").mkdir()
    for name in ("setup", "requirements.txt"):
        shutil.copy(root / "scripts" / name, tmp_path / "scripts")

    def made(programs: dict, **more) -> subprocess.CompletedProcess:
        here = {"apt-get": "exit 0", "dpkg-query": "echo install ok installed", "id": "echo 1000"}
        for name, text in (here | programs).items():
            (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / "bin" / name).chmod(0o755)
        environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
        command = [tmp_path / "scripts" / "setup"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **more)

    return made


def test_packages_that_pip_cannot_fetch_are_said_with_a_way_without_a_network(setup):
    python = "mkdir -p .venv/bin; printf 'exit 1' >.venv/bin/pip; chmod +x .venv/bin/pip"
    done = setup({"python3": python})
    assert done.returncode == 2
    assert "pip could not install scripts/requirements.txt" in done.stderr
    assert "PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER" in done.stderr


def test_no_answer_is_no_and_says_what_to_run(setup):
    parent, child = pty.openpty()
    os.write(parent, b"\x04")  # Ctrl-D
    done = setup({"dpkg-query": "exit 1", "sudo": "exit 9"}, stdin=child)
    assert done.returncode == 2
    assert "setup: nothing installed; run: sudo apt-get install g++ cmake " in done.stderr
