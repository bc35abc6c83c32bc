"""gpu-check with the program itself and stand-ins for the CUDA runtime and NVIDIA's libraries: the whole
rehearsal.

Kernels run as PTX in virtual time, but for those that only keep a GPU busy, which do nothing.
"""

import contextlib
import json
import re
import shutil
import sys
import tarfile
from pathlib import Path

import pytest
from gpu_check_support import CORE_RUNS, Bundle, rows_of, summary_of
from standin_support import QUICK

from gpu_check import archive, cli, plan, records, state, summary

NVIDIA_SMI = """#!/bin/sh
[ "$*" = -q ] && echo "Driver Version : 580.65.06"
"""
# Runs a program as NVIDIA's does and writes down with which flags, and which processes the program starts.
COMPUTE_SANITIZER = """#!{python}
import json, subprocess, sys, time
from pathlib import Path

words, flags, started = sys.argv[1:], {{}}, set()
while words and words[0].startswith("--"):
    flags[words[0]], words = words[1], words[2:]
print("========= COMPUTE-SANITIZER", flush=True)
program = subprocess.Popen(words)
while program.poll() is None:
    for task in Path(f"/proc/{{program.pid}}/task").glob("*/children"):
        try:
            started |= set(task.read_text().split())
        except OSError:
            pass
    time.sleep(0.02)
called = {{"flags": flags, "words": words, "started": len(started)}}
Path(f"{calls}-" + flags["--tool"]).write_text(json.dumps(called))
print("========= ERROR SUMMARY: 0 errors")
sys.exit(program.returncode)
"""
SANITIZERS = ("memcheck", "racecheck", "synccheck", "initcheck")
# Python that a check begins with. fft32's kernels would take half of the time, and the sanitizers' stages
# again that of the smoke stage; tests of verification have them.
SETUP = f"""
from gpu_check import plan
plan.OURS = "{plan.OURS.replace("fft*", "fft16*,fft.full*")}"
plan.STEP_SECONDS = "0.1"
def _less(name, stage):
    words = ("direct.tiled.cuda,implicit_gemm.simt.cuda" if w == plan.OURS else w for w in stage.command)
    return dataclasses.replace(stage, command=tuple(words)) if name.startswith("sanitizer") else stage
import dataclasses
whole = plan.stages_of
cli.stages_of = lambda place: [_less(stage.name, stage) for stage in whole(place)]
"""
LAYERS = [{"name": "conv3", "in_channels": 8, "input": [7, 7], "out_channels": 8, "filter": 3, "pad": 1}]


def settle_standin(bundle, convscope, folder):
    """Make a bundle's program the stand-in's, with tiny configs; returns the environment that it runs in."""
    program, libraries = convscope.with_name("convscope_standin"), convscope.parent / "standin_libraries"
    if not program.is_file() or not (libraries / "libcudnn.so.9").is_file():
        pytest.skip(f"{program} or its libraries are not built")
    shutil.copy(program, bundle.program)
    for name in ("alexnet", "vgg_16", "resnet_50", "smoke"):
        samples = {"min_samples": 2, "max_samples": 2}
        config = {"name": name, "batch": {"cuda": 2}, "measuring": samples, "layers": LAYERS}
        (bundle.folder / "configs" / f"{name}.json").write_text(json.dumps(config))
    settings = folder / "standin.json"
    said = QUICK | {"lazy_loading": False, "launch_nanoseconds": 60_000_000}
    settings.write_text(json.dumps(said))
    return {"LD_LIBRARY_PATH": str(libraries), "CONVSCOPE_STANDIN": str(settings)}


@pytest.fixture
def node(root, convscope, tmp_path):
    """A bundle whose program is the stand-in's, and the environment that it runs in."""
    bundle = Bundle(root, tmp_path / "bundle")
    return bundle, settle_standin(bundle, convscope, tmp_path)


# Every fourth of its tests, with the stand-in as it is without settings.
DEVICE_TEST = """#!/bin/sh
unset CONVSCOPE_STANDIN
GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=0 exec {program} "$@"
"""


def settle_device_test(bundle, convscope):
    """Make a bundle's device test a real one, on the stand-in, where there is such; returns its name."""
    program = convscope.parent / "bench" / "emulator" / "emulator_test_standin"
    if not program.is_file():
        return "verify_test"
    bundle.test(DEVICE_TEST.format(program=program))
    tests = bundle.folder / "bin" / "tests"
    (tests / "verify_test").rename(tests / "emulator_test")
    return "emulator_test"


def names_in(archive_file):
    with tarfile.open(archive_file) as tar:
        return set(tar.getnames())


