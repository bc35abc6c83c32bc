"""The program as nvcc built it, on a stand-in for the CUDA runtime: kernels run as PTX.

convscope_standin is convscope with another runtime linked in (docs/emulator.md). In a build without
nvcc it runs the kernels that the C++ compiler made for the emulator.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from standin_support import (  # noqa: F401  (some are fixtures)
    QUICK,
    REFUSED,
    ROUNDED,
    SMOKE,
    TINY,
    few,
    play_fixture,
    program_fixture,
    rows_of,
    started_fixture,
)

# Rows whose arithmetic is our own; libraries need a GPU.
OURS = "direct*,implicit*,winograd*,fft16*,fft32*,im2col_gemm.cuda"


@pytest.mark.parametrize(
    ("settings", "maths", "layers"),
    [
        ({"order": "forward", "tensor_sums": "truncated"}, "fp32,3xtf32", ()),
        ({"order": "forward", "tensor_sums": "truncated"}, "tf32,bf16,fp16", ROUNDED),
        ({"order": "reverse"}, "fp32,bf16", ROUNDED),
        ({"order": "random", "seed": 5, "copies": "early"}, "tf32,fp16", ROUNDED),
    ],
    ids=["forward", "forward, rounded", "reverse", "random"],
)
def test_every_row_of_ours_is_right_as_nvcc_compiled_it(play, tmp_path, settings, maths, layers):
    of = ("--device", "cuda", "--algorithm", OURS, "--math", maths, *layers)
    code, said = play(settings, "verify", SMOKE, *of, "--out", tmp_path)
    assert code == 0, said
    assert "standin: " not in said, "a race, or another warning of the interpreter"
    rows = rows_of(tmp_path)
    assert {row["outcome"] for row in rows} - REFUSED == {"verified_only"}
    verified = {row["algorithm"] for row in rows if row["outcome"] == "verified_only"}
    assert len(verified) >= 2
    assert ("implicit_gemm.hopper.cuda" in verified) == bool({"tf32", "bf16", "fp16"} & {*maths.split(",")})


def test_every_row_that_fuses_an_epilogue_is_right_as_nvcc_compiled_it(play, tmp_path):
    algorithms = OURS + ",!*.separate.cuda"
    maths, layouts = "fp32,tf32,3xtf32", "nchw,nhwc,chwn"
    problem = ["--pass", "forward", "--epilogue", "bias+relu", "--math", maths, "--layout", layouts]
    where = ["--device", "cuda", "--algorithm", algorithms, "--out", tmp_path]
    code, said = play({"order": "reverse"}, "verify", SMOKE, *problem, *where)
    assert code == 0, said
    assert "standin: " not in said, "a race, or another warning of the interpreter"
    rows = rows_of(tmp_path)
    assert {row["outcome"] for row in rows} - REFUSED == {"verified_only"}
    verified = {row["algorithm"] for row in rows if row["outcome"] == "verified_only"}
    fused = [f"direct.{name}" for name in ("tiled", "chwn", "depthwise")]
    fused += [f"implicit_gemm.{name}" for name in ("simt", "tensor", "hopper")]
    tiles = ("f2x2_3x3.fused", "f4x4_3x3.fused", "f4x4_3x3", "f2x2_5x5", "f4x4_5x5", "mixed", "polyphase")
    fused += ["im2col_gemm"] + [f"winograd.{name}" for name in tiles]
    assert verified == {f"{name}.cuda" for name in fused}


def test_a_run_measures_in_virtual_time_and_survives_being_killed(started, play, convscope, root, tmp_path):
    settings = QUICK | {"launch_nanoseconds": 300_000}
    out = tmp_path / "run"
    arguments = few(out, "--algorithm", "direct.tiled.cuda,implicit_gemm.simt.cuda")
    process = started(settings, "run", SMOKE, *arguments)
    journal = out / "journal.jsonl"
    for _ in range(3000):
        if journal.is_file() and journal.read_text().count('"record"') >= 3:
            break
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = journal.read_text().count('"record"')
    code, said = play(settings, "run", "--resume", out)
    assert code == 0, said
    assert "time is virtual" in said
    rows = rows_of(out)
    assert before >= 3
    assert len(rows) == 16
    assert {row["outcome"] for row in rows} - REFUSED == {"measured"}
    assert {row["device_name"] for row in rows} == {"NVIDIA H200, stand-in (virtual time)"}

    report = [sys.executable, root / "scripts" / "convscope-report"]
    table = ["table", "--convscope", convscope, "layers", out]
    refused = subprocess.run([*report, *table], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "time is virtual" in refused.stderr
    shown = subprocess.run([*report, "--virtual-time", *table], capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_with_its_files_written_though_the_driver_has_threads(started, tmp_path, number):
    out = tmp_path / "run"
    arguments = few(out, "--algorithm", "direct.tiled.cuda,implicit_gemm.simt.cuda")
    process = started(QUICK | {"launch_nanoseconds": 300_000}, "run", SMOKE, *arguments)
    journal = out / "journal.jsonl"
    while not (journal.is_file() and '"record"' in journal.read_text()):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    said = process.communicate(timeout=60)[0]
    assert process.returncode == 130, said
    assert f"convscope: interrupted; go on with: convscope run --resume {out}" in said
    results = json.loads((out / "results.json").read_text())
    assert results["environment"]["complete"] is False
    assert 1 <= len(results["records"]) < 16


@pytest.mark.parametrize("more", [(), ("--dry-run",)], ids=["run", "dry run"])
def test_ctrl_c_ends_a_run_that_is_not_begun_at_once(started, tmp_path, more):
    config = tmp_path / "config.json"
    os.mkfifo(config)  # planning waits for what it says
    process = started(QUICK, "run", config, "--device", "cuda", "--out", tmp_path / "out", *more)
    with config.open("w"):
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[0]
    assert (process.returncode, said) == (130, "")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_a_device_without_memory_says_so_in_the_row(play, tmp_path, at):
    fault = {"call": "cudaMalloc", "at": at, "error": 2}
    code, said = play(
        {"faults": [fault]}, "verify", SMOKE, *few(tmp_path, "--algorithm", "direct.tiled.cuda")
    )
    outcomes = {row["outcome"] for row in rows_of(tmp_path)} - REFUSED
    assert code in (0, 1), said
    assert outcomes <= {"verified_only", "out_of_memory"}
    assert at != 0 or outcomes == {"out_of_memory"}


@pytest.fixture(name="short_of_memory")
def short_of_memory_fixture(play, tmp_path):
    """Return a function that measures a layer while one call finds no memory.

    It returns whether there was that call, what the program said, and the outcome of each algorithm.
    """
    config = tmp_path / "one.json"
    config.write_text(json.dumps(TINY | {"layers": TINY["layers"][:1]}))

    def run(call, at, algorithms):
        once, out = tmp_path / "once", tmp_path / f"out{at}"
        once.touch()
        fault = {"call": call, "at": at, "error": 2, "once_file": str(once)}
        settings = QUICK | {"launch_nanoseconds": 300_000, "faults": [fault]}
        chosen = few(out, "--algorithm", algorithms, "--cache", "hot", "--isolate", "off")
        code, said = play(settings, "run", config, *chosen)
        outcomes = [row["outcome"] for row in rows_of(out)]
        assert code == (0 if "measured" in outcomes else 1), said
        return not once.exists(), said, outcomes

    return run


@pytest.mark.parametrize("call", ["cudaMalloc", "cudaHostAlloc", "cudaStreamCreateWithFlags"])
def test_memory_that_runs_out_at_any_allocation_costs_no_more_than_a_row(short_of_memory, call):
    ends = Counter()
    for at in range(1, 200):
        found, said, outcomes = short_of_memory(call, at, "direct.tiled.cuda")
        assert outcomes in (["measured"], ["out_of_memory"]), f"{at}: {said}"
        if not found:
            break
        ends[outcomes[0]] += 1
    assert not found, "the calls have no end"
    assert outcomes == ["measured"]
    assert ends["measured"] > 0, "those of ceilings and of what there is another way for"
    assert ends["out_of_memory"] > 0 or call != "cudaMalloc"


@pytest.mark.parametrize(
    ("call", "at"), [("cudaMalloc", 32), *(("cudaEventCreate", at) for at in (1, 2, 3, 4))]
)
def test_memory_that_runs_out_costs_no_other_row(short_of_memory, call, at):
    found, said, outcomes = short_of_memory(call, at, "direct.tiled.cuda,implicit_gemm.simt.cuda")
    assert found
    assert sorted(outcomes) in (["measured"] * 2, ["measured", "out_of_memory"]), said


@pytest.mark.parametrize("settings", [{"devices": 0}, {"driver": 0}, {"driver": 11080}])
def test_without_a_device_or_a_driver_the_program_says_so_at_once(play, tmp_path, settings):
    code, said = play(settings, "verify", SMOKE, *few(tmp_path / "out", "--algorithm", "direct.tiled.cuda"))
    assert code == 2
    assert "cuda" in said
    code, said = play(settings, "list", "devices")
    assert code == 0, said
    assert ("cudaErrorNoDevice" if "devices" in settings else "cudaErrorInsufficientDriver") in said
