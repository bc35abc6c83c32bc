"""docs/gpu.md: every command of the page, run as it stands, line by line, with a scripted program."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from test_gpu_check import Bundle

from gpu_check import cli, plan
from gpu_check.place import Place

SCP = """#!/bin/sh
# The other machine is the folder NODE.
from=$(echo "$1" | sed 's,^NODE:,NODE/,')
to=$(echo "$2" | sed 's,^NODE:,NODE/,')
exec cp "$from" "$to"
"""
BUNDLE = """#!/bin/sh
mkdir -p build-bundle
tar -C "$(dirname "$0")/../packed" -cJf build-bundle/convscope-bundle.tar.xz convscope-bundle
"""
REPORT = "#!/bin/sh\nexit 0\n"


def commands_of(root):
    """The lines of each block of commands."""
    page = (root / "docs" / "gpu.md").read_text()
    return [block.splitlines() for block in re.findall(r"^```sh\n(.*?)\n```", page, re.MULTILINE | re.DOTALL)]


@pytest.fixture
def machines(root, tmp_path):
    """A checkout with the folder NODE in it, which stands for the other machine."""
    home = tmp_path / "home"
    (home / "NODE").mkdir(parents=True)
    Bundle(root, home / "packed" / "convscope-bundle")
    (home / "bin").mkdir()
    (home / "scripts").mkdir()
    for path, text in (("bin/scp", SCP), ("scripts/bundle", BUNDLE), ("scripts/convscope-report", REPORT)):
        (home / path).write_text(text)
        (home / path).chmod(0o755)
    shutil.copy(root / "scripts" / "import-gpu-check", home / "scripts")
    shutil.copytree(root / "scripts" / "gpu_check", home / "scripts" / "gpu_check")
    (home / "algorithms").mkdir()
    shutil.copy(root / "algorithms" / "predictions.csv", home / "algorithms")
    # The page's python3 is any.
    (home / "bin" / "python3").symlink_to(sys.executable)
    return home


def test_every_line_of_the_page_works(root, machines):
    folder, environment = machines, {**os.environ, "PATH": f"{machines / 'bin'}:/usr/bin:/bin"}
    blocks = commands_of(root)
    assert len(blocks) == 4
    places = [machines, machines / "NODE", machines / "NODE", machines]
    said = ""
    for place, block in zip(places, blocks, strict=True):
        folder = folder if folder.is_relative_to(machines / "NODE") and place.name == "NODE" else place
        for line in block:
            if line.startswith("cd "):
                folder = folder / line[3:]
                continue
            run = subprocess.run(
                ["bash", "-ec", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
            )
            assert run.returncode == 0, f"{line}: {run.stdout}{run.stderr}"
            said += run.stdout
    assert "DONE; all is good" in said
    assert "predictions were wrong" in said


def test_the_page_has_every_stage_and_exit_code(root):
    page = (root / "docs" / "gpu.md").read_text()
    for stage in plan.stages_of(Place(root / "p", (), root / "c")):
        name = re.sub(r"^(alexnet-nhwc|sanitizer)-.*", r"\1-*", stage.name)
        assert f"`{name}`" in page or f"`{name.removeprefix('alexnet')}`" in page, name
    for code in (cli.GOOD, cli.BAD, cli.CANNOT, cli.TIME_IS_UP, cli.INTERRUPTED):
        assert f"\n| {code} |" in page