def rows_in(archive_file, name, folder):
    """The records of a run that an archive holds."""
    with tarfile.open(archive_file) as tar:
        for file in ("results.json", "journal.jsonl"):
            with contextlib.suppress(KeyError):
                (folder / name).mkdir(parents=True, exist_ok=True)
                (folder / name / file).write_bytes(tar.extractfile(f"check/runs/{name}/{file}").read())
    return records.read_records(folder / name)


def expect_the_first_call(bundle, environment, tmp_path, device_test):
    """Nothing comes before AlexNet's passes but what shows that the device works; the archive has them."""
    first = bundle.check(tmp_path / "check", "--minutes", "1", environment=environment, timeout=120)
    assert first.returncode in (cli.GOOD, cli.TIME_IS_UP), first.stdout + first.stderr
    begun = re.findall(r"^(\S+): at most", first.stdout, re.MULTILINE)
    # A busy machine ends the minute sooner.
    order = ["info", "nvidia-smi", device_test, "smoke", *CORE_RUNS]
    assert begun[: len(order)] == order[: len(begun)]
    core = [name for name in CORE_RUNS if name in begun]
    done = state.load(tmp_path / "check")
    for name in core:
        rows = rows_in(tmp_path / "check.tar.xz", name, tmp_path / "first")
        assert len(rows) == len(rows_of(tmp_path / "check")[name]), name
        measured = {row.provider for row in rows if row.seconds}
        # A busy machine may cut it before.
        assert done.stages[name].status == "unfinished" or {"convscope", "cudnn"} <= measured, name


def expected(device_test):
    """The status of each stage, by its name."""
    place = plan.Place("p", (Path(device_test),), "c")
    return {stage.name: "left out" if stage.gpus > 1 else "passed" for stage in plan.stages_of(place)}


def expect_the_sanitizers(calls, rows):
    """Each ran the program; the candidates have processes of their own, which the tool is told to follow."""
    for tool in SANITIZERS:
        called = json.loads(calls.with_name(f"{calls.name}-{tool}").read_text())
        assert called["flags"] == {"--tool": tool, "--target-processes": "all", "--error-exitcode": "1"}
        assert "--isolate" not in called["words"]
        assert called["started"] > 1
        verified = [row for row in rows[f"sanitizer-{tool}"] if row.outcome == "verified_only"]
        assert {row.algorithm for row in verified} == {"direct.tiled.cuda", "implicit_gemm.simt.cuda"}


def test_all_stages_of_the_real_program_end_with_rows_an_archive_and_a_summary(node, convscope, tmp_path):
    bundle, environment = node
    bundle.setup = SETUP
    bundle.tool("nvidia-smi", NVIDIA_SMI)
    bundle.tool(
        "compute-sanitizer", COMPUTE_SANITIZER.format(python=sys.executable, calls=tmp_path / "sanitized")
    )
    device_test = settle_device_test(bundle, convscope)
    expect_the_first_call(bundle, environment, tmp_path, device_test)
    run = bundle.check("--resume", tmp_path / "check", environment=environment, timeout=600)
    done = state.load(tmp_path / "check")
    ends = {name: progress.status for name, progress in done.stages.items()}
    assert run.returncode == cli.GOOD, run.stdout + run.stderr
    assert ends == expected(device_test), ends
    lines = summary_of(run)
    assert len(lines) <= summary.LINES
    assert "DONE; all is good" in lines
    assert re.search(r"cuDNN 9\.\d+", lines[0])
    rows = rows_of(tmp_path / "check")
    assert {row.direction for row in rows["alexnet-backward-data"]} == {"backward_data"}
    for name in ("alexnet-forward", "alexnet-nhwc-bf16", "vgg-16"):
        providers = {row.provider for row in rows[name]}
        assert {"convscope", "cudnn"} <= providers, name
    assert any(row.seconds and row.provider == "convscope" for row in rows["alexnet-forward"])
    assert {row.algorithm for row in rows["alexnet-chwn"] if row.seconds} == {plan.CHWN}
    assert any(row.algorithm == "cudnn.autotune.cuda" for row in rows["alexnet-find"])
    assert any(row.algorithm.startswith("cudnn.engine.") for row in rows["alexnet-engines"])
    assert "answers" in json.loads((tmp_path / "check" / "cudnn-answers.json").read_text())
    assert "Driver Version" in (tmp_path / "check" / "logs" / "nvidia-smi.log").read_text()
    expect_the_sanitizers(tmp_path / "sanitized", rows)
    kept = tmp_path / "check.tar.xz"
    assert kept.stat().st_size <= archive.LIMIT_BYTES
    own = {"operations": "operations.json", "step": "tasks.json"}
    assert {f"check/runs/{name}/{own.get(name, 'results.json')}" for name in rows} <= names_in(kept)
