"""`mpirun -np 2 convscope step --device cuda` on the stand-ins for the CUDA runtime and for NCCL."""

import json

import pytest
from standin_support import standin_fixture  # noqa: F401  (a fixture)
from test_standin_nccl import Job, need_mpi

CONFIG = {
    "name": "small",
    "batch": {"cpu": 2, "cuda": 4},
    "layers": [
        {
            "name": "one",
            "in_channels": 2,
            "input": [7, 6],
            "out_channels": 6,
            "filter": 3,
            "pad": 1,
            "first": True,
            "after": ["bias", "relu", "pool 3x3/2"],
        },
        {
            "name": "two",
            "in_channels": 6,
            "input": [3, 2],
            "out_channels": 4,
            "filter": 1,
            "after": ["batch_norm", "relu"],
        },
    ],
}
HANGING = {"calls": [{"call": "ncclAllReduce", "at": 3, "hangs": True}]}


class StepJob(Job):
    """Steps on GPUs that are not there."""

    def words(self, script, *arguments):
        """Return the command of one rank."""
        config = self.folder / "small.json"
        config.write_text(json.dumps(CONFIG))
        words = super().words(script)
        start = words[: words.index("allreduce")]
        step = [*start, "step", config, "--device", "cuda", "--algorithm", "implicit_gemm.simt"]
        return [*map(str, [*step, "--time-limit", "0.01", "--out", self.out, *arguments])]

    def rows(self):
        """Return the rows that were written."""
        return json.loads((self.out / "steps.json").read_text())["rows"]


@pytest.fixture(name="ranks")
def ranks_fixture(standin, convscope, tmp_path):
    """Return a function that makes a job of MPI's processes; skip where there is no MPI."""
    need_mpi(convscope)
    return lambda **more: StepJob(standin, tmp_path, **more)


def test_gradients_are_summed_between_the_gpus_of_mpi_ranks(ranks):
    job = ranks()
    words = job.words(None, "--overlap", "none,layer")
    done = job.run(words, words)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = job.rows()
    assert {(row["reduce"], row["overlap"]) for row in rows} == {
        (reduce, overlap) for reduce in ("nccl", "tree", "ring") for overlap in ("none", "layer")
    }
    for row in rows:
        assert row["outcome"] == "good", row
        assert row["identical_bits"] and row["reduce_relative_l2"] < 1e-6, row
        assert row["exact"] and row["repeatable"], row
        assert (row["gpus"], row["batch"], row["fabric"]) == (2, 4, "nccl")
        assert row["fabric_version"] == "NCCL 2.28.9"
        assert row["buckets"] == (1 if row["overlap"] == "none" else 2)
        assert row["step_ms"] > 0 and row["speedup"] > 0 and row["samples"] >= 6
        assert (row["wire_bytes_per_gpu"] is None) == (row["reduce"] == "nccl")
        assert "--device cuda" in row["rerun"] and "--threads" not in row["rerun"]
    assert "NVIDIA H200, stand-in" in done.stdout


