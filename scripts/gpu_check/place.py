"""Where the program, its tests and the configs are: in a bundle beside gpu-check, in a checkout in build/."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

# The tests that use a GPU where there is one; scripts/bundle packs them. Those of the algorithms run their
# kernels on the emulator only: on a GPU every row is verified instead.
TESTS = ("device_cuda_test", "emulator_test", "verify_test", "cudnn_backend_test")


class CannotStart(Exception):
    """Nothing can be run here; the message says why and what to do."""


@dataclass(frozen=True)
class Place:
    """The programs of one bundle or build."""

    program: Path
    tests: tuple[Path, ...]
    configs: Path


def find_place(home: Path, build: bool) -> Place:
    """Find the bundle or checkout that `home`, the folder of gpu-check, belongs to.

    A checkout is used as it was built: a node with a GPU often lacks what building needs, and its time is
    dear. With `build` it is built first.

    Raises:
        CannotStart: there is no built program.

    """
    if (home / "bin" / "convscope").exists():
        tests = [home / "bin" / "tests" / name for name in TESTS]
        return Place(home / "bin" / "convscope", tuple(t for t in tests if t.exists()), home / "configs")
    root = home.parent
    if build and subprocess.run([root / "scripts" / "build", "release"], check=False).returncode != 0:
        raise CannotStart("building failed; the message is above")
    program = root / "build" / "convscope"
    if not program.exists():
        raise CannotStart(
            f"{program} is not there: build it with `scripts/build release` or gpu-check --build, or carry "
            "the folder that `scripts/bundle` makes to this machine"
        )
    found = {path.name: path for path in sorted((root / "build").rglob("*_test")) if path.is_file()}
    return Place(program, tuple(found[name] for name in TESTS if name in found), root / "configs")


def find_tool(name: str) -> str | None:
    """Find a program of NVIDIA's, on PATH or in the toolkit's usual place."""
    return shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")
