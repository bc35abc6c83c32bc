"""gpu-check rehearsed with faults of the device, the driver and the libraries, played by their stand-ins.

Whatever the fault, a call ends with a summary and an archive, or says why it cannot start. Two passes of one
layer and a few algorithms stand for all stages; test_gpu_check_standin.py runs all.
"""

import json
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from gpu_check_support import rows_of, summary_of
from standin_support import lost_device_codes
from test_gpu_check_standin import node  # noqa: F401  (a fixture)

from gpu_check import cli, summary

TILED, SIMT, GET, HEURISTIC = (
    "direct.tiled.cuda", "implicit_gemm.simt.cuda", "cudnn.get.cuda", "cudnn.heur_a.cuda",
)  # fmt: skip
# Python that a check begins with. The limit, in seconds, is what a hang costs.
FEW = """
from gpu_check import plan, work
whole = plan.stages_of
plan.OURS, plan.CUDNN = "{ours}", "{cudnn}"
cli.stages_of = lambda place: [s for s in whole(place) if s.name in {stages}]
work.CANDIDATE_LIMIT = {limit}
"""
PASSES = ("alexnet-forward", "alexnet-backward-data")


@pytest.fixture
def rehearsal(node, tmp_path):  # noqa: F811
    """A function that runs a check with faults; it returns the process and each algorithm's outcomes."""
    bundle, environment = node
    settings = tmp_path / "standin.json"

    def rehearse(changes, script=None, ours=f"{TILED},{SIMT}", stages=PASSES, limit=30):
        bundle.setup = FEW.format(ours=ours, cudnn=f"{GET},{HEURISTIC}", stages=stages, limit=limit)
        settings.write_text(json.dumps(json.loads(settings.read_text()) | changes))
        if script is not None:
            path = tmp_path / "libraries.json"
            path.write_text(json.dumps(script))
            environment["CONVSCOPE_STANDIN_LIBRARIES"] = str(path)
        out = tmp_path / "check"
        run = bundle.check(out, "--minutes", "5", environment=environment, timeout=400)
        if run.returncode == cli.CANNOT:
            return run, {}
        lines = summary_of(run)
        assert len(lines) <= summary.LINES
        assert lines[-2].startswith("DONE; "), run.stdout + run.stderr
        assert lines[-1].startswith("archive: ")
        assert (tmp_path / "check.tar.xz").is_file()
        found = {}
        for rows in rows_of(out).values():
            for row in rows:
                found.setdefault(row.algorithm, set()).add(row.outcome)
        return run, found

    return rehearse


def test_every_error_that_ends_a_context_costs_the_record_that_met_it(rehearsal, tmp_path):
    faults = []
    for code in lost_device_codes().values():
        once = tmp_path / f"error{code}"
        once.touch()
        faults.append({"kernel": "convscope", "at": 0, "error": code, "once_file": str(once)})
    many = "direct.tiled*,implicit_gemm.simt*,im2col_gemm.cuda,fft16*,winograd.f4x4_3x3*,winograd.m*"
    run, found = rehearsal({"faults": faults}, ours=many, stages=(*PASSES, "alexnet-backward-filter"))
    assert run.returncode == cli.BAD
    assert [fault["error"] for fault in faults if Path(fault["once_file"]).exists()] == []
    outcomes = {outcome for outcomes in found.values() for outcome in outcomes}
    assert outcomes - {"unsupported"} == {"crashed", "measured"}


@pytest.mark.parametrize("once", [True, False])
def test_a_transient_error_is_tried_again_and_otherwise_told(rehearsal, tmp_path, once):
    fault = {"call": "cudaEventRecord", "at": 5, "error": 46}
    if once:
        fault["once_file"] = str(tmp_path / "once")
        (tmp_path / "once").touch()
    run, found = rehearsal({"faults": [fault]})
    outcome = "measured" if once else "failed"
    assert run.returncode == (cli.GOOD if once else cli.BAD)
    assert found == {name: {outcome} for name in (TILED, SIMT, GET, HEURISTIC)}


def test_a_kernel_that_hangs_costs_its_record_the_limit(rehearsal):
    run, found = rehearsal({"faults": [{"kernel": "tiled", "at": 0, "hangs": True}]}, limit=6)
    assert run.returncode == cli.BAD
    assert found[TILED] == {"timeout"}
    assert "timeout     2 direct.tiled.cuda" in run.stdout
    assert "measured" in found[SIMT] | found[GET]


def test_a_library_call_that_hangs_costs_its_record_the_limit(rehearsal):
    script = {"calls": [{"call": "cudnnConvolutionForward", "at": 1, "hangs": True}]}
    run, found = rehearsal({}, script, stages=PASSES[:1], limit=6)
    assert run.returncode == cli.BAD
    assert "timeout" in found[GET]
    assert "measured" in found[SIMT] | found[TILED]


