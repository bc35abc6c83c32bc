"""scripts/import-gpu-check with the real convscope-report: an archive becomes kept runs, tables and verdicts.

The archive is of a check on the stand-in, whose device gets a name and times that nobody measured.
"""

import json
import lzma
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from gpu_check_support import Bundle, rows_of
from report_support import scale
from test_gpu_check_standin import settle_standin

from gpu_check import archive, cli, state

GPU = "Made-up GPU"
GET = "cudnn.get.cuda"
# Of conv3 in algorithms/predictions.csv: 0.79 ms, 0.8 ms, 40% of the ceiling of FFMA.
FIRST, TIMED, SHARE = "winograd.f2x2_3x3.fused.cuda", "winograd.f4x4_3x3.fused.cuda", "direct.tiled.cuda"
MILLISECONDS = {FIRST: 0.8, TIMED: 2.4, SHARE: 1.0, GET: 0.9}
FEW = f"""
from gpu_check import plan
whole = plan.stages_of
plan.OURS, plan.CUDNN = "{FIRST},{TIMED},{SHARE}", "{GET}"
cli.stages_of = lambda place: [s for s in whole(place) if s.name in ("alexnet-forward", "alexnet-aa")]
"""


def make_real(results):
    """Give a run of the stand-in the name and the times of a GPU that does not exist."""
    document = json.loads(results.read_text(encoding="utf-8"))
    for record in document["records"]:
        record["device"] |= {"name": GPU, "machine_class": "made-up-gpu-00000000"}
        if record["outcome"] != "measured":
            continue
        record["health"] |= {"throttled": False, "disturbed": False}
        wanted = MILLISECONDS[record["key"]["algorithm"]] * 1e-3
        scale(record, {"gflops_nominal": ""}, wanted / record["time"]["full"]["median_seconds"])
        record["ceilings"] |= {"fma_flops": 1e15}  # of which these tiny layers reach nothing
    results.write_text(json.dumps(document), encoding="utf-8")


@pytest.fixture(scope="module")
def made_up(root, convscope, tmp_path_factory):
    """The archive of a check whose runs are said to be a real GPU's."""
    folder = tmp_path_factory.mktemp("made_up")
    bundle = Bundle(root, folder / "bundle")
    environment = settle_standin(bundle, convscope, folder)
    bundle.setup = FEW
    check = folder / "check"
    run = bundle.check(check, environment=environment, timeout=300)
    assert run.returncode == cli.GOOD, run.stdout + run.stderr
    assert {row.outcome for row in rows_of(check)["alexnet-forward"]} == {"measured"}
    for results in sorted((check / "runs").glob("*/results.json")):
        make_real(results)
    shutil.rmtree(check / archive.PARTS)
    done = state.load(check)
    done.device = GPU
    file = folder / "check.tar.xz"
    state.save(done, check)
    assert archive.write_archive(file, check, done, list(done.stages)) == []
    shutil.rmtree(check)
    return file


@pytest.fixture
def kept_archive(made_up, tmp_path):
    """A copy of it, beside which a report may be written."""
    return Path(shutil.copy(made_up, tmp_path))


