"""What the user gets when the device fails, by errors that stay or pass or a kernel that hangs; two devices.

On the stand-in for the CUDA runtime, whose kernels load at their first launch as NVIDIA's do.
"""

import json
import re
from collections import Counter

import pytest
from standin_support import (  # noqa: F401  (some are fixtures)
    QUICK,
    TINY,
    few,
    lost_device_codes,
    play_fixture,
    program_fixture,
    rows_of,
    started_fixture,
)

# Short enough that several runs are one sample.
FOUR_PIXELS = {"name": "four", "in_channels": 1, "input": [2, 2], "out_channels": 1, "filter": 3, "pad": 1}
TILED, SIMT = "direct.tiled.cuda", "implicit_gemm.simt.cuda"


@pytest.fixture
def measured(play, tmp_path):
    """Return a function that measures two algorithms; it returns exit code, output and records."""

    def run(*faults, layers=1, more=(), devices="cuda", settings=None):
        config = tmp_path / "tiny.json"
        first = TINY["layers"][0]
        several = [first | {"name": f"layer{n}", "input": [7 + n, 6]} for n in range(layers)]
        config.write_text(json.dumps(TINY | {"layers": several}))
        said = QUICK | {"launch_nanoseconds": 300_000, "faults": list(faults)} | (settings or {})
        out = tmp_path / "out"
        chosen = ("--device", devices, "--pass", "forward", "--algorithm", f"{TILED},{SIMT}")
        code, words = play(said, "run", config, *chosen, "--out", out, *more)
        return code, words, rows_of(out) if (out / "results.csv").is_file() else []

    return run


def outcomes(rows):
    """Return how often each algorithm ended in each way."""
    return Counter((row["algorithm"], row["outcome"]) for row in rows)


def test_all_errors_that_end_a_context_are_played():
    assert len(lost_device_codes()) == 18


@pytest.mark.parametrize(("name", "code"), lost_device_codes().items())
def test_an_error_that_stays_costs_its_own_row_only(measured, name, code):
    exit_code, said, rows = measured({"kernel": "tiled", "at": 0, "error": code})
    assert exit_code == 1, said
    assert outcomes(rows) == {(TILED, "crashed"): 1, (SIMT, "measured"): 1}
    [crashed] = [row for row in rows if row["algorithm"] == TILED]
    assert name in crashed["note"]


@pytest.mark.parametrize("at", [2, 9])
def test_an_error_that_stays_while_the_kernel_is_timed_costs_its_own_row_only(measured, at):
    # So long that the samples are as many on a busy machine.
    long = ("--time-limit", "2")
    exit_code, said, rows = measured({"kernel": "tiled", "at": at, "error": 719}, more=long)
    assert exit_code == 1, said
    assert outcomes(rows) == {(TILED, "crashed"): 1, (SIMT, "measured"): 1}


@pytest.mark.parametrize("call", ["cudaSetDevice", "cudaStreamCreateWithFlags"])
def test_an_error_that_passes_is_tried_again_and_costs_nothing(measured, tmp_path, call):
    once = tmp_path / "once"
    once.touch()
    code, said, rows = measured({"call": call, "at": 0, "error": 46, "once_file": str(once)})
    assert not once.exists(), "the error was never played"
    assert code == 0, said
    assert outcomes(rows) == {(TILED, "measured"): 1, (SIMT, "measured"): 1}


def test_an_error_of_one_launch_costs_its_own_row_only(measured):
    code, said, rows = measured({"call": "cudaLaunchKernelExC", "at": 3, "error": 701})
    assert code == 1, said
    assert sorted(row["outcome"] for row in rows) == ["failed", "measured"]
    [failed] = [row for row in rows if row["outcome"] == "failed"]
    assert "cudaErrorLaunchOutOfResources" in failed["note"]


def test_a_kernel_that_hangs_costs_its_limit_twice_and_then_nothing(measured):
    hang = {"kernel": "tiled", "at": 0, "hangs": True}
    code, said, rows = measured(hang, layers=3, more=("--stage-limit", "8"))
    assert code == 1, said
    assert outcomes(rows) == {(TILED, "timeout"): 2, (TILED, "unsupported"): 1, (SIMT, "measured"): 3}
    assert {row["reason"] for row in rows if row["outcome"] == "unsupported"} == {"left_out_after_failures"}


def test_two_devices_are_listed_measured_one_after_the_other_and_told_apart(measured, play):
    two = {"devices": 2}
    code, said, rows = measured(devices="cuda:0,cuda:1", settings=two)
    assert code == 0, said
    assert outcomes(rows) == {(TILED, "measured"): 2, (SIMT, "measured"): 2}
    assert re.search(r"\(h200-stand-in-virtual-time-sm_90-[0-9a-f]{8}, cuda:1\)", said), said
    code, said = play(two, "list", "devices")
    assert code == 0
    assert "cuda:1" in said


def test_an_error_of_one_kernel_leaves_the_other_rows_of_both_devices(measured):
    fault = {"kernel": "tiled", "at": 0, "error": 700}
    code, said, rows = measured(fault, devices="cuda:0,cuda:1", settings={"devices": 2})
    assert code == 1, said
    assert outcomes(rows) == {(TILED, "crashed"): 2, (SIMT, "measured"): 2}


def test_a_device_that_is_not_there_is_refused_with_those_that_are(measured):
    code, said, rows = measured(devices="cuda:2", settings={"devices": 2})
    assert code == 2
    assert "this machine has 2 CUDA devices: cuda:0" in said
    assert rows == []


def test_no_event_is_created_while_work_is_held_back(play, tmp_path):
    config, out = tmp_path / "one.json", tmp_path / "out"
    config.write_text(json.dumps(TINY | {"layers": [FOUR_PIXELS]}))
    # As short as several runs to a sample need: each launch takes the host, whose time is real, far longer.
    settings = QUICK | {"launch_nanoseconds": 10_000, "events_need_idle": True}
    # Time for a second run of the warm-up, also on a busy machine: the first one is not held back.
    patient = ("--time-limit", "2", "--stage-limit", "120")
    chosen = few(out, "--algorithm", "im2col_gemm.cuda", "--cache", "hot", *patient)
    code, said = play(settings, "run", config, *chosen)
    assert code == 0, said
    [record] = json.loads((out / "results.json").read_text())["records"]
    assert record["outcome"] == "measured", record["note"]
    # Events between the phases of several runs are the most that a sample has.
    assert record["time"]["phase_seconds"]["transform"] > 0
    assert record["time"]["iterations_per_sample"] > 1