def test_a_whole_batch_that_rank_0_has_no_memory_for_costs_the_speed_up_alone(ranks):
    job = ranks()
    words = job.words(None, "--batch", "256", "--reduce", "nccl", "--overlap", "none")
    headroom = 1 << 30  # that the device keeps free; a share needs 0.4 MB, the whole batch twice that
    words = job.on_other_gpus(words, memory_bytes=headroom + 900_000)
    done = job.run(words, words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rank 0 has no memory for a batch of 256 beside its share" in done.stderr
    (row,) = job.rows()
    assert (row["outcome"], row["speedup"]) == ("good", None), row
    assert row["step_ms"] > 0


def test_sums_that_are_wrong_on_one_rank_make_its_rows_wrong(ranks):
    job = ranks()
    words = job.words({"nccl": {"wrong_rank": 1}}, "--reduce", "nccl,ring")
    done = job.run(words, words)
    assert done.returncode == 1, done.stdout + done.stderr
    outcomes = {row["reduce"]: (row["outcome"], row["step_ms"]) for row in job.rows()}
    assert outcomes["nccl"] == ("wrong", None)
    assert outcomes["ring"][0] == "good"


def test_gradients_are_summed_as_codes_of_one_bit_between_gpus(ranks):
    job = ranks()
    words = job.words(
        None, "--compress", "none,1bit", "--reduce", "ring", "--overlap", "none,layer,bucket:256"
    )
    done = job.run(words, words)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = job.rows()
    coded = [row for row in rows if row["compress"] == "1bit"]
    assert [row["overlap"] for row in coded] == ["none", "layer", "bucket:256"]
    for row in coded:
        plain = next(other for other in rows if other["compress"] == "none")
        assert (row["outcome"], row["reduce"], row["fabric"]) == ("good", "striped", "nccl"), row
        assert row["identical_bits"] and row["exact"] is None, row
        assert 0.1 < row["codec_relative_l2"] < 1 and row["reduce_relative_l2"] > 0.1, row
        assert row["wire_bytes_per_gpu"] < plain["wire_bytes_per_gpu"]
        assert row["codec_ms"] > 0, row
        assert row["samples"] >= 6 and row["step_ms"] > 0
        assert "--reduce striped" in row["rerun"] and "--compress 1bit" in row["rerun"]


def test_codes_of_one_bit_lose_as_much_between_gpus_as_between_cpus(ranks):
    job = ranks()
    lost = {}
    for device, algorithm in (("cuda", "implicit_gemm.simt"), ("cpu", "im2col_gemm.cpu")):
        job.out = job.folder / device
        words = job.words(None, "--compress", "1bit", "--batch", "4")
        words[words.index("--device") + 1] = device
        words[words.index("implicit_gemm.simt")] = algorithm
        done = job.run(words, words)
        assert done.returncode == 0, done.stdout + done.stderr
        [row] = job.rows()
        lost[device] = (row["codec_relative_l2"], row["reduce_relative_l2"], row["wire_bytes_per_gpu"])
    assert lost["cuda"] == pytest.approx(lost["cpu"], rel=1e-3)


def test_two_ranks_with_one_gpu_are_refused(ranks):
    job = ranks(devices=1)
    words = job.words(None)
    done = job.run(words, words)
    assert done.returncode == 1, done.stdout + done.stderr
    assert {(row["outcome"], row["reason"]) for row in job.rows()} == {("refused", "gpu_shared")}


def test_algorithms_are_chosen_by_times_that_have_no_gaps_of_the_host_in_them(ranks):
    """Where the kernel that holds work back loses the device, the first candidate's time does."""
    job = ranks()
    words = job.on_other_gpus(job.words(None), faults=[{"kernel": "blocker_kernel", "at": 1, "error": 719}])
    done = job.run(words, words)
    assert done.returncode != 0
    assert "cudaErrorLaunchFailure" in done.stderr


def test_ranks_with_gpus_that_are_not_alike_are_refused(ranks):
    job = ranks()
    words = job.words(None)
    done = job.run(words, job.on_other_gpus(words, target="sm_80"))
    assert done.returncode == 1, done.stdout + done.stderr
    for row in job.rows():
        assert (row["outcome"], row["reason"], row["step_ms"]) == ("refused", "mixed_gpus", None)
        assert "sm_90, " in row["note"] and "sm_80, " in row["note"]


def test_a_rank_that_hangs_in_the_library_ends_the_job_with_a_record(ranks):
    job = ranks()
    arguments = ("--reduce", "ring,nccl")
    done = job.run(job.words(None, *arguments), job.words(HANGING, *arguments))
    assert done.returncode == 2, done.stdout + done.stderr
    assert "timeout: rank 0 waited 7 s in summing gradients" in done.stderr
    assert {row["outcome"] for row in job.rows()} <= {"failed", "good"}
    assert any(row["reason"] == "timeout" for row in job.rows())


def test_nccl_is_for_gpus(run_convscope):
    done = run_convscope(
        "step",
        "alexnet",
        "--basis",
        "modelled",
        "--rows",
        "x",
        "--batch",
        "2",
        "--link",
        "1GB/s,1us",
        "--reduce",
        "nccl",
    )
    assert done.returncode == 2
    assert "--reduce nccl: it sums between GPUs; add --device cuda" in done.stderr


def test_mpi_sums_in_host_memory_and_where_steps_are_run(run_convscope, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    words = ("step", "alexnet", "--reduce", "mpi")
    done = run_convscope(*words, "--device", "cuda")
    assert (done.returncode, "--reduce mpi: it sums in host memory" in done.stderr) == (2, True), done.stderr
    done = run_convscope(*words, "--basis", "replayed", "--rows", "x", "--batch", "2")
    assert (done.returncode, '--reduce: found "mpi"' in done.stderr) == (2, True), done.stderr


def test_a_number_of_a_gpu_is_refused_where_each_rank_takes_its_own(run_convscope, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    done = run_convscope("step", "alexnet", "--device", "cuda:1")
    assert done.returncode == 2
    assert "--device: each rank takes the GPU of its place" in done.stderr


def test_a_trace_of_a_step_between_gpus_is_refused(ranks):
    """The host does not see when a GPU's tasks run."""
    job = ranks()
    words = job.words(None, "--trace", job.folder / "trace.json")
    done = job.run(words, words)
    assert done.returncode == 2
    assert (
        "--trace: of a step on several GPUs it is not known when each task ran; leave it out" in done.stderr
    )
