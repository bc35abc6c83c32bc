"""Other programs on a GPU, as NVML counts them: they are named, and mark the records that they disturb."""

import json
import subprocess
from pathlib import Path

import pytest
from standin_support import standin_fixture  # noqa: F401  (a fixture)

ONE = ("--algorithm", "direct.tiled.cuda", "--pass", "forward")
HOG = [5_000_042, 60]  # no process: Linux has no such id


@pytest.fixture(name="hog")
def hog_fixture():
    """The id of a process that is not one of the program's, nor has a file of NVIDIA's driver open."""
    with subprocess.Popen(["sleep", "600"]) as sleeping:
        yield sleeping.pid
        sleeping.kill()


def health(standin, processes, samples=100):
    """Of a record of two series; each sample takes 10 ms, a question for the clock."""
    enough = ("--min-samples", samples, "--max-samples", samples, "--time-limit", 20)
    script = {"nvml": {"processes": processes, "clock_milliseconds": 10}}
    [record] = standin.rows("run", *ONE, *enough, script=script, config=standin.one_layer)
    assert record["outcome"] == "measured"
    return record["health"]


def test_a_program_that_shares_the_gpu_disturbs_the_record_and_is_named(standin, hog):
    disturbed = health(standin, [[["self", 40], [hog, 60]]])
    assert disturbed["disturbed"]
    assert disturbed["lost_share"] == pytest.approx(0.6)
    assert disturbed["disturbed_by"] == f"other programs had the GPU for 60% of the time: pid {hog} 60%"


@pytest.mark.skipif(
    str(Path("/proc/self/ns/pid").readlink()) != "pid:[4026531836]",
    reason="process ids here are not the driver's",
)
def test_a_program_disturbs_a_record_that_is_measured_before_the_driver_counts_anew(standin, hog):
    """Ten samples take less than the quarter of a second after which the driver is asked again."""
    disturbed = health(standin, [[[hog, 99]]], samples=10)
    assert (disturbed["disturbed"], disturbed["lost_share"]) == (True, pytest.approx(0.99))
    quiet = health(standin, [[[5_000_042, 99]]], samples=10)  # the worker of the group before, say
    assert (quiet["disturbed"], quiet["lost_share"]) == (False, 0)


def test_ceilings_that_were_measured_beside_another_program_are_named(standin, hog):
    script = {"nvml": {"processes": [[["self", 1], [hog, 99]]]}}
    process, _ = standin.run("run", *ONE, script=script, config=standin.one_layer)
    assert f"had it for 99% of the time: pid {hog} 99%: they may be too low" in process.stderr
    process, _ = standin.run("run", *ONE, config=standin.one_layer)
    assert "too low" not in process.stderr


def test_others_are_seen_although_process_ids_are_those_of_the_host(standin):
    # Not in the first second of three, in which it may be the worker before.
    disturbed = health(standin, [[HOG, [5_000_043, 7]]], samples=150)
    assert disturbed["disturbed"], "two ran, and this one is one of them"
    assert disturbed["disturbed_by"] == "other programs had the GPU for 7% of the time"


@pytest.mark.parametrize(
    "processes",
    [
        pytest.param([[["self", 97], ["parent", 10]]], id="only this one and what started it"),
        pytest.param([[["self", 97], [5_000_042, 101]]], id="what is no share"),
        pytest.param([*[[["self", 97], HOG]] * 3, [["self", 97]]], id="one that has ended"),
        pytest.param([[["self", 97], [0, 50]]], id="no process"),
        pytest.param([], id="a driver that does not count"),
    ],
)
def test_a_gpu_without_other_programs_is_quiet(standin, processes):
    quiet = health(standin, processes)
    assert (quiet["disturbed"], quiet["disturbed_by"]) == (False, "")


def test_a_program_that_leaves_within_seconds_is_waited_for(standin, hog):
    # A question each quarter of a second; the first one's answer is of the time before.
    quiet = health(standin, [*[[["self", 40], [hog, 60]]] * 4, [["self", 97]]])
    assert (quiet["discarded_samples"], quiet["disturbed_samples"], quiet["disturbed"]) == (0, 0, False)


def test_programs_on_the_gpu_are_named_before_anything_is_measured(standin):
    script = {"nvml": {"busy": [80], "processes": [[HOG]]}}
    process, out = standin.run("run", *ONE, script=script, config=standin.one_layer)
    assert "other programs use cuda for 80% of the time: pid 5000042 60%. Records that" in process.stderr
    assert json.loads((out / "results.json").read_text())["records"]


def test_a_gpu_that_was_in_use_until_now_is_quiet(standin):
    process, _ = standin.run("run", *ONE, script={"nvml": {"busy": [80, 0]}}, config=standin.one_layer)
    assert "other programs" not in process.stderr


def test_a_run_waits_for_a_quiet_gpu(standin):
    script = {"nvml": {"busy": [80, 80, 80, 80, 0]}}
    wait = ("--wait-for-quiet", 30)
    process, _ = standin.run("run", *ONE, *wait, script=script, config=standin.one_layer)
    assert "other programs use cuda for 80% of the time; waiting until they do not, 30 s" in process.stderr
    assert "the machine is quiet" in process.stderr


@pytest.mark.parametrize("verb", ["operations", "step"])
def test_other_verbs_name_them_too(standin, verb):
    config = standin.one_layer
    process, _ = standin.run(verb, script={"nvml": {"busy": [80]}}, config=config)
    # A busy machine is named before it.
    assert "other programs use cuda for 80% of the time\n" in process.stderr
