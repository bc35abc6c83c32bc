"""Ranks of a job that are killed or stopped: all others end soon, with records that name them."""

import json
import os
import signal
import subprocess
import time

import pytest
from cli_support import process_of_rank

LONG = {
    "measured": ["step", "alexnet", "--batch", "4", "--threads", "1", "--reduce", "ring",
                 "--algorithm", "im2col_gemm.packed.cpu"],
    "replayed": ["step", "alexnet", "--basis", "replayed", "--batch", "2", "--compress", "none,1bit",
                 "--overlap", "none,layer", "--rows", "amd-zen4-2-cores/alexnet-batch-1"],
    "allreduce": ["allreduce", "--gpus", "2", "--bytes", "128MiB", "--reduce", "ring,tree,striped,mpi"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("sign", "state"), [(signal.SIGKILL, "gone"), (signal.SIGSTOP, "stopped")], ids=["killed", "stopped"]
)
@pytest.mark.parametrize(
    ("what", "seconds"), [("measured", 1), ("measured", 5), ("replayed", 2), ("allreduce", 2)]
)
def test_a_rank_that_is_killed_or_stopped_ends_the_job_with_a_record_that_names_it(
    mpirun, root, tmp_path, what, sign, state, seconds
):
    out = tmp_path / "out"
    rows = root / "results/amd-zen4-2-cores/alexnet-batch-1.json.xz"
    words = [str(rows) if word.startswith("amd-") else word for word in LONG[what]]
    job = mpirun.start(2, *words, "--time-limit", "600", "--out", out)
    lost = process_of_rank(1, "convscope", out)
    while not (out / "journal.jsonl").is_file():
        assert job.poll() is None, job.communicate()
        time.sleep(0.02)
    time.sleep(seconds)
    assert job.poll() is None, job.communicate()
    os.kill(lost, sign)
    begin = time.monotonic()
    try:
        said = job.communicate(timeout=30)
    finally:
        for process in (lost, process_of_rank(0, "convscope", out)) if job.poll() is None else ():
            os.kill(process, signal.SIGKILL)
    assert time.monotonic() - begin < 10, said
    assert job.returncode != 0
    assert "rank_lost: " in said[1] and f"rank 1 (process {lost} on " in said[1], said
    name = "allreduce" if what == "allreduce" else "steps"
    written = json.loads((out / f"{name}.json").read_text())["rows"]
    assert written
    for row in written:
        assert f"rank 1 (process {lost} on " in row["note"] and f"is {state}" in row["note"]
        if row["outcome"] == "good":  # it has the time of rounds that were complete
            assert (what, seconds) == ("measured", 5) and row["samples"] > 0
            continue
        assert (row["outcome"], row["reason"]) == ("failed", "rank_lost")


@pytest.fixture(name="elsewhere")
def elsewhere_fixture():
    """The beginning of a command whose process is on a host of another name, and so not seen from here."""
    words = ["unshare", "--uts", "sh", "-c", 'hostname elsewhere && exec "$@"', "sh"]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("unshare --uts is not allowed here, which stands for another host")
    return words


@pytest.mark.parametrize(
    ("what", "stopped"), [("allreduce", 1), ("replayed", 1), ("measured", 1), ("measured", 0)]
)
def test_a_rank_that_is_alone_on_its_host_and_stopped_ends_the_job_with_a_record_that_names_it(
    mpirun, convscope, elsewhere, root, tmp_path, what, stopped
):
    out = tmp_path / "out"
    rows = root / "results/amd-zen4-2-cores/alexnet-batch-1.json.xz"
    words = [str(rows) if word.startswith("amd-") else word for word in LONG[what]]
    if what == "allreduce":
        # Many sizes, of which each may converge within a second.
        words[words.index("128MiB")] = "4KiB..256KiB"
        words += ["--max-samples", "1000000"]
    here = [convscope, *words, "--time-limit", "600", "--out", out]
    job = mpirun.start(1, *here[1:], ":", "-np", 1, *elsewhere, *here)
    lost = process_of_rank(stopped, "convscope", out)
    while not (out / "journal.jsonl").is_file():
        assert job.poll() is None, job.communicate()
        time.sleep(0.02)
    time.sleep(1.5)  # it was heard by then
    assert job.poll() is None, job.communicate()
    os.kill(lost, signal.SIGSTOP)
    begin = time.monotonic()
    try:
        said = job.communicate(timeout=60)
    finally:
        for process in (lost, process_of_rank(1 - stopped, "convscope", out)) if job.poll() is None else ():
            os.kill(process, signal.SIGKILL)
    assert time.monotonic() - begin < 10, said
    assert job.returncode != 0
    host = "elsewhere" if stopped == 1 else ""
    name = f"rank {stopped} (process {lost} on {host}"
    assert "rank_lost: " in said[1] and name in said[1] and "gave no sign for 6 s" in said[1], said
    if stopped == 0:  # which writes the record
        return
    file = out / ("allreduce.json" if what == "allreduce" else "steps.json")
    written = json.loads(file.read_text())["rows"]
    named = [row for row in written if f"{name}) gave no sign for 6 s" in (row["note"] or "")]
    assert named
    for row in named:
        if row["outcome"] == "good":  # it has the time of rounds that were complete
            assert what == "measured" and row["samples"] > 0
        else:
            assert (row["outcome"], row["reason"]) == ("failed", "rank_lost")


def test_a_rank_that_is_stopped_before_mpi_has_started_is_waited_for_a_minute(mpirun, convscope, root):
    words = ("step", root / "configs/smoke.json")
    stopped = ("bash", "-c", 'kill -STOP $$; exec "$@"', "bash", convscope, *words)
    begin = time.monotonic()
    done = mpirun(1, *words, ":", "-np", "1", *stopped)
    assert done.returncode != 0
    assert "timeout: rank 0 waited 60 s in starting MPI" in done.stderr
    assert time.monotonic() - begin < 75


def test_a_rank_that_dies_ends_the_step_within_ten_seconds(mpirun, convscope, root):
    config = root / "configs/smoke.json"
    dying = ("bash", "-c", f"timeout -s KILL 1 {convscope} step {config} --batch 256 --time-limit 60")
    begin = time.monotonic()
    done = mpirun(1, "step", config, "--batch", "256", "--time-limit", "60", ":", "-np", "1", *dying)
    assert done.returncode != 0
    assert time.monotonic() - begin < 11
