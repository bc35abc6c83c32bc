"""`convscope allreduce --device cuda` on the stand-ins for the CUDA runtime and for NCCL.

Its ranks are processes that mpirun starts, or threads; each has a device of its own.
"""

import json
import os
import shutil
import signal
import subprocess
import time

import pytest
from cli_support import process_of_rank
from standin_support import standin_fixture  # noqa: F401  (a fixture)

QUICK = ["--time-limit", "0.02", "--max-samples", "3"]
OURS = {"tree", "ring", "halving", "hierarchical", "striped"}


class Job:
    """Starts the stand-in program on GPUs that are not there, by mpirun or by itself."""

    def __init__(self, standin, folder, devices=2):
        self.standin = standin
        self.folder = folder
        self.out = folder / "out"
        settings = folder / "settings.json"
        said = {"devices": devices, "lazy_loading": False, "launch_nanoseconds": 300_000}
        settings.write_text(json.dumps(said))
        self.environment = os.environ | {
            "LD_LIBRARY_PATH": str(standin.libraries),
            "CONVSCOPE_STANDIN": str(settings),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }
        self.scripts = 0

    def words(self, script, *arguments):
        """Return the command of one rank."""
        variables = []
        if script is not None:
            self.scripts += 1
            path = self.folder / f"script{self.scripts}.json"
            path.write_text(json.dumps(script))
            variables.append(f"CONVSCOPE_STANDIN_LIBRARIES={path}")
            if "missing" in script:
                variables.append(f"LD_PRELOAD={self.standin.libraries}/libconvscope_loader.so")
        command = ["env", *variables, self.standin.program, "allreduce", "--device", "cuda", "--gpus", 2]
        return [*map(str, [*command, *QUICK, "--out", self.out, *arguments])]

    def on_other_gpus(self, words, **settings):
        """Return the command of a rank whose stand-in has other settings than the job's."""
        path = self.folder / "other_settings.json"
        said = json.loads((self.folder / "settings.json").read_text())
        path.write_text(json.dumps(said | settings))
        return ["env", f"CONVSCOPE_STANDIN={path}", *words]

    def start(self, *ranks):
        """One process for each rank's words; of a single one without mpirun."""
        command = list(ranks[0])
        if len(ranks) > 1:
            command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", "1", *ranks[0]]
            for words in ranks[1:]:
                command += [":", "-np", "1", *words]
        return subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, *ranks):
        """Run ranks to their end."""
        process = self.start(*ranks)
        try:
            output = process.communicate(timeout=120)
        finally:
            process.kill()
        return subprocess.CompletedProcess(process.args, process.returncode, *output)

    def rows(self):
        """Return the rows that were written."""
        return json.loads((self.out / "allreduce.json").read_text())["rows"]

    def wait_for_journal(self, text):
        """Return once the journal has this text."""
        for _ in range(1200):
            journal = self.out / "journal.jsonl"
            if journal.is_file() and text in journal.read_text():
                return
            time.sleep(0.05)
        raise AssertionError(f"the journal never had {text}")


def need_mpi(convscope):
    """Skip where there is no MPI."""
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun (Debian: apt install libopenmpi-dev)")
    if not (convscope.parent / "convscope_mpi.so").exists():
        pytest.skip("convscope was built without MPI")


@pytest.fixture(name="alone")
def alone_fixture(standin, tmp_path):
    """Return a function that makes a job of one process."""
    return lambda **more: Job(standin, tmp_path, **more)


@pytest.fixture(name="ranks")
def ranks_fixture(standin, convscope, tmp_path):
    """Return a function that makes a job of MPI's processes; skip where there is no MPI."""
    need_mpi(convscope)
    return lambda **more: Job(standin, tmp_path, **more)


def check_good(job, sizes):
    """Every reduction of every size is right, and says where it ran."""
    rows = job.rows()
    assert {(row["reduce"], row["bytes"]) for row in rows} == {
        (reduce, size) for reduce in OURS | {"nccl"} for size in sizes
    }
    for row in rows:
        assert row["outcome"] == "good", row
        assert row["exact"] and row["identical_bits"] and row["repeatable"]
        assert (row["gpus"], row["basis"], row["fabric"]) == (2, "measured", "nccl")
        assert row["fabric_version"] == "NCCL 2.28.9"
        assert row["device_name"].startswith("NVIDIA H200, stand-in")
        assert row["median_ms"] > 0 and row["samples"] > 0 and row["disturbed"] is not None
        assert row["busbw"] == pytest.approx(row["algbw"])  # 2 (n-1) / n of two ranks
        assert (row["wire_bytes_per_gpu"] is None) == (row["reduce"] == "nccl")


