"""scripts/check-layers on planted sources: what it must find, and what it must let pass."""

import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "check-layers"


def check(top: Path, path: str, line: str) -> subprocess.CompletedProcess:
    script = top / "scripts" / "check-layers"
    for file in (script, top / path):
        file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(SCRIPT, script)
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


def test_the_table_of_layers_in_the_architecture_page_is_that_of_the_script() -> None:
    page = (SCRIPT.parents[1] / "docs" / "architecture.md").read_text()
    table = page[page.index("| layer | may include") :].split("\n\n")[0].splitlines()[2:]
    shown = [tuple(cell.strip() for cell in line.split("|")[1:3]) for line in table]
    allowed = runpy.run_path(str(SCRIPT))["ALLOWED"]
    short = {layer: ", ".join(part.removeprefix("bench/") for part in may) for layer, may in allowed.items()}
    assert shown == [(f"`{layer}`", may or "nothing") for layer, may in short.items()]
