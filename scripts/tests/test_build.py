"""scripts/build, with a cmake that only talks, and scripts/setup; what vectors scripts/cmake has compiled."""

import os
import pty
import re
import shutil
import signal
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


@pytest.mark.parametrize(
    "said",
    [
        "x86_64-linux-gnu-g++: fatal error: Killed signal terminated program cc1plus",
        "collect2: fatal error: ld terminated with signal 9 [Killed]",
        "nvcc error   : 'cicc' died due to signal 9 (Kill signal)",
        "clang: error: unable to execute command: Killed",
        "Killed",
    ],
)
def test_a_compiler_that_was_killed_is_said_to_have_lacked_memory(build, said):
    made = build(f'echo "{said}"; exit 1')
    made["args"].append("convscope")
    done = subprocess.run(**made, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "build: the memory ran out; with fewer jobs it may do: "
        "CMAKE_BUILD_PARALLEL_LEVEL=1 scripts/build release convscope"
    )


@pytest.mark.parametrize("script", ["build", "build-all-archs"])
def test_ctrl_c_stops_a_build_and_is_no_failure_of_the_compiler(root, build, tmp_path, script):
    made = build("trap 'echo interrupted; exit 2' INT; kill -INT 0; sleep 60")
    ninja = tmp_path / "ninja"
    ninja.write_text('#!/bin/sh\n[ "$1" = -k ] || exit 0\ntrap "exit 2" INT; kill -INT 0; sleep 60\n')
    ninja.chmod(0o755)
    made["args"] = [root / "scripts" / script, "release" if script == "build" else tmp_path / "made"]
    # All that a terminal would send it to, and nothing of this process.
    alone = {
        "start_new_session": True,
        "preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    }
    done = subprocess.run(**made, **alone, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (130, f"{script}: stopped\n")


TARGETS = """
#include <hwy/detect_targets.h>
#if HWY_TARGETS & (HWY_SVE | HWY_SVE_256 | HWY_SVE2 | HWY_SVE2_128)
sve
#endif
#if HWY_TARGETS & HWY_NEON
neon
#endif
"""
PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(targets LANGUAGES NONE)
include({root}/scripts/cmake/convscope.cmake)
message(STATUS "disabled: ${{disabled_targets}}")
"""


def test_arm64_is_compiled_for_vectors_of_a_known_size(root, tmp_path):
    """By this machine's preprocessor, which is told that it is GCC's of an arm64."""
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(root=root))
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "made", "-DCMAKE_SYSTEM_NAME=Linux"]
    command.append("-DCMAKE_SYSTEM_PROCESSOR=aarch64")
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    disabled = re.search(r"disabled: (\S+)", said)[1]

    def enabled(*flags):
        arm = ["__aarch64__", "__linux__", "__ARM_NEON", "__GNUC__=14", "__GNUC_MINOR__=2"]
        arm = ["-undef", *(f"-D{name}" for name in arm)]
        command = ["g++", "-E", "-P", "-x", "c++", *arm, *flags, "-"]
        words = subprocess.run(command, input=TARGETS, capture_output=True, text=True, check=True).stdout
        return words.split()

    assert enabled() == ["sve", "neon"]
    assert enabled(f"-DHWY_DISABLED_TARGETS=({disabled})") == ["neon"]


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
