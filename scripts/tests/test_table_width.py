"""How wide the program's tables are: as the terminal, as COLUMNS says, or 80 columns."""

import os
import subprocess

import pytest
from cli_support import terminal_output

KEPT = "results/amd-zen4-2-cores/alexnet.json.xz"


@pytest.fixture(scope="module")
def words(convscope, root):
    return [str(convscope), "show", str(root / KEPT), "--layer", "conv3", "--pass", "forward"]


def without_columns(**more: str) -> dict:
    """The environment without COLUMNS, which a shell may have exported."""
    return {key: value for key, value in os.environ.items() if key != "COLUMNS"} | more


def table(text: str) -> list:
    """The lines of the first table."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("  algorithm "))
    return [line for line in lines[first:] if "  " in line[2:]]


def test_a_file_gets_80_columns(words):
    done = subprocess.run(words, env=without_columns(), capture_output=True, text=True, check=True)
    assert max(map(len, table(done.stdout))) <= 80
    assert "left out to fit 80 columns: % ceiling, workspace (COLUMNS=120 shows more)" in done.stdout


def test_columns_in_the_environment_wins(words):
    done = subprocess.run(
        words, env=without_columns(COLUMNS="150"), capture_output=True, text=True, check=True
    )
    assert "nominal GFLOP/s  % ceiling  workspace" in table(done.stdout)[0]
    assert "left out" not in done.stdout


@pytest.mark.parametrize("columns", [60, 100])
def test_a_terminal_is_filled(words, columns):
    text = terminal_output(words, without_columns(NO_COLOR="1"), columns).replace("\r", "")
    assert max(map(len, table(text))) <= columns
    assert ("left out to fit 60 columns" in text) == (columns == 60)


@pytest.mark.parametrize(
    "verb",
    [
        ["select", KEPT],
        ["policies", KEPT],
        ["choose", "--results", KEPT],
        ["choose", "alexnet", "--batch", "1", "--pass", "forward", "--threads", "1"],
    ],
    ids=["select", "policies", "choose", "choose of a config"],
)
def test_the_tables_of_choices_fit_their_line(convscope, root, verb):
    def printed(columns):
        command = [str(convscope), *verb]
        environment = without_columns(COLUMNS=columns)
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    narrow = printed("80")
    assert max(map(len, narrow.splitlines())) <= 80
    assert "left out to fit 80 columns: " in narrow
    wide = printed("180")
    assert "left out to fit" not in wide
    assert max(map(len, wide.splitlines())) > 80
