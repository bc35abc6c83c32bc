"""scripts/bench, with stand-ins for what it calls: what it runs, and where it has the report written."""

import shutil
import subprocess

import pytest


@pytest.fixture
def bench(root, tmp_path):
    """Calls scripts/bench in a copy whose programs only print how they were called: exit code and lines."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "build").mkdir()
    shutil.copy(root / "scripts" / "bench", tmp_path / "scripts")
    for name in ("setup", "build", "convscope-report"):
        stand_in(tmp_path / "scripts" / name, 0)

    def call(*arguments, code=0):
        stand_in(tmp_path / "build" / "convscope", code)
        command = [tmp_path / "scripts" / "bench", *arguments]
        run = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        assert run.stderr == ""
        return run.returncode, run.stdout.splitlines()

    return call


def stand_in(path, code):
    path.write_text(f'#!/bin/sh\necho "${{0##*/}} $*"\nexit {code}\n')
    path.chmod(0o755)


def test_alexnet_and_a_folder_of_its_own(bench):
    code, lines = bench()
    assert code == 0
    assert lines[:2] == ["setup --without-tests", "build release convscope"]
    words = lines[2].split()
    assert words[:4] == ["convscope", "run", "configs/alexnet.json", "--out"]
    assert lines[3] == f"report: convscope-report report {words[4]} -o {words[4]}/report.html"


@pytest.mark.parametrize(
    "flags", [("--out", "here"), ("--out=here",), ("--resume", "here"), ("--resume=here",)]
)
def test_the_report_is_beside_the_results(bench, flags):
    _, lines = bench("net.json", *flags)
    assert lines[2] == "convscope run net.json " + " ".join(flags)
    assert lines[3] == "report: convscope-report report here -o here/report.html"


@pytest.mark.parametrize(
    ("flags", "code", "reported"),
    [((), 1, True), ((), 2, False), ((), 130, False), (("--dry-run",), 0, False), (("--help",), 0, False)],
)
def test_when_there_is_a_report(bench, flags, code, reported):
    found, lines = bench(*flags, code=code)
    assert found == code
    assert lines[-1].startswith("report: ") == reported