def test_every_reduction_is_right_between_the_gpus_of_mpi_ranks(ranks):
    job = ranks()
    words = job.words(None, "--bytes", "4KiB,400KiB")
    done = job.run(words, words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("all-reduce over 2 ranks") == 1  # one rank reports
    assert "nccl (NCCL 2.28.9); NVIDIA H200, stand-in (virtual time)" in done.stdout
    check_good(job, [4096, 400 << 10])
    assert job.rows()[0]["rerun"].startswith("mpirun -np 2 ")
    assert " --device cuda" in job.rows()[0]["rerun"]


def test_one_process_takes_a_gpu_for_each_of_its_threads(alone):
    job = alone()
    done = job.run(job.words(None, "--bytes", "20,4KiB"))
    assert done.returncode == 0, done.stdout + done.stderr
    check_good(job, [20, 4096])


def test_more_gpus_than_there_are_are_refused_with_their_number(alone):
    job = alone(devices=1)
    done = job.run(job.words(None, "--bytes", "4KiB"))
    assert done.returncode == 1
    for row in job.rows():
        assert row["reason"] == "too_few_gpus"
        assert "this machine shows 1 GPU (" in row["note"]


def test_without_a_gpu_every_row_says_what_was_looked_for(alone, ranks):
    job = alone(devices=0)
    done = job.run(job.words(None, "--bytes", "4KiB"))
    assert done.returncode == 1
    assert {row["reason"] for row in job.rows()} == {"no_device"}
    assert "no CUDA-capable device is detected" in job.rows()[0]["note"]
    shutil.rmtree(job.out)
    words = ranks(devices=0).words(None, "--bytes", "4KiB")
    done = job.run(words, words)
    assert done.returncode == 1
    assert "rank 0: no CUDA device" in job.rows()[0]["note"]


def test_sums_that_are_wrong_on_one_rank_have_no_time(alone):
    job = alone()
    done = job.run(job.words({"nccl": {"wrong_rank": 1}}, "--bytes", "4KiB", "--reduce", "ring,nccl"))
    assert done.returncode == 1
    ring, nccl = job.rows()
    assert ring["outcome"] == "good"
    assert (nccl["outcome"], nccl["reason"], nccl["exact"]) == ("wrong", "inexact_integers", False)
    assert nccl["median_ms"] is None


@pytest.mark.parametrize(("devices", "device"), [(2, "cuda:1"), (1, "cuda")])
def test_two_ranks_with_one_gpu_are_refused(ranks, devices, device):
    job = ranks(devices=devices)
    words = job.words(None, "--bytes", "4KiB")
    words[words.index("cuda")] = device
    done = job.run(words, words)
    assert done.returncode == 1
    for row in job.rows():
        assert row["reason"] == "gpu_shared"
        assert f"ranks 0 and 1 have the same GPU, cuda:{devices - 1} of " in row["note"]


def test_ranks_with_gpus_that_are_not_alike_are_refused_and_each_is_named(ranks):
    job = ranks()
    words = job.words(None, "--bytes", "4KiB")
    done = job.run(words, job.on_other_gpus(words, target="sm_80"))
    assert done.returncode == 1, done.stdout + done.stderr
    for row in job.rows():
        assert (row["outcome"], row["reason"], row["median_ms"]) == ("refused", "mixed_gpus", None)
        for said in (
            "GPUs of 2 sorts",
            "rank 0: NVIDIA H200, stand-in",
            "132 multiprocessors; power limit 700000 mW, max sm clock 1980 MHz, ",
            "rank 1: NVIDIA H200, stand-in",
            "CUDA_VISIBLE_DEVICES",
        ):
            assert said in row["note"]


def test_ranks_whose_gpus_differ_in_their_power_limit_are_refused_with_both_limits(ranks):
    job = ranks()
    held_down = {"nvml": {"power_limit_mw": [500_000]}}
    done = job.run(job.words(None, "--bytes", "4KiB"), job.words(held_down, "--bytes", "4KiB"))
    assert done.returncode == 1, done.stdout + done.stderr
    for row in job.rows():
        assert row["reason"] == "mixed_gpus"
        for limit in ("power limit 700000 mW", "power limit 500000 mW"):
            assert limit in row["note"]


def test_ranks_whose_gpus_differ_in_vbios_and_in_memory_that_the_driver_keeps_are_alike(ranks):
    job = ranks()
    arguments = ("--bytes", "4KiB", "--reduce", "ring")
    other_vbios = {"nvml": {"vbios": "96.00.74.00.02"}}
    other = job.on_other_gpus(job.words(other_vbios, *arguments), memory_bytes=140 << 30)
    done = job.run(job.words(None, *arguments), other)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["outcome"] for row in job.rows()] == ["good"]


def test_samples_are_disturbed_where_the_gpu_of_one_rank_is_held_down(ranks):
    job = ranks()
    arguments = ("--bytes", "4KiB", "--reduce", "nccl")
    hot = {"nvml": {"reasons": [0x40]}}
    done = job.run(job.words(None, *arguments), job.words(hot, *arguments))
    assert done.returncode == 0, done.stdout + done.stderr
    [row] = job.rows()
    assert row["disturbed"] == row["samples"] > 0


