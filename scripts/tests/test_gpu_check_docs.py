"""docs/gpu.md: every command of the page, run as it stands, line by line.

With a scripted program, and with the program itself on the stand-ins for the CUDA runtime and the libraries.
"""

import os
import re
import shutil
import subprocess
import sys

import pytest
from gpu_check_support import Bundle
from test_gpu_check_standin import settle_standin

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
XZ_OPT=-0 tar -C "$(dirname "$0")/../packed" -cJf build-bundle/convscope-bundle.tar.xz convscope-bundle
"""
REPORT = "#!/bin/sh\nexit 0\n"
# Appended to a bundle's plan, so that the program itself need not run all of it once more.
FEW = """
_whole = stages_of
OURS, CUDNN = "direct.tiled.cuda", "cudnn.get.cuda"
def stages_of(place):
    return [stage for stage in _whole(place) if stage.name in ("info", "alexnet-forward")]
"""


def commands_of(root):
    """The lines of each block of commands."""
    page = (root / "docs" / "gpu.md").read_text()
    return [block.splitlines() for block in re.findall(r"^```sh\n(.*?)\n```", page, re.MULTILINE | re.DOTALL)]


@pytest.fixture(params=["scripted", "stand-in"])
def machines(request, root, convscope, tmp_path):
    """A checkout with the folder NODE in it, which stands for the other machine; and its environment."""
    home = tmp_path / "home"
    (home / "NODE").mkdir(parents=True)
    bundle = Bundle(root, home / "packed" / "convscope-bundle")
    environment = {}
    if request.param == "stand-in":
        environment = settle_standin(bundle, convscope, tmp_path)
        with (bundle.folder / "gpu_check" / "plan.py").open("a") as plan_file:
            plan_file.write(FEW)
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
    return home, {**os.environ, **environment, "PATH": f"{home / 'bin'}:/usr/bin:/bin"}


def test_every_line_of_the_page_works(root, machines):
    home, environment = machines
    folder = home
    blocks = commands_of(root)
    assert len(blocks) == 4
    places = [home, home / "NODE", home / "NODE", home]
    said = ""
    for place, block in zip(places, blocks, strict=True):
        folder = folder if folder.is_relative_to(home / "NODE") and place.name == "NODE" else place
        for line in block:
            if line.startswith("cd "):
                folder = folder / line[3:]
                continue
            run = subprocess.run(
                ["bash", "-ec", line],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
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
