"""scripts/verify-all, real-sizes, verify-compiled, fuzz, on programs that only say how they were called."""

import os
import shutil
import signal
import subprocess

import pytest


@pytest.fixture
def started(root, tmp_path):
    """A function that starts verify-all, from another folder; convscope then does what `fate` says."""
    checkout = tmp_path / "a checkout"
    for folder in ("scripts", "configs", "build"):
        (checkout / folder).mkdir(parents=True)
    for name in ("a", "b", "schema"):
        (checkout / "configs" / f"{name}.json").touch()
    shutil.copy(root / "scripts" / "verify-all", checkout / "scripts")

    def start(fate, *words):
        for name in ("scripts/setup", "scripts/build", "build/convscope"):
            of_it = fate if name == "build/convscope" else ""
            (checkout / name).write_text(f'#!/bin/sh\necho "${{0##*/}} $*"\n{of_it}\n')
            (checkout / name).chmod(0o755)
        script = os.path.relpath(checkout / "scripts" / "verify-all", tmp_path)
        return subprocess.Popen(
            [script, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    return start


@pytest.mark.parametrize("code", [0, 1, 2, 130])
def test_all_configs_are_verified_in_one_call_whose_exit_code_it_has(started, code):
    process = started(f"exit {code}", "--layer", "x")
    said, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (code, "")
    # The schema is among them: where there are several, verify knows it and leaves it out.
    flags = "--batch 1 --first-backward-data --layer x"
    configs = " ".join(f"configs/{name}.json" for name in ("a", "b", "schema"))
    assert said.splitlines() == ["setup ", "build release convscope", f"convscope verify {configs} {flags}"]


def test_what_is_wrong_about_an_argument_is_said_once(started):
    process = started("echo 'unknown flag' >&2; exit 2", "--typo")
    assert process.communicate(timeout=60)[1] == "unknown flag\n"
    assert process.returncode == 2


def test_what_it_runs_ends_with_it(started):
    process = started("echo here >&2; exec sleep 600")
    assert process.stderr.readline() == "here\n"
    process.kill()
    process.communicate(timeout=60)  # until nobody has its output


def test_its_help_is_found_from_anywhere(started):
    process = started("", "--help")
    said, errors = process.communicate(timeout=60)
    assert (said.startswith("Verifies every algorithm"), errors) == (True, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Looks at every layer"),
        (["build", "0"], "Looks at"),
        (["/nowhere"], "/nowhere has no bench/real_sizes"),
    ],
)
def test_real_sizes_says_what_it_takes(root, words, said):
    done = subprocess.run(
        [root / "scripts" / "real-sizes", *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize(
    ("script", "program"),
    [
        ("verify-compiled", "build/convscope_standin"),
        ("fuzz", "build-fuzz/bench/cli/fuzz_readers"),
    ],
)
def test_ctrl_c_ends_a_script_of_several_turns_in_its_first(root, tmp_path, script, program):
    (tmp_path / "scripts").mkdir()
    shutil.copy(root / "scripts" / script, tmp_path / "scripts")
    (tmp_path / "bench" / "cli" / "fuzz" / "corpus" / "reader").mkdir(parents=True)
    programs = {
        "scripts/build": "exit 0",
        program: "trap 'exit 72' INT; echo turn >>turns; kill -INT 0; sleep 60",
    }
    for name, text in programs.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        [tmp_path / "scripts" / script], env=os.environ | {"CXX": "clang++"}, capture_output=True, text=True,
        timeout=60, check=False, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    assert (tmp_path / "turns").read_text() == "turn\n"
    assert "WRONG" not in done.stdout
