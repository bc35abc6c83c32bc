"""scripts/verify-all and scripts/real-sizes, on programs that only say how they were called."""

import os
import shutil
import subprocess

import pytest


@pytest.fixture
def started(root, tmp_path):
    """A function that starts verify-all, from another folder; of config `b` programs do what `fault` says."""
    checkout = tmp_path / "a checkout"
    for folder in ("scripts", "configs", "build"):
        (checkout / folder).mkdir(parents=True)
    for name in ("a", "b", "c", "schema"):
        (checkout / "configs" / f"{name}.json").touch()
    shutil.copy(root / "scripts" / "verify-all", checkout / "scripts")

    def start(fault, *words):
        for name in ("scripts/setup", "scripts/build", "build/convscope"):
            case = f'case "$*" in *configs/b.json*) {fault} ;; esac'
            (checkout / name).write_text(f'#!/bin/sh\necho "${{0##*/}} $*"\n{case}\n')
            (checkout / name).chmod(0o755)
        script = os.path.relpath(checkout / "scripts" / "verify-all", tmp_path)
        return subprocess.Popen(
            [script, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    return start


def test_every_config_is_verified_and_those_that_failed_are_named(started):
    process = started("exit 1", "--layer", "x")
    said, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (1, "verify-all: failed: configs/b.json\n")
    verified = [line.split()[2] for line in said.splitlines() if line.startswith("convscope verify ")]
    assert verified == [f"configs/{name}.json" for name in "abc"]
    assert said.count("--layer x") == 3


def test_an_interrupt_ends_it(started):
    process = started("exit 130")
    assert "configs/c.json" not in process.communicate(timeout=60)[0]
    assert process.returncode == 130


def test_what_it_runs_ends_with_it(started):
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv")
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
