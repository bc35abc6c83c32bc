"""`convscope allreduce` and `step` over MPI ranks; skipped where there is no mpirun or no module for it."""

import csv
import json
import os
import shlex
import shutil
import signal
import subprocess
import time

import pytest

from convscope_report.cli import main

QUICK = ["--bytes", "4KiB,1MiB", "--time-limit", "0.05", "--max-samples", "6"]


@pytest.mark.parametrize("ranks", [2, 4])
def test_every_reduction_is_right_on_mpi_ranks(mpirun, ranks, tmp_path):
    folder = tmp_path / "out"
    done = mpirun(ranks, "allreduce", "--gpus", ranks, *QUICK, "--out", folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"all-reduce over {ranks} ranks") == 1  # one rank reports
    rows = json.loads((folder / "allreduce.json").read_text())["rows"]
    reductions = {"tree", "ring", "halving", "hierarchical", "striped", "mpi"}
    assert {(row["reduce"], row["bytes"]) for row in rows} == {
        (reduce, size) for reduce in reductions for size in (4096, 1 << 20)
    }
    for row in rows:
        assert row["outcome"] == "good", row
        assert row["exact"] and row["identical_bits"]
        assert row["fabric"] == "mpi" and row["median_ms"] > 0 and row["samples"] > 0
    with (folder / "allreduce.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(rows)


def test_a_part_of_the_ranks_works_and_too_many_are_refused_by_name(mpirun):
    done = mpirun(3, "allreduce", "--gpus", "2,3,4", *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    reasons = {(row["gpus"], row["reduce"]): row["reason"] for row in rows}
    assert reasons[2, "halving"] is None
    assert reasons[3, "halving"] == "not_power_of_two"
    assert reasons[3, "ring"] is None
    assert reasons[4, "ring"] == "too_few_ranks"


@pytest.mark.parametrize("rank", "01")
@pytest.mark.parametrize("what", ["allreduce", "step", "replayed"])
def test_without_the_module_every_row_says_what_is_missing(convscope, root, tmp_path, what, rank):
    alone = tmp_path / "convscope"
    shutil.copy2(convscope, alone)
    rows = root / "results/amd-zen4-2-cores/alexnet-batch-1.json.xz"
    words = {
        "allreduce": ["allreduce", "--gpus", "2", "--bytes", "4KiB"],
        "step": ["step", root / "configs/smoke.json", "--compress", "none,1bit"],
        "replayed": [
            "step",
            root / "configs/alexnet.json",
            "--basis",
            "replayed",
            "--rows",
            rows,
            "--batch",
            "2",
        ],
    }[what]
    done = subprocess.run(
        [alone, *words, "--json", "--out", tmp_path / "out"],
        env=os.environ | {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    # Where another process than the first fails mpirun ends the first, which writes the rows.
    assert done.returncode == (1 if rank == "0" else 0), done.stderr
    if rank == "1":
        assert (done.stdout, (tmp_path / "out").exists()) == ("", False)
        assert "convscope: rank 1: this program was built without MPI" in done.stderr
        return
    assert json.loads(done.stdout)
    for row in json.loads(done.stdout):
        assert row["reason"] == "library_missing" and row["gpus"] == 2
        assert "libopenmpi-dev" in row["note"]
    assert (tmp_path / "out").is_dir()


@pytest.mark.parametrize(
    "words",
    [
        ["step", "smoke", "--time-limit", "0.1"],
        [
            "step",
            "alexnet",
            "--basis",
            "replayed",
            "--rows",
            "amd-zen4-2-cores/alexnet-batch-1",
            "--batch",
            "2",
        ],
        ["allreduce", "--gpus", "1,2", *QUICK],
    ],
    ids=["step", "replayed", "allreduce"],
)
def test_ranks_of_a_launcher_that_mpi_does_not_know_are_refused(convscope, root, tmp_path, words):
    """As srun without PMI starts them, and as they stand in a batch script of Slurm."""
    if not (convscope.parent / "convscope_mpi.so").exists():
        pytest.skip("convscope was built without MPI")
    words = [root / "results" / f"{word}.json.xz" if word.startswith("amd") else word for word in words]
    for rank in "01":
        done = subprocess.run(
            [convscope, *words, "--out", tmp_path / "out"],
            env=os.environ | {"SLURM_PROCID": rank, "SLURM_NTASKS": "2"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert "SLURM_NTASKS says that 2 ranks were started, and Open MPI" in done.stderr
        assert "finds 1" in done.stderr and "srun --mpi=pmix" in done.stderr
        assert not (tmp_path / "out").exists()


def test_a_step_runs_on_ranks_and_all_hold_the_same_sums(mpirun, root, tmp_path):
    words = (
        "step",
        root / "configs/smoke.json",
        "--time-limit",
        "0.1",
        "--reduce",
        "mpi,tree,ring,halving",
        "--compress",
        "none,1bit",
    )
    done = mpirun(2, *words, "--batch", "4", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("scaling: smoke, strong scaling") == 1  # one rank reports
    rows = json.loads((tmp_path / "out/steps.json").read_text())["rows"]
    assert [row["reduce"] for row in rows] == ["mpi", "tree", "ring", "halving", "striped"]
    assert [row["compress"] for row in rows] == ["none", "none", "none", "none", "1bit"]
    for row in rows:
        assert (row["outcome"], row["basis"], row["fabric"], row["gpus"]) == ("good", "measured", "mpi", 2)
        assert row["batch_per_gpu"] == 2 and row["identical_bits"]
        uncoded = row["compress"] == "none"
        assert row["exact"] is row["repeatable"] is (True if uncoded else None)
        assert (row["codec_relative_l2"] is None) == uncoded
        assert (row["reduce_relative_l2"] < 1e-6) == (row["compress"] == "none")
        assert row["step_ms"] > row["compute_ms"] * 0.5 > 0


def test_the_step_on_two_processes_of_the_readme_works_as_it_is_written(mpirun, convscope, root):
    text = (root / "README.md").read_text(encoding="utf-8")
    [line] = [line.partition(" # ")[0].split() for line in text.splitlines() if line.startswith("mpirun ")]
    assert line[:4] == ["mpirun", "-np", "2", "build/convscope"]
    done = mpirun(2, *[root / word if word.endswith(".json") else word for word in line[4:]])
    assert done.returncode == 0, done.stderr
    assert "scaling: smoke, strong scaling" in done.stdout
    for reduction in ("mpi", "tree", "ring"):
        assert f" {reduction} " in done.stdout
    assert "\x1b[" not in done.stdout, "mpirun gives its ranks a terminal of their own, and writes to a pipe"


def test_a_step_on_ranks_has_a_trace_and_a_timeline(mpirun, root, tmp_path):
    """Of the first rank: what it computed and summed, and when."""
    out = tmp_path / "out"
    words = ("step", root / "configs/smoke.json", "--time-limit", "0.1", "--reduce", "ring")
    done = mpirun(2, *words, "--overlap", "layer", "--out", out, "--trace", out / "trace.json")
    assert done.returncode == 0, done.stderr
    events = json.loads((out / "trace.json").read_text())["traceEvents"]
    names = {event["cat"]: set() for event in events if event["ph"] == "X"}
    for event in events:
        if event["ph"] == "X":
            names[event["cat"]].add(event["name"])
    assert {"5x5 forward", "5x5 backward_filter", "average gradients", "5x5 update"} <= names["compute"]
    assert "reduce 5x5" in names["communication"] and len(names["communication"]) == 8
    assert main(["plot-timeline", str(out), "-o", str(tmp_path)]) == 0
    assert (tmp_path / "timeline-smoke.png").stat().st_size > 0


def test_a_replayed_step_has_a_trace_of_when_its_sums_ran(mpirun, root, tmp_path):
    rows = root / "results/amd-zen4-2-cores/alexnet-batch-1.json.xz"
    words = ("step", "alexnet", "--basis", "replayed", "--rows", rows, "--batch", "2", "--reduce", "ring")
    trace = tmp_path / "trace.json"
    done = mpirun(2, *words, "--overlap", "layer", "--time-limit", "0.1", "--trace", trace)
    assert done.returncode == 0, done.stderr
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    sums = [event for event in events if event["cat"] == "communication"]
    assert [event["name"] for event in sums] == [f"reduce conv{layer}" for layer in (5, 4, 3, 2, 1)]
    ends = {event["name"]: event["ts"] + event["dur"] for event in events}
    for event in sums:
        assert event["dur"] > 0
        assert event["ts"] >= ends[event["name"].removeprefix("reduce ") + " backward_filter"]


@pytest.fixture
def middle(tmp_path):
    """A config of one layer, whose step takes some milliseconds."""
    layer = {"name": "conv", "in_channels": 32, "input": [27, 27], "out_channels": 64, "filter": 3, "pad": 1}
    path = tmp_path / "middle.json"
    path.write_text(json.dumps({"name": "middle", "layers": [layer | {"after": ["bias", "relu"]}]}))
    return path


def test_a_step_on_ranks_fuses_bias_and_relu_into_its_convolutions(mpirun, middle, convscope, tmp_path):
    words = ("step", middle, "--batch", "2", "--threads", "1", "--reduce", "ring", "--time-limit", "0.1",
             "--algorithm", "im2col_gemm.packed.cpu")  # fmt: skip
    done = mpirun(2, *words, "--fuse", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "scaling: middle, strong scaling, tuned, bias and ReLU fused" in done.stdout
    [row] = json.loads((tmp_path / "out/steps.json").read_text())["rows"]
    assert (row["outcome"], row["fused"], row["identical_bits"]) == ("good", True, True)
    assert row["rerun"].endswith(" --fuse")
    differ = mpirun(1, *words, ":", "-np", "1", convscope, *words, "--fuse")
    assert differ.returncode != 0
    assert "the ranks differ in their program, config or flags" in differ.stderr


def test_a_step_refuses_ranks_of_another_program(mpirun, convscope, root, tmp_path):
    words = ("step", root / "configs/smoke.json", "--threads", "1", "--reduce", "ring", "--time-limit", "0.1")
    changed = tmp_path / "convscope"
    changed.write_bytes(convscope.read_bytes() + b"changed")
    changed.chmod(0o755)
    (tmp_path / "convscope_mpi.so").symlink_to(convscope.with_name("convscope_mpi.so"))
    differ = mpirun(1, *words, ":", "-np", "1", changed, *words)
    assert differ.returncode != 0
    assert "the ranks differ in their program, config or flags" in differ.stderr


def test_a_step_on_nodes_sums_within_them_first(mpirun, middle, tmp_path):
    words = ("step", middle, "--batch", "4", "--threads", "1", "--per-node", "2", "--time-limit", "0.1")
    done = mpirun(4, *words, "--reduce", "hierarchical", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    [row] = json.loads((tmp_path / "out/steps.json").read_text())["rows"]
    assert (row["outcome"], row["gpus"], row["gpus_per_node"]) == ("good", 4, 2)
    assert " --per-node 2 " in row["rerun"]


def test_ranks_that_share_a_core_say_that_their_samples_are_disturbed(mpirun, tmp_path):
    core = min(os.sched_getaffinity(0))
    step = ("step", "smoke", "--threads", "1", "--reduce", "ring", "--time-limit", "0.1")
    sums = ("allreduce", "--gpus", "2", "--reduce", "ring", *QUICK)
    for name, words in (("steps", step), ("allreduce", sums)):
        folder = tmp_path / name
        done = mpirun(2, *words, "--out", folder, core=core)
        assert done.returncode == 0, done.stderr
        for row in json.loads((folder / f"{name}.json").read_text())["rows"]:
            assert row["disturbed"] >= row["samples"] > 0
        assert "The machine was not quiet" in done.stdout


def test_a_step_on_ranks_that_is_stopped_has_written_its_complete_rounds(mpirun, tmp_path):
    job = mpirun.start(
        2, "step", "alexnet", "--batch", "2,4", "--threads", "1", "--reduce", "ring,tree",
        "--algorithm", "im2col_gemm.packed.cpu", "--time-limit", "600", "--out", tmp_path / "out",
    )  # fmt: skip
    deadline = time.monotonic() + 100
    while not (tmp_path / "out/steps.json").exists():
        assert job.poll() is None and time.monotonic() < deadline, job.communicate()
        time.sleep(0.1)
    job.send_signal(signal.SIGINT)
    job.communicate(timeout=20)
    assert job.returncode != 0
    rows = json.loads((tmp_path / "out/steps.json").read_text())["rows"]
    assert [row["reduce"] for row in rows] == ["ring", "tree"]
    for row in rows:
        assert row["outcome"] == "good" and row["samples"] >= 1 and row["step_ms"] > 0


def replayed(root, batch, *more):
    kept = root / "results/amd-zen4-2-cores/alexnet-batch-1.json.xz"
    words = ["step", root / "configs/alexnet.json", "--rows", kept, "--batch", batch, "--basis", "replayed"]
    return [*words, "--time-limit", "0.5", *more]


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_replayed_step_sends_real_bytes_and_sleeps_as_kept_records_say(mpirun, root, ranks, tmp_path):
    more = ("--compress", "none,1bit", "--overlap", "none,layer", "--out", tmp_path / "out")
    done = mpirun(ranks, *replayed(root, ranks, *more))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("scaling: alexnet, strong scaling") == 1  # one rank reports
    rows = json.loads((tmp_path / "out/steps.json").read_text())["rows"]
    assert [(row["reduce"], row["overlap"], row["buckets"]) for row in rows] == [
        (reduce, overlap, buckets)
        for reduce in ("tree", "ring", "striped")
        for overlap, buckets in (("none", 1), ("layer", 5))
    ]
    for row in rows:
        assert (row["outcome"], row["basis"], row["fabric"]) == ("good", "replayed", "mpi")
        assert row["gpus"] == ranks
        assert row["batch_per_gpu"] == 1
        assert row["compute_ms"] == rows[0]["compute_ms"]
        assert row["step_ms"] >= row["compute_ms"]  # it slept no less
        assert row["step_low_ms"] <= row["step_ms"] <= row["step_high_ms"]
        assert row["comm_alone_ms"] > 0 and row["link_gbs"] is None
        assert row["rerun"].startswith(f"mpirun -np {ranks} ") and row["rerun"].endswith("--basis replayed")
    by_formula = mpirun(
        1, *(word if word != "replayed" else "modelled" for word in replayed(root, ranks)[:-2]),
        "--gpus", ranks, "--link", "5GB/s,5us", "--reduce", "ring", "--overlap", "none", "--json",
    )  # fmt: skip
    modelled = json.loads(by_formula.stdout)[0]
    ring = rows[2]
    for column in ("compute_ms", "gradient_bytes", "wire_bytes_per_gpu"):
        assert ring[column] == pytest.approx(modelled[column])
    assert ring["rows_hash"] == modelled["rows_hash"]


def test_the_rows_hash_is_the_same_wherever_the_program_lies(convscope, root, tmp_path):
    moved = tmp_path / "a folder" / "convscope"
    moved.parent.mkdir()
    shutil.copy2(convscope, moved)
    kept = root / "results/amd-zen4-2-cores/alexnet-batch-1.json.xz"
    words = ["step", root / "configs/alexnet.json", "--rows", kept, "--batch", "1", "--gpus", "1",
             "--link", "5GB/s,5us", "--json"]  # fmt: skip
    printed = [
        subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout
        for program in (convscope, moved)
    ]
    here, there = (json.loads(text)[0] for text in printed)
    assert here["rows_hash"] == there["rows_hash"]
    assert shlex.split(there["rerun"])[0] == str(moved)


def test_a_replayed_step_refuses_what_a_modelled_one_does_and_ranks_that_differ(mpirun, convscope, root):
    done = mpirun(2, *replayed(root, 4, "--json"))
    assert done.returncode == 1
    assert {row["reason"] for row in json.loads(done.stdout)} == {"no_rows"}
    other = ("-np", "1", convscope, *replayed(root, 2, "--overlap", "none"))
    differ = mpirun(1, *replayed(root, 2), ":", *other)
    assert differ.returncode != 0
    assert "the ranks differ in their program, config or flags" in differ.stderr


def test_a_step_refuses_ranks_that_differ_and_batches_that_cannot_be_shared(mpirun, convscope, root):
    config = root / "configs/smoke.json"
    one = ("step", config, "--batch", "2")
    differ = mpirun(1, *one, ":", "-np", "1", convscope, "step", config, "--batch", "4")
    assert differ.returncode != 0
    assert "the ranks differ in their program, config or flags" in differ.stderr
    uneven = mpirun(3, *one)
    assert uneven.returncode != 0
    assert "2 images cannot be shared out evenly over 3 ranks" in uneven.stderr
