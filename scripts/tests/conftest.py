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


@pytest.fixture(scope="session")
def convscope(request):
    """Runs the program with the given arguments; returns its subprocess.CompletedProcess, output as text."""
    program = Path(request.config.getoption("--convscope")).resolve()
    assert program.is_file(), f"{program} is not built; pass --convscope PATH"

    def run(*arguments):
        command = [str(program), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    return run


@pytest.fixture(scope="session")
def algorithms(convscope):
    """What `list algorithms --json` says, those left out that this machine lacks altogether."""
    listing = convscope("list", "algorithms", "--json")
    assert listing.returncode == 0, listing.stderr
    return [entry for entry in json.loads(listing.stdout) if entry["refusal"] is None]
