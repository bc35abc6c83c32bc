"""scripts/check-names on planted files: what it must find, and what it must let pass."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "check-names"


def check(top: Path, path: str, text: str) -> subprocess.CompletedProcess:
    """Run the script in a repository of this one file."""
    script = top / "scripts" / "check-names"
    for file in (script, top / path):
        file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(SCRIPT, script)
    (top / path).write_text(text)
    subprocess.run(["git", "init", "-q", top], check=True)
    return subprocess.run([str(script)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("path", "text", "says"),
    [
        ("algorithms/fft/a.cpp", "\nclass Row : public Algorithm {};\n", "algorithms/fft/a.cpp:2: "),
        ("docs/a.md", "two phases of the stride\n", "say residue of the stride"),
        ("bench/core/a.hpp", "constexpr int kMostRounds = 3;\n", "say kMax, kMin"),
        ("bench/core/a.cpp", "//\n" * 401, "bench/core/a.cpp: 401 lines; at most 400"),
        ("README.md", "line\n" * 100, "README.md: 100 lines; at most 99"),
        ("algorithms/fft/README.md", "x" * 6000, "algorithms/fft/README.md: 6000 bytes; below 6000"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, path: str, text: str, says: str) -> None:
    done = check(tmp_path, path, text)
    assert done.returncode == 1
    assert says in done.stdout
    assert ", 1 faults" in done.stdout


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("bench/core/a_test.cpp", "//\n" * 450),
        ("results/a/page.md", "phases of the stride\n"),
        ("README.md", "line\n" * 99),
    ],
)
def test_what_keeps_to_it_passes(tmp_path: Path, path: str, text: str) -> None:
    done = check(tmp_path, path, text)
    assert done.returncode == 0, done.stdout
