"""For tests with the stand-in for the CUDA runtime: running that program with scripted libraries."""

import csv
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

TINY = {
    "name": "tiny",
    "batch": {"cuda": 2},
    "measuring": {"time_limit_s": 0.005, "min_samples": 3, "max_samples": 5},
    "layers": [
        {"name": "3x3", "in_channels": 4, "input": [7, 6], "out_channels": 8, "filter": 3, "pad": 1},
        {
            "name": "strided_grouped",
            "in_channels": 4,
            "input": [9, 7],
            "out_channels": 6,
            "filter": 3,
            "stride": 2,
            "pad": 1,
            "groups": 2,
        },
    ],
}

SMOKE = "configs/smoke.json"
REFUSED = {"unsupported", "over_workspace"}
# For modes that round, which take several times as long: the kinds of shape that their kernels tell apart.
ROUNDED = ("--layer", "1x1,3x3,3x3_s2,3x3_dilated_grouped")
# Settings with which a run takes little beside the kernels in question: those that only keep a GPU busy do
# nothing, and few copies of tiny tensors are more than the cache holds.
QUICK = {"skipped": ["multiply_add", "4copy", "4read", "7scatter"], "l2_bytes": 1 << 20}

# By what is in the names of rows, the library that they need.
LIBRARIES_OF_ROWS = {"cudnn.": "libcudnn.so.9", "cublas": "libcublas.so.13", "fft.full": "libcufft.so.12"}

SOURCES = Path(__file__).resolve().parents[2] / "bench"


def lost_device_codes():
    """Return {name: number} of the errors after which the program takes the device for lost."""
    names = re.findall(r"case (cudaError\w+):", (SOURCES / "device/cuda/check.cpp").read_text())
    listed = (SOURCES / "standin/error_list.hpp").read_text()
    numbers = dict(re.findall(r"X\((\w+), (\d+),", listed))
    return {name: int(numbers[name]) for name in names}


class StandIn:
    """The program `convscope_standin` beside the one under test, with the stand-in libraries on its path."""

    def __init__(self, convscope: Path, folder: Path):
        self.program = convscope.parent / "convscope_standin"
        self.libraries = convscope.parent / "standin_libraries"
        self.folder = folder
        self.runs = 0
        if not self.program.is_file() or not self.libraries.is_dir():
            pytest.skip("no convscope_standin or no libraries for it: no libzstd-dev, or sanitizers")
        self.config = folder / "tiny.json"
        self.config.write_text(json.dumps(TINY))
        self.one_layer = folder / "one_layer.json"
        self.one_layer.write_text(json.dumps(TINY | {"layers": TINY["layers"][:1]}))
        # A launch of ours is so long that one is a sample; their loading has tests of its own.
        said = QUICK | {"skipped": ["ceilings"], "lazy_loading": False, "launch_nanoseconds": 300_000}
        self.settings = folder / "standin.json"
        self.settings.write_text(json.dumps(said))
        self.lazily_loading = folder / "lazily_loading.json"
        self.lazily_loading.write_text(json.dumps(said | {"lazy_loading": True}))

    def library(self, name):
        """Return the path of a library; skip where the build has none."""
        path = self.libraries / name
        if not path.is_file():
            pytest.skip(f"this build has no stand-in for {name}: no headers of it")
        return path

    def run(self, verb, *arguments, script=None, config=None, lazy_loading=False):
        """Run a verb over a config on the device; return the process and the folder of its results."""
        for word, library in LIBRARIES_OF_ROWS.items():
            if any(word in str(argument) for argument in arguments):
                self.library(library)
        self.runs += 1
        out = self.folder / f"out{self.runs}"
        environment = os.environ | {
            "LD_LIBRARY_PATH": str(self.libraries),
            "CONVSCOPE_STANDIN": str(self.lazily_loading if lazy_loading else self.settings),
        }
        if script is not None:
            path = self.folder / f"script{self.runs}.json"
            path.write_text(json.dumps(script))
            environment["CONVSCOPE_STANDIN_LIBRARIES"] = str(path)
            if "missing" in script:
                environment["LD_PRELOAD"] = str(self.libraries / "libconvscope_loader.so")
        command = [self.program, verb, config or self.config, "--device", "cuda", "--out", out, *arguments]
        process = subprocess.run(
            [str(word) for word in command],
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        return process, out

    def rows(self, verb, *arguments, script=None, config=None):
        """Run a verb; return its records, each a dictionary."""
        process, out = self.run(verb, *arguments, script=script, config=config)
        assert (out / "results.json").is_file(), process.stdout + process.stderr
        return json.loads((out / "results.json").read_text())["records"]


@pytest.fixture(scope="module", name="standin")
def standin_fixture(convscope, tmp_path_factory):
    """Return the stand-in program, in a folder of its own; skip where it is not built."""
    return StandIn(convscope, tmp_path_factory.mktemp("standin"))


def of(records, algorithm):
    """Return the records of one algorithm."""
    return [record for record in records if record["key"]["algorithm"] == algorithm]


@pytest.fixture(scope="session", name="program")
def program_fixture(convscope):
    """Return the path of `convscope_standin`; skip where it is not built."""
    program = convscope.with_name("convscope_standin")
    if not program.is_file():
        pytest.skip("this build has no stand-in for the CUDA runtime: no libzstd-dev")
    return program


@pytest.fixture(name="started")
def started_fixture(program, root, tmp_path):
    """Return a function that starts the program with settings of the stand-in and returns the process."""

    def start(settings, *arguments):
        file = tmp_path / "standin.json"
        file.write_text(json.dumps(settings))
        environment = dict(os.environ, CONVSCOPE_STANDIN=str(file))
        command = [str(program), *map(str, arguments)]
        return subprocess.Popen(
            command,
            cwd=root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    return start


@pytest.fixture(name="play")
def play_fixture(started):
    """Return a function that runs the program to its end and returns the exit code and what it said."""

    def run(settings, *arguments):
        process = started(settings, *arguments)
        try:
            said = process.communicate(timeout=600)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return process.returncode, said

    return run


def rows_of(folder):
    """Return the rows of a result folder's table."""
    with (folder / "results.csv").open() as file:
        return list(csv.DictReader(file))


def few(out, *more):
    """Return arguments for eight layers in one mode; seconds."""
    return (
        "--device",
        "cuda",
        "--math",
        "fp32",
        "--layout",
        "nchw",
        "--pass",
        "forward",
        "--out",
        out,
        *more,
    )
