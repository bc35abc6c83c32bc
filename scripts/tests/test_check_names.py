"""scripts/check-names on planted files: what it must find, and what it must let pass."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "check-names"
# Functions a line too long: with a template, a lambda, braces in what is no code.
BODY = '  auto f = [] { return "}"; };  // }\n'
LONG = "namespace a {\ntemplate <int N>\nint f(int x) {\n" + BODY * 58 + "}\n}\n"
KERNEL = "template <int N>\n__global__ void f(int* x) {\n" + BODY * 118 + "}\n"
METHOD = "struct A : B {\n  int g() { return 1; }\n#define X {\n  int f() {\n" + BODY * 59 + "  }\n};\n"
ASM = "void f() {\n  asm volatile(\n" + '      "{mma;}"\n' * 60 + "      : : );\n}\n"
TABLE = "constexpr int kTable[] = {\n" + "    {1},\n" * 60 + "};\n"
PYTHON = '"""A module."""\n\n\nclass A:\n    def f(self):\n' + "        g()\n" * 60


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
        ("bench/core/a.cpp", LONG, "bench/core/a.cpp:2: a function of 61 lines; at most 60"),
        ("bench/core/a.hpp", METHOD, "bench/core/a.hpp:4: a function of 61 lines; at most 60"),
        ("algorithms/fft/a.cu", KERNEL + BODY, "algorithms/fft/a.cu:1: a function of 121 lines; at most 120"),
        ("scripts/a.py", PYTHON, "scripts/a.py:5: a function of 61 lines; at most 60"),
        ("scripts/a", "#!/usr/bin/env python3\n" + PYTHON, "scripts/a:6: a function of 61 lines; at most 60"),
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
        ("bench/core/a.cpp", LONG.replace(BODY, "", 1)),
        ("algorithms/fft/a.cu", KERNEL.replace(BODY, "", 1)),
        ("bench/core/a_test.cpp", LONG),
        ("scripts/tests/a.py", PYTHON),
        ("bench/core/a.cuh", ASM),
        ("bench/core/a.cpp", TABLE),
    ],
)
def test_what_keeps_to_it_passes(tmp_path: Path, path: str, text: str) -> None:
    done = check(tmp_path, path, text)
    assert done.returncode == 0, done.stdout
