"""`convscope step` on the CUDA device, played by the stand-in for the CUDA runtime.

With nvcc its kernels run as PTX, without it as the host's compiler made them.
"""

import csv
import json
import signal
import time

import pytest
from standin_support import QUICK, play_fixture, program_fixture, started_fixture  # noqa: F401  (fixtures)

CONFIG = {
    "name": "small",
    "batch": {"cpu": 2, "cuda": 3},
    "layers": [
        {
            "name": "first",
            "in_channels": 3,
            "input": [11, 10],
            "out_channels": 8,
            "filter": 3,
            "pad": 1,
            "first": True,
            "after": ["bias", "relu", "lrn", "pool 3x3/2"],
        },
        {
            "name": "block",
            "in_channels": 8,
            "input": [5, 4],
            "out_channels": 8,
            "filter": 1,
            "after": ["batch_norm", "relu"],
        },
        {
            "name": "sum",
            "in_channels": 8,
            "input": [5, 4],
            "out_channels": 8,
            "filter": 3,
            "pad": 1,
            "after": ["batch_norm", "add first", "relu"],
        },
        {
            "name": "last",
            "in_channels": 8,
            "input": [5, 4],
            "out_channels": 8,
            "filter": 1,
            "before": "mean 3x3/1 pad 1 uncounted",
            "after": ["bias", "relu", "add sum", "mean 2x2/2"],
        },
    ],
}
CONVOLUTIONS = 4 + 4 + 3  # forward, backward-filter, and backward-data of all but the first
LAUNCH_MS = 0.3
# ReLU and pooling have kinks; a wrong or a forgotten task makes it 0.03 and more (training_step_test.cpp).
RIGHT_GRADIENT = 5e-3


@pytest.fixture
def step(play, tmp_path):
    """Return a function that runs the verb; it returns exit code, output and rows, as the table has them."""

    def run(*more, algorithms="implicit_gemm.simt,direct*", **standin):
        config = tmp_path / "small.json"
        config.write_text(json.dumps(CONFIG))
        settings = QUICK | {"launch_nanoseconds": round(1e6 * LAUNCH_MS)} | standin
        out = tmp_path / "out"
        code, said = play(
            settings,
            *("step", config, "--device", "cuda", "--time-limit", "0.001", "--out", out),
            *("--algorithm", algorithms, *more),
        )
        table = out / "tasks.csv"
        rows = list(csv.DictReader(table.open())) if table.is_file() else []
        return code, said, rows

    return run


def test_every_task_runs_and_the_gradient_is_right(step):
    code, said, rows = step()
    assert code == 0, said
    *tasks, whole = rows
    assert {(row["device"], row["threads"], row["batch"]) for row in rows} == {("cuda", "", "3")}
    convolutions = [row for row in tasks if row["problem"]]
    assert len(convolutions) == CONVOLUTIONS
    for row in convolutions:
        assert row["algorithm"].endswith(".cuda"), row
        assert float(row["relative_l2"]) < 2e-6, row
    assert float(whole["directional_error"]) < RIGHT_GRADIENT
    assert float(whole["loss"]) > 0
    assert "NVIDIA H200, stand-in (virtual time)" in said
    assert "no time above means anything" in said


def test_a_task_takes_the_time_of_its_own_launches(step):
    code, said, rows = step()
    assert code == 0, said
    *tasks, whole = rows
    for row in tasks:
        if row["problem"]:
            continue
        name = row["task"]
        # Batch normalisation is three launches, a bias's gradient two, all else one; a copy is no launch.
        sums = name.startswith("bias") and name.endswith("backward")
        launches = 3 if name.startswith("batch_norm") else 2 if sums else 1
        expected = 0 if name == "copy gradient" else launches * LAUNCH_MS
        assert float(row["inside_ms"]) == pytest.approx(expected, abs=0.05), row
    assert float(whole["inside_ms"]) == pytest.approx(sum(float(row["inside_ms"]) for row in tasks), rel=1e-3)
    assert "copy gradient" in {row["task"] for row in tasks}


