"""The program under test: --convscope PATH, build/convscope when left out."""

from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--convscope", default=str(TOP / "build" / "convscope"), help="the program under test")


@pytest.fixture(scope="session")
def convscope(request: pytest.FixtureRequest) -> Path:
    return Path(request.config.getoption("--convscope")).resolve()
