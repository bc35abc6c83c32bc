"""README.md: its tables are what the program prints of the kept runs, its ten commands are ones that work."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from cli_support import run
from report_support import report

from convscope_report.cli import build_parser

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCK = re.compile(r"<!-- lines of: (?P<command>[^\n]+) -->\n```\n(?P<lines>.*?)```", re.DOTALL)


def test_the_blocks_of_the_readme_are_lines_that_the_program_prints(root, convscope):
    blocks = list(BLOCK.finditer(README.read_text(encoding="utf-8")))
    assert blocks
    for block in blocks:
        command = [str(convscope), *shlex.split(block["command"])[1:]]
        wide = os.environ | {"COLUMNS": "120"}  # as a reader's terminal, not as that of the test
        done = subprocess.run(command, cwd=root, env=wide, capture_output=True, text=True, check=True)
        printed = done.stdout.splitlines()
        for line in block["lines"].splitlines():
            assert line in printed, line
            printed = printed[printed.index(line) + 1 :]


def ten_commands() -> list:
    """The commands of the block of ten, without the questions behind them."""
    section = README.read_text(encoding="utf-8").partition("\n## Ten questions")[2]
    lines = section.partition("```\n")[2].partition("```")[0].splitlines()
    assert all(" # " in line for line in lines)
    return [line.partition(" # ")[0].strip() for line in lines]


def test_there_are_ten():
    assert len(ten_commands()) == 10


@pytest.mark.parametrize("command", ten_commands())
def test_each_of_the_ten_commands_works(command, root, convscope, bench, monkeypatch):
    """Measuring is left out: what a command would run is planned, and the arguments of the rest are read."""
    monkeypatch.chdir(root)
    for part in command.split(" && "):
        program, *words = shlex.split(part)
        words = [path for word in words for path in ([word] if "*" not in word else sorted(root.glob(word)))]
        if program == "./scripts/bench":
            _, lines = bench(*words)
            planned = lines[-1] if "--thorough" in words else lines[2]
            if planned.startswith("convscope-report compare-programs "):
                options = build_parser().parse_args(planned.split()[1:])
                planned = " ".join(["convscope", "run", *options.run_arguments])
            assert planned.startswith("convscope run "), planned
            words = ["alexnet" if word == "net.json" else word for word in planned.split()[1:]]
            program = "build/convscope"
        if program == "build/convscope":
            dry = ["--dry-run"] if words[0] in ("run", "verify") else []
            done = run(convscope, *words, *dry)
            assert done.returncode == 0, done.stderr
        elif words[:1] == ["import"]:
            build_parser().parse_args(words)
        elif program == "scripts/convscope-report":
            done = report(*words, "--convscope", convscope)
            assert (done.code, done.err) == (0, "")
        else:
            assert run(root / program, "--help").returncode == 0, program
