"""Options and fixtures shared by the Python tests: where the program under test is."""

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    parser.addoption(
        "--convscope",
        default=str(ROOT / "build" / "convscope"),
        help="the built program (default: build/convscope)",
    )
    parser.addoption(
        "--regenerate", action="store_true", help="write golden files anew instead of comparing with them"
    )


@pytest.fixture(scope="session")
def convscope(request) -> Path:
    """The program's path."""
    program = Path(request.config.getoption("--convscope")).resolve()
    assert program.is_file(), f"{program} is not built; pass --convscope PATH"
    return program


@pytest.fixture(scope="session")
def regenerate(request) -> bool:
    """Whether golden files are to be written."""
    return request.config.getoption("--regenerate")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def run_convscope(convscope):
    """Runs the program with the given arguments; returns its subprocess.CompletedProcess, output as text."""

    def run(*arguments):
        command = [str(convscope), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)

    return run


@pytest.fixture(scope="session")
def algorithms(run_convscope):
    """What `list algorithms --json` says, those left out that this machine lacks or that need a GPU."""
    listing = run_convscope("list", "algorithms", "--json")
    assert listing.returncode == 0, listing.stderr
    return [
        entry
        for entry in json.loads(listing.stdout)
        if entry["refusal"] is None and (entry["device"] == "cpu" or entry["emulated"])
    ]