@pytest.mark.parametrize(
    ("script", "reason", "words"),
    [
        (
            {"missing": {"libraries": ["libnccl.so.2"]}},
            "library_missing",
            "libnccl.so.2 was ",  # not found, or of the real one not loaded
        ),
        (
            {"missing": {"functions": ["ncclSend"]}, "nccl": {"version": [2, 6, 4]}},
            "library_missing",
            "NCCL 2.6.4 was found, which has no function ncclSend; NCCL 2.7 or newer is needed",
        ),
        (
            {"calls": [{"call": "ncclGetUniqueId", "status": 2, "words": "no interface"}]},
            "library_failed",
            "(run with NCCL_DEBUG=INFO for details) (no interface)",
        ),
        (
            {"calls": [{"call": "ncclCommInitRank", "status": 3}]},
            "library_failed",
            "ncclCommInitRank: internal error",
        ),
    ],
)
def test_a_library_that_is_missing_too_old_or_fails_refuses_every_row(alone, script, reason, words):
    job = alone()
    done = job.run(job.words(script, "--bytes", "4KiB"))
    assert done.returncode == 1
    for row in job.rows():
        assert (row["outcome"], row["reason"]) == ("refused", reason)
        assert words in row["note"]


def test_ranks_with_libraries_of_different_versions_are_refused(ranks):
    job = ranks()
    old = job.words({"nccl": {"version": [2, 20, 5]}}, "--bytes", "4KiB")
    done = job.run(job.words(None, "--bytes", "4KiB"), old)
    assert done.returncode == 1
    assert {row["reason"] for row in job.rows()} == {"library_differs"}
    assert job.rows()[0]["note"] == "rank 0 has NCCL 2.28.9, rank 1 has NCCL 2.20.5"


def test_ranks_that_were_started_differently_are_refused(ranks):
    job = ranks()
    done = job.run(job.words(None, "--bytes", "4KiB"), job.words(None, "--bytes", "8KiB"))
    assert done.returncode == 2
    assert "the ranks differ in their program, config or flags" in done.stderr


def test_an_error_that_the_library_notices_later_ends_the_job_with_its_words(ranks):
    job = ranks()
    script = {"calls": [{"call": "ncclCommGetAsyncError", "at": 4, "status": 6, "words": "socket closed"}]}
    words = job.words(script, "--bytes", "4KiB", "--reduce", "nccl")
    done = job.run(words, words)
    assert done.returncode == 2
    assert "remote process exited or there was a network error (socket closed)" in done.stderr
    [row] = job.rows()
    assert row["outcome"] == "failed"


def test_an_init_that_fails_on_one_rank_ends_the_others_who_wait_for_it(ranks):
    job = ranks()
    script = {"calls": [{"call": "ncclCommInitRank", "status": 3, "words": "no memory"}]}
    done = job.run(job.words(None, "--bytes", "4KiB"), job.words(script, "--bytes", "4KiB"))
    assert done.returncode == 2
    assert "rank 1 waited 3 s in waiting for the others after a failure, ncclCommInitRank" in done.stderr
    for row in job.rows():
        assert (row["outcome"], row["reason"]) == ("failed", "rank_lost")
        assert "rank 1 (process " in row["note"]


HANGING = {"calls": [{"call": "ncclAllReduce", "at": 5, "hangs": True}]}


def hang(job):
    """Start a job whose rank 1 comes to a stand in the library while rank 0 waits for it there."""
    arguments = ("--bytes", "4KiB,8KiB", "--reduce", "nccl")
    return job.start(job.words(None, *arguments), job.words(HANGING, *arguments))


def failed_row(job):
    """Return the row that was under way, which is the only one that failed."""
    [row] = [row for row in job.rows() if row["outcome"] != "good"]
    assert row["outcome"] == "failed" and row["median_ms"] is None
    return row


def test_a_rank_that_hangs_in_the_library_ends_the_job_with_a_record(ranks):
    job = ranks()
    process = hang(job)
    said = process.communicate(timeout=60)
    assert process.returncode == 2, said
    row = failed_row(job)
    assert row["reason"] == "timeout"
    assert "rank 0 waited 7 s in sums of 4KiB" in row["note"]
    assert "timeout: rank 0 waited 7 s in sums of 4KiB" in said[1]


@pytest.mark.parametrize(
    ("sign", "state"), [(signal.SIGKILL, "gone"), (signal.SIGSTOP, "stopped")], ids=["killed", "stopped"]
)
def test_a_rank_that_is_killed_or_stopped_while_others_wait_is_named_in_the_record(ranks, sign, state):
    job = ranks()
    process = hang(job)
    lost = process_of_rank(1, "convscope_standin", job.out)
    job.wait_for_journal("allreduce")
    time.sleep(2)  # until it hangs; where it does not yet, its loss is no other
    os.kill(lost, sign)
    said = process.communicate(timeout=60)
    assert process.returncode != 0
    row = failed_row(job)
    assert row["reason"] == "rank_lost"
    assert f"rank 1 (process {lost} on " in row["note"] and f"is {state}" in row["note"]
    assert f"rank 1 (process {lost} on " in said[1]