# Every allocation of a process; its fifth, which some algorithms make and others do not.
@pytest.mark.parametrize("at", [0, 5])
def test_memory_that_ends_at_any_allocation_is_no_failure_of_a_record(rehearsal, at):
    run, found = rehearsal({"faults": [{"call": "cudaMalloc", "at": at, "error": 2}]})
    outcomes = {outcome for outcomes in found.values() for outcome in outcomes}
    if at != 0:
        assert run.returncode == cli.GOOD
        assert outcomes == {"out_of_memory", "measured"}
        return
    assert run.returncode == cli.BAD
    assert outcomes == {"out_of_memory"}
    assert "every record ran out of memory" in run.stdout


def test_a_launch_queue_that_is_full_holds_no_record_up(rehearsal):
    run, found = rehearsal({"queue_entries": 4}, stages=PASSES[:1])
    assert run.returncode == cli.GOOD
    assert found == {name: {"measured"} for name in (TILED, SIMT, GET, HEURISTIC)}


def test_a_device_that_is_lost_at_every_kernel_leaves_a_summary_without_times(rehearsal):
    run, found = rehearsal({"faults": [{"kernel": "convscope", "at": 0, "error": 700}]})
    assert run.returncode == cli.BAD
    assert {outcome for outcomes in found.values() for outcome in outcomes} == {"crashed"}


def test_a_stage_fails_whose_gpu_was_too_hot(rehearsal):
    run, found = rehearsal({}, {"nvml": {"reasons": [0x24], "temperature_c": [92]}}, stages=PASSES[:1])
    assert found[SIMT] == found[GET] == {"measured"}
    assert run.returncode == cli.BAD
    [line] = [line for line in run.stdout.splitlines() if line.startswith("failed ")]
    of_all = re.search(
        r"the GPU was throttled in (\d+) of (\d+) measured records, most by power cap, hot", line
    )
    assert of_all and of_all[1] == of_all[2]


def test_a_library_that_loses_the_device_costs_its_own_record(rehearsal):
    fault = {"status": "CUDNN_STATUS_EXECUTION_FAILED", "loses_the_device": 700}
    run, found = rehearsal({}, {"calls": [{"call": "cudnnConvolutionForward", **fault}]})
    assert run.returncode == cli.BAD
    assert found[GET] == {"crashed", "measured"}
    assert found[SIMT] == found[TILED] == {"measured"}


def test_of_two_devices_the_first_is_checked(rehearsal):
    run, found = rehearsal({"devices": 2}, stages=PASSES[:1])
    assert run.returncode == cli.GOOD, run.stdout
    assert found[SIMT] == found[GET] == {"measured"}


def test_killed_at_random_points_and_resumed_it_ends_with_the_same_rows(node, tmp_path):  # noqa: F811
    bundle, environment = node
    bundle.setup = FEW.format(ours=f"{TILED},{SIMT}", cudnn=f"{GET},{HEURISTIC}", stages=PASSES, limit=30)
    # The records of a layer come all at once: several layers, so that kills fall between those of a run.
    file = bundle.folder / "configs" / "alexnet.json"
    config = json.loads(file.read_text())
    config["layers"] = [config["layers"][0] | {"name": f"conv{n}", "input": [n, 7]} for n in (5, 6, 7)]
    file.write_text(json.dumps(config))
    whole, out = tmp_path / "whole", tmp_path / "check"
    assert bundle.check(whole, environment=environment, timeout=300).returncode == cli.GOOD

    def rows(folder):
        return {
            name: [(row.direction, row.layer, row.algorithm, row.outcome) for row in of_run]
            for name, of_run in rows_of(folder).items()
        }

    def done():
        return sum(map(len, rows(out).values())) if (out / "runs").is_dir() else 0

    chance = random.Random(23)
    # How many records there are at least when it is killed: in the first run, between the two, in the second.
    for records in sorted(chance.choices(range(24), k=20)):
        arguments = ["--resume", out] if (out / "state.json").exists() else [out]
        process = subprocess.Popen(
            bundle.command(*arguments),
            env={"PATH": "/usr/bin:/bin", **environment},
            stdout=subprocess.PIPE,
            text=True,
        )
        process.stdout.readline()  # of its first stage
        while done() < records and process.poll() is None:
            time.sleep(0.02)
        time.sleep(chance.uniform(0, 0.3))
        process.kill()
        process.communicate()
        assert process.returncode in (-signal.SIGKILL, cli.GOOD)  # a fast one may have ended
    run = bundle.check("--resume", out, environment=environment, timeout=300)
    assert run.returncode == cli.GOOD, run.stdout + run.stderr
    assert rows(out) == rows(whole)
    assert sum(map(len, rows(whole).values())) == 24


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"devices": 0}, "the NVIDIA driver shows no device"),
        ({"driver": 0}, "there is no NVIDIA driver"),
        ({"driver": 11080}, "the NVIDIA driver is too old"),
    ],
)
def test_without_a_device_or_a_driver_it_says_why_it_cannot_start(rehearsal, tmp_path, changes, words):
    run, _ = rehearsal(changes)
    assert run.returncode == cli.CANNOT
    assert words in run.stderr
    assert not (tmp_path / "check").exists()
