"""Options and fixtures shared by the Python tests: where the program under test is."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))  # the package convscope_report


def pytest_addoption(parser):
    parser.addoption(
        "--convscope",
        default=str(ROOT / "build" / "convscope"),
        help="the built program (default: build/convscope)",
    )
    parser.addoption(
        "--regenerate", action="store_true", help="write golden files anew instead of comparing with them"
    )


def pytest_configure(config):
    """Where convscope-report is not told a program, it asks the one under test, whatever is in build/."""
    from convscope_report import program

    program.BUILT = Path(config.getoption("--convscope")).resolve()


@pytest.fixture(autouse=True)
def wide_lines(monkeypatch):
    """Tables are as on a very wide terminal, whatever terminal the tests run on."""
    monkeypatch.setenv("COLUMNS", "222")


@pytest.fixture(scope="session")
def convscope(request) -> Path:
    """The program's path."""
    program = Path(request.config.getoption("--convscope")).resolve()
    assert program.is_file(), f"{program} is not built; pass --convscope PATH"
    return program


@pytest.fixture(scope="session")
def faulty(convscope: Path) -> Path:
    """The program with algorithms that crash or hang."""
    return convscope.parent / "bench" / "cli" / "convscope_faulty"


@pytest.fixture(scope="session")
def regenerate(request) -> bool:
    """Whether golden files are to be written."""
    return request.config.getoption("--regenerate")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def run_convscope(convscope):
    """Runs the program with the given arguments; returns its subprocess.CompletedProcess, output as text."""

    def run(*arguments):
        command = [str(convscope), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)

    return run


@pytest.fixture(scope="session")
def algorithms(run_convscope):
    """What `list algorithms --json` says, those left out that this machine lacks or that need a GPU."""
    listing = run_convscope("list", "algorithms", "--json")
    assert listing.returncode == 0, listing.stderr
    return [
        entry
        for entry in json.loads(listing.stdout)
        if entry["refusal"] is None and (entry["device"] == "cpu" or entry["emulated"])
    ]


SMALL_CONFIG = {
    "name": "two <layers> & more",
    "layers": [
        {
            "name": "a",
            "in_channels": 8,
            "input": [12, 12],
            "out_channels": 16,
            "filter": 3,
            "pad": 1,
            "count": 2,
        },
        {"name": "b", "in_channels": 16, "input": [9, 9], "out_channels": 8, "filter": 1},
    ],
}


@pytest.fixture(scope="session")
def small_results(tmp_path_factory, run_convscope):
    """A folder of results: two tiny layers, two batches, three passes, our rows and refused ones."""
    folder = tmp_path_factory.mktemp("small")
    config = folder / "config.json"
    config.write_text(json.dumps(SMALL_CONFIG))
    out = folder / "out"
    run = run_convscope(
        "run", config, "--batch", "1,2", "--threads", "1",
        "--algorithm", "direct.cpu,im2col_gemm.cpu,winograd.f2x2*",
        "--time-limit", "0.05", "--min-samples", "6", "--max-samples", "6", "--isolate", "off", "--out", out
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return out


@pytest.fixture
def bench(root, tmp_path):
    """Calls scripts/bench in a copy whose programs only print how they were called: exit code and lines.

    `code` is the run's, `failing` the beginning of the arguments with which convscope-report fails; the error
    output must be `said`. The line of `convscope calibrate` is left out unless `all_lines` are asked for.
    The caller stands in the copy, or in the folder `cwd`. Of flags that are `wrong` a dry run ends with 2.
    """
    (tmp_path / "scripts").mkdir()
    (tmp_path / "build").mkdir()
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "vgg_16.json").touch()
    shutil.copy(root / "scripts" / "bench", tmp_path / "scripts")
    for name in ("setup", "build"):
        stand_in(tmp_path / "scripts" / name, 0)

    def call(*arguments, code=0, failing="nothing", said="", all_lines=False, cwd=tmp_path, wrong=False):
        cases = f"calibrate*) exit 0 ;; *--dry-run) exit {2 if wrong else 0} ;;"
        stand_in(tmp_path / "build" / "convscope", code, cases=cases)
        stand_in(tmp_path / "scripts" / "convscope-report", 0, failing)
        command = [tmp_path / "scripts" / "bench", *arguments]
        run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=30, check=False)
        assert run.stderr == said
        lines = run.stdout.splitlines()
        return run.returncode, lines if all_lines else [line for line in lines if line != CALIBRATE]

    return call


CALIBRATE = "convscope calibrate --if-unknown"


def stand_in(path, code, failing="nothing", cases=""):
    cases = f'"{failing}"*) exit 2 ;; {cases}'
    path.write_text(f'#!/bin/sh\necho "${{0##*/}} $*"\ncase "$*" in {cases} esac\nexit {code}\n')
    path.chmod(0o755)


@pytest.fixture
def mpirun(convscope):
    """A function that runs convscope on so many ranks."""
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun (Debian: apt install libopenmpi-dev)")
    if not (convscope.parent / "convscope_mpi.so").exists():
        pytest.skip("convscope was built without MPI")
    # Open MPI refuses root and more ranks than cores unless told otherwise, as containers and two cores need.
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def start(ranks, *words, core=None):
        """All ranks on one core where it is given; mpirun would give each its own."""
        placed = [] if core is None else ["--bind-to", "none"]
        command = ["mpirun", "-np", ranks, "--oversubscribe", *placed, convscope, *words]
        if core is not None:
            command = ["taskset", "-c", core, *command]
        return subprocess.Popen(
            list(map(str, command)),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(*words, **more):
        process = start(*words, **more)
        try:
            output = process.communicate(timeout=120)
        finally:
            process.kill()
        return subprocess.CompletedProcess(process.args, process.returncode, *output)

    run.start = start
    return run