def test_the_row_says_how_it_is_measured_again(step):
    _, _, rows = step("--choose", "direct.tiled,implicit_gemm.simt")
    [rerun] = {row["rerun"] for row in rows}
    assert "--device cuda --batch 3 --choose direct.tiled,implicit_gemm.simt" in rerun
    assert "--threads" not in rerun
    chosen = {row["algorithm"] for row in rows if row["task"] == "forward"}
    assert "direct.tiled.cuda" in chosen


def test_fused_epilogues_are_candidates_beside_separate_ones(step):
    code, said, rows = step("--fuse", algorithms="implicit_gemm.simt,*.separate*")
    assert code == 0, said
    fused = [row for row in rows if row["separate_algorithm"]]
    assert [row["layer"] for row in fused] == ["first", "last"], said
    assert float(rows[-1]["directional_error"]) < RIGHT_GRADIENT


def test_a_device_that_is_lost_ends_the_step_with_a_sentence(step):
    code, said, rows = step(faults=[{"kernel": "softmax_loss", "at": 1, "error": 700}])
    assert code == 3, said
    assert "cudaErrorIllegalAddress" in said
    assert "no row was written" in said
    assert not rows


def test_ctrl_c_ends_a_step_whose_kernel_hangs(started, tmp_path):
    config = tmp_path / "small.json"
    config.write_text(json.dumps(CONFIG))
    settings = QUICK | {"faults": [{"kernel": "softmax_loss", "at": 1, "hangs": True}]}
    process = started(settings, "step", config, "--device", "cuda", "--algorithm", "implicit_gemm.simt")
    time.sleep(6)  # until it hangs
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[0]
    assert process.returncode == 130, said
    assert "(virtual time): no progress for 10 s in checking last forward implicit_gemm.simt.cuda" in said
    assert "no row was written" in said


@pytest.mark.parametrize("verb", ["step", "operations"])
def test_ctrl_c_ends_a_verb_without_worker_while_a_ceiling_hangs(started, tmp_path, verb):
    config = tmp_path / "small.json"
    config.write_text(json.dumps(CONFIG))
    settings = QUICK | {"faults": [{"kernel": "multiply_add", "at": 1, "hangs": True}]}
    process = started(settings, verb, config, "--device", "cuda")
    time.sleep(4)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=20)[0]
    assert process.returncode == 130, said


def test_candidates_are_also_timed_beside_a_load_on_multiprocessors(step):
    code, said, rows = step("--under-load", "20MB/s:2", algorithms="implicit_gemm.simt,direct.tiled")
    assert code == 0, said
    assert "on 2 multiprocessors (0.02 asked for)" in said
    *tasks, whole = rows
    several = [row for row in tasks if ";" in row["candidates_alone"]]
    assert several
    assert [row for row in tasks if row["winner_under_load"]] == several
    assert all(float(row["load_slowdown"]) > 0 for row in several)
    assert (whole["load_multiprocessors"], whole["load_threads"]) == ("2", "")
    assert float(whole["load_measured_gbs"]) > 0


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--threads", "1"), "--threads: only a step on the CPU has it"),
        (
            ("--under-load", "1GB/s:132"),
            "a load on 132 multiprocessors leaves nothing of NVIDIA H200",
        ),
    ],
)
def test_what_a_gpu_does_not_have_is_refused(step, more, says):
    code, said, rows = step(*more)
    assert code == 2, said
    assert says in said
    assert not rows


def test_a_step_that_the_device_has_no_memory_for_is_refused(step):
    code, said, rows = step("--batch", "60000", memory_bytes=2 << 30)
    assert code == 2, said
    assert "a step of small at batch 60000 needs " in said
    assert "more than three quarters of what NVIDIA H200, stand-in (virtual time) has, " in said
    assert "take a smaller --batch" in said
    assert not rows
