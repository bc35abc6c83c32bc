"""docs/gpu.md: every command of the page, run as it stands, line by line.

With a scripted program, and with the program itself on the stand-ins for the CUDA runtime and the libraries.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

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


def inline_commands_of(root):
    """The commands in the page's sentences: a program and its arguments, but what needs a network."""
    page = (root / "docs" / "gpu.md").read_text()
    prose = re.sub(r"^```sh\n.*?\n```", "", page, flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"`((?:\./|bin/|scripts/|python3 |pip )[^`]* [^`]*)`", " ".join(prose.split()))
    return [command for command in found if not command.startswith("pip ")]


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
    for name in ("bin", "scripts", "build"):
        (home / name).mkdir()
    (home / "build" / "convscope").touch()
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


def call(line, folder, environment):
    run = subprocess.run(
        ["bash", "-ec", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, f"{line}: {run.stdout}{run.stderr}"
    return run.stdout


def try_blocks(root, home, environment):
    """Run the page's blocks; return what they said."""
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
            said += call(line, folder, environment)
    return said


def test_every_line_of_the_page_works(root, machines):
    home, environment = machines
    said = try_blocks(root, home, environment)
    assert "DONE; all is good" in said
    assert "predictions were wrong" in said

    # Then the commands in its sentences, where they are said to be of use.
    unpack, resume, sums = inline_commands_of(root)
    bundle, other = home / "NODE" / "convscope-bundle", home / "NODE" / "without-xz"
    other.mkdir()
    (other / "convscope-bundle.tar.xz").symlink_to(home / "NODE" / "convscope-bundle.tar.xz")
    call(unpack, other, environment)
    assert "alexnet-forward" in call("./gpu-check --dry-run", other / "convscope-bundle", environment)
    shutil.copy(bundle / "check.tar.xz", other / "convscope-bundle")
    assert resume.startswith("./gpu-check --resume check.tar.xz")
    assert "DONE; all is good" in call(resume, other / "convscope-bundle", environment)
    assert (other / "convscope-bundle" / "check" / "state.json").is_file()
    assert "allreduce" in sums
    if settings := environment.get("CONVSCOPE_STANDIN"):
        Path(settings).write_text(json.dumps(json.loads(Path(settings).read_text()) | {"devices": 2}))
        call(f"{sums} --bytes 4KiB --max-samples 3 --time-limit 0.02", bundle, environment)  # of all, minutes
        assert (bundle / "out" / "nccl" / "allreduce.json").is_file()
    else:
        call(sums, bundle, environment)


def test_the_page_has_every_stage_and_exit_code(root):
    page = (root / "docs" / "gpu.md").read_text()
    for stage in plan.stages_of(Place(root / "p", (), root / "c")):
        name = re.sub(r"^(alexnet-nhwc|sanitizer)-.*", r"\1-*", stage.name)
        assert f"`{name}`" in page or f"`{name.removeprefix('alexnet')}`" in page, name
    for code in (cli.GOOD, cli.BAD, cli.CANNOT, cli.TIME_IS_UP, cli.INTERRUPTED):
        assert f"\n| {code} |" in page
