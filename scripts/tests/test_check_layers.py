"""scripts/check-layers on planted sources: what it must find, and what it must let pass."""

import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "check-layers"
PAGE = "docs/architecture.md"


def check(top: Path, path: str, line: str) -> subprocess.CompletedProcess:
    script = top / "scripts" / "check-layers"
    for file in (script, top / PAGE, top / path):
        file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(SCRIPT, script)
    shutil.copy(SCRIPT.parents[1] / PAGE, top / PAGE)
    (top / path).write_text(line + "\n")
    return subprocess.run([str(script)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("bench/core/a.hpp", "#include <nlohmann/json.hpp>"),
        ("bench/core/a.cpp", "#include <unistd.h>"),
        ("bench/core/a.cpp", '#include "bench/report/format.hpp"'),
        ("bench/device/a.cpp", '#include "bench/runner/cases.hpp"'),
        ("bench/runner/a.cpp", '#include "cases.hpp"'),
        ("algorithms/fft/a.cpp", '#include "algorithms/direct/direct.hpp"'),
        ("algorithms/fft/a.cpp", '#include "bench/verify/reference.hpp"'),
    ],
)
def test_a_violation_is_named_with_its_line(tmp_path: Path, path: str, line: str) -> None:
    done = check(tmp_path, path, line)
    assert done.returncode == 1
    assert f"{path}:1: " in done.stdout
    assert "1 violations" in done.stdout


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("bench/core/a.hpp", "#include <string_view>"),
        ("bench/core/a_test.cpp", "#include <gtest/gtest.h>"),
        ("bench/report/a.cpp", "#include <fmt/format.h>"),
        ("algorithms/fft/a_test.cpp", '#include "bench/verify/reference.hpp"'),
    ],
)
def test_what_is_allowed_passes(tmp_path: Path, path: str, line: str) -> None:
    done = check(tmp_path, path, line)
    assert done.returncode == 0, done.stdout


def test_the_table_of_the_architecture_page_names_layers_that_there_are() -> None:
    allowed = runpy.run_path(str(SCRIPT))["ALLOWED"]
    assert allowed["bench/core"] == [] and len(allowed) > 20
    assert allowed["algorithms/*"][-1] == "algorithms/common"
    assert allowed["bench/parallel/reductions"][-1] == "bench/parallel/fabric"
    for layer in {*allowed, *(name for may in allowed.values() for name in may)} - {"algorithms/*"}:
        assert (SCRIPT.parents[1] / layer).is_dir(), layer