@pytest.fixture(scope="module")
def empty(root, convscope, tmp_path_factory):
    """A checkout that has the program under test as the one that was built, and no run kept."""
    folder = tmp_path_factory.mktemp("empty") / "checkout"
    for name in ("scripts/import-gpu-check", "scripts/convscope-report", "algorithms/predictions.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, folder / name)
    for name in ("gpu_check", "convscope_report"):
        shutil.copytree(
            root / "scripts" / name, folder / "scripts" / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    (folder / "configs").symlink_to(root / "configs")
    (folder / "build").mkdir()
    (folder / "build" / "convscope").symlink_to(convscope)
    return folder


@pytest.fixture(scope="module")
def imported(empty, made_up, tmp_path_factory):
    """A copy of the archive, the checkout into which it was imported, and what that said."""
    folder = tmp_path_factory.mktemp("imported")
    file = Path(shutil.copy(made_up, folder))
    checkout = shutil.copytree(empty, folder / "checkout", symlinks=True)
    return file, checkout, call(checkout, "import-gpu-check", file)


@pytest.fixture
def checkout(imported, tmp_path):
    """A checkout that has imported the archive."""
    return shutil.copytree(imported[1], tmp_path / "checkout", symlinks=True)


def call(checkout, script, *arguments):
    # Both scripts ask for a python3 that has what the report needs.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = [checkout / "scripts" / script, *arguments]
    return subprocess.run(
        command, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=300, check=False
    )


def change_runs(packed, change, check):
    """Change the text of every run in an archive."""
    archive.unpack(packed, check)
    for results in sorted((check / "runs").glob("*/results.json")):
        results.write_text(change(results.read_text(encoding="utf-8")))
    done = state.load(check)
    archive.write_archive(packed, check, done, list(done.stages))


def test_an_archive_becomes_kept_runs_tables_a_comparison_and_verdicts(imported):
    file, checkout, run = imported
    assert (run.returncode, run.stderr) == (0, "")
    kept = checkout / "results" / "made-up-gpu"
    assert [file.name for file in sorted(kept.iterdir())] == ["alexnet-aa.json.xz", "alexnet-forward.json.xz"]
    checked = call(checkout, "convscope-report", "index", "--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    index = (checkout / "results" / "index.csv").read_text(encoding="utf-8")
    assert index.count(GPU) == 2

    out = file.with_name("check-report")
    for stage in ("alexnet-forward", "alexnet-aa"):
        for table in ("layers", "accuracy"):
            text = (out / f"{stage}-{table}.txt").read_text(encoding="utf-8")
            assert FIRST.removesuffix(".cuda") in text, f"{stage}-{table}"
    assert "0.8" in (out / "alexnet-forward-layers.txt").read_text(encoding="utf-8")
    compared = (out / "alexnet-compare.txt").read_text(encoding="utf-8")
    assert all(name.removesuffix(".cuda") in compared for name in MILLISECONDS)
    assert f"{GPU}; cuDNN" not in run.stdout  # of the summary, which keeps what the check said
    assert "stand-in" in (out / "summary.txt").read_text(encoding="utf-8")

    verdicts = (out / "predictions.txt").read_text(encoding="utf-8").splitlines()
    assert verdicts[0].endswith(f"this is {GPU}")

    def verdict(algorithm, layer="conv3"):
        [line] = [
            line for line in verdicts if line.startswith(f"{algorithm} ") and f" {layer} " in line
            and " forward " in line
        ]  # fmt: skip
        return line.split("fp32", 1)[1]

    assert verdict(TIMED).split() == ["0.8", "ms", "2.400", "ms", "+200%", "on", "another", "GPU"]
    assert verdict(SHARE).endswith("WRONG: -100%")
    assert verdict("fft16.cuda", "conv4").endswith("-  not run")
    assert verdicts[-1].startswith("1 of 1 predictions were wrong; 2 are times on another GPU; ")
    assert "2 runs kept in" in run.stdout


def test_a_later_archive_takes_the_place_of_an_earlier_one(checkout, kept_archive, tmp_path):
    started = re.compile(r'"started": *"\d{4}')
    change_runs(kept_archive, lambda text: started.sub('"started": "2999', text), tmp_path / "later")
    run = call(checkout, "import-gpu-check", kept_archive)
    assert (run.returncode, run.stderr) == (0, "")
    assert "2 runs kept in" in run.stdout
    index = (checkout / "results" / "index.csv").read_text(encoding="utf-8")
    assert index.count(GPU) == index.count(",2999-") == 2
    for file in (checkout / "results" / "made-up-gpu").iterdir():
        assert started.search(lzma.decompress(file.read_bytes()).decode())[0].endswith('"2999')


def test_what_a_hot_gpu_measured_takes_no_good_runs_place(checkout, kept_archive, tmp_path):
    kept = checkout / "results" / "made-up-gpu" / "alexnet-forward.json.xz"
    good = kept.read_bytes()
    hot = re.compile(r'"throttled": *false')
    change_runs(kept_archive, lambda text: hot.sub('"throttled": true', text), tmp_path / "hot")
    run = call(checkout, "import-gpu-check", kept_archive)
    assert run.returncode == 1
    assert "not kept: alexnet-forward: the GPU was throttled in" in run.stdout
    assert "nothing was kept" in run.stderr
    assert kept.read_bytes() == good


def test_an_archive_of_virtual_time_is_not_kept(empty, kept_archive, tmp_path):
    change_runs(kept_archive, lambda text: text.replace(GPU, f"{GPU} (virtual time)"), tmp_path / "virtual")
    run = call(empty, "import-gpu-check", kept_archive)
    assert run.returncode == 1
    assert "nothing was kept" in run.stderr
    assert "time is virtual" in run.stderr
    assert not list((empty / "results").glob("*/*.json.xz"))
