"""A folder as scripts/bundle makes it around a scripted program, and what a check said of it."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_check import records

FAKE = Path(__file__).with_name("fake_program.py")
CORE_RUNS = ("alexnet-forward", "alexnet-backward-data", "alexnet-backward-filter")


class Bundle:
    """A folder laid out as scripts/bundle makes it, with a GPU that does not exist."""

    def __init__(self, root, folder):
        self.folder = folder
        self.setup = ""  # Python that a check begins with
        self.tools = folder.with_name(folder.name + "-tools")  # nvidia-smi and the like, were they installed
        (folder / "bin" / "tests").mkdir(parents=True)
        for name in ("gpu-check", "gpu_check"):
            source = root / "scripts" / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
        shutil.copytree(root / "configs", folder / "configs")
        self.program = folder / "bin" / "convscope"
        shutil.copy(FAKE, self.program)
        self.program.chmod(0o755)
        self.test("#!/bin/sh\nexit 0\n")
        self.behave()

    def test(self, text):
        path = self.folder / "bin" / "tests" / "verify_test"
        path.write_text(text)
        path.chmod(0o755)

    def tool(self, name, text):
        self.tools.mkdir(exist_ok=True)
        (self.tools / name).write_text(text)
        (self.tools / name).chmod(0o755)

    def only(self, *stages):
        """Let checks have these stages alone, for what depends on no other."""
        self.setup = (
            "whole = cli.stages_of\n"
            f"cli.stages_of = lambda place: [s for s in whole(place) if s.name in {stages}]"
        )

    def behave(self, **behaviour):
        (self.folder / "bin" / "behaviour.json").write_text(json.dumps(behaviour))

    def command(self, *arguments):
        # A short grace, so that a test of a program that does not end is short too.
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = True\n"
            "from pathlib import Path; import shutil; from gpu_check import bounded, cli, work\n"
            f"work.find_tool = lambda name: shutil.which(name, path={str(self.tools)!r})\n"
            f"bounded.GRACE_SECONDS = bounded.KILL_SECONDS = 0.5\n{self.setup}\n"
            "sys.exit(cli.main(sys.argv[2:], Path(sys.argv[1])))"
        )
        return [sys.executable, "-c", code, str(self.folder), *map(str, arguments)]

    def check(self, *arguments, environment=None, timeout=60, **more):
        return subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin", **(environment or {})},
            timeout=timeout,
            **more,
        )

    def calls(self):
        return (self.folder / "bin" / "calls").read_text().splitlines()


@pytest.fixture(name="bundle")
def bundle_fixture(root, tmp_path):
    return Bundle(root, tmp_path / "bundle")


def table_of(run):
    """Layer and pass to ratio, of the summary's table."""
    found = re.findall(r"^  (conv\d) +(\w+) .* (\S+)$", run.stdout, re.MULTILINE)
    return {(layer, direction): ratio for layer, direction, ratio in found}


def summary_of(run):
    """The last lines, as a terminal shows them; all there is where no stage was left to do."""
    return f"\n{run.stdout}".rpartition("\n\n")[2].splitlines()


def rows_of(folder):
    return {run.name: records.read_records(run) for run in sorted((folder / "runs").iterdir())}
