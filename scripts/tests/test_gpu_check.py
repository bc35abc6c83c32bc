"""scripts/gpu-check against a scripted program: stages, time, and the faults a node may have."""

import json
import random
import re
import resource
import shutil
import signal
import subprocess
import tarfile
import time

import pytest
from gpu_check_support import (  # noqa: F401  (one is a fixture)
    CORE_RUNS,
    Bundle,
    bundle_fixture,
    rows_of,
    summary_of,
    table_of,
)

from gpu_check import cli, plan, state, summary


@pytest.fixture(scope="module")
def whole(root, tmp_path_factory):
    """A check of all stages in which all is good: its bundle, its folder and its process."""
    folder = tmp_path_factory.mktemp("whole")
    bundle = Bundle(root, folder / "bundle")
    return bundle, folder / "out", bundle.check(folder / "out")


def test_all_of_it_passes_and_the_summary_has_alexnets_table(whole):
    bundle, out, run = whole
    assert run.returncode == cli.GOOD, run.stdout + run.stderr
    lines = summary_of(run)
    assert len(lines) <= summary.LINES
    assert "DONE; all is good" in lines
    assert len(table_of(run)) == 15
    assert set(table_of(run).values()) == {"1.25x"}
    assert any(line.startswith("  alexnet    bf16   nhwc forward") for line in lines)
    assert any(
        line.startswith("  alexnet    3xtf32 nchw forward") and line.endswith("1.25x") for line in lines
    )
    assert any(line.startswith("AlexNet fp32 nchw, no cap ") for line in lines)
    assert any(
        line.startswith("  alexnet    fp32   nchw forward         cap 256 MiB  5 layers") for line in lines
    )
    assert (out / "summary.txt").read_text().splitlines() == lines
    assert "compute-sanitizer is not installed" in run.stdout
    calls = bundle.calls()
    assert any(call.startswith("verify") and "chwn" in call for call in calls)
    assert any("--record" in call for call in calls)
    assert any("--aa" in call for call in calls)
    # Find and autotuning try everything while they plan, which is not silence.
    profiling = [call for call in calls if "autotune" in call and "--out" in call]
    assert all("--stage-limit 90" in call for call in profiling)
    assert profiling
    assert (out / "cudnn-answers.json").is_file()


def test_stages_come_in_the_order_of_their_worth(whole):
    _, _, run = whole
    begun = re.findall(r"^(\S+): at most", run.stdout, re.MULTILINE)
    wanted = ["info", "verify_test", "smoke", *CORE_RUNS, "alexnet-nhwc-bf16", "smoke-modes", "alexnet-find"]
    wanted += ["alexnet-aa", plan.CAPPED, "vgg-16", "smoke-modes-cudnn", "sanitizer-memcheck"]
    assert [stage for stage in begun if stage in wanted] == wanted


def test_the_archive_holds_the_runs_and_a_check_goes_on_from_it_alone(bundle, tmp_path):
    out = tmp_path / "out"
    bundle.only("info", "smoke", *CORE_RUNS, "alexnet-find")
    bundle.behave(seconds=0.02)  # a row, of two hundred
    first = bundle.check(out, "--minutes", "0.05")
    assert first.returncode == cli.TIME_IS_UP, first.stdout
    bundle.behave()
    assert "gpu-check --resume" in summary_of(first)[-2]
    kept = tmp_path / "out.tar.xz"
    done = rows_of(out)
    shutil.rmtree(out)
    second = bundle.check("--resume", kept)
    assert second.returncode == cli.GOOD, second.stdout + second.stderr
    assert all(rows_of(out)[name][: len(some)] == some for name, some in done.items())
    with tarfile.open(kept) as tar:
        names = tar.getnames()
    assert "out/runs/alexnet-forward/results.json" in names
    assert "out/runs/alexnet-forward/journal.jsonl" not in names
    assert {"out/state.json", "out/summary.txt", "out/cudnn-answers.json", "out/logs/info.log"} <= set(names)
    assert len(table_of(second)) == 15
    nothing_left = bundle.check("--resume", tmp_path / "out")
    assert nothing_left.returncode == cli.GOOD
    assert summary_of(nothing_left)[0] == summary_of(second)[0]
    assert len(table_of(nothing_left)) == 15


def test_after_one_short_call_alexnets_three_passes_are_in_the_archive(bundle, tmp_path):
    bundle.only("verify_test", "smoke", *CORE_RUNS, "alexnet-nhwc-bf16")
    bundle.behave(seconds=0.001, stages={"smoke": "hang", "alexnet-nhwc-bf16": "hang"})
    bundle.test("#!/bin/sh\nsleep 60\n")
    run = bundle.check(tmp_path / "out", "--minutes", "0.2")
    assert run.returncode == cli.TIME_IS_UP
    with tarfile.open(tmp_path / "out.tar.xz") as tar:
        for name in CORE_RUNS:
            results = json.load(tar.extractfile(f"out/runs/{name}/results.json"))
            assert {r["algorithm"]["provider"] for r in results["records"]} == {"convscope", "cudnn"}
    assert len(table_of(run)) == 15
    assert re.search(r"^(cut|unfinished) +verify_test", run.stdout, re.MULTILINE)


def test_a_call_ends_within_its_minutes(bundle, tmp_path):
    bundle.behave(seconds=0.02)
    for arguments in ([tmp_path / "out"], ["--resume", tmp_path / "out"]):
        begin = time.monotonic()
        run = bundle.check(*arguments, "--minutes", "0.05")
        assert run.returncode == cli.TIME_IS_UP, run.stdout + run.stderr
        assert time.monotonic() - begin < 3 + 2.5  # the grace and a busy machine's own time


def test_a_call_does_the_stages_that_it_names_and_the_next_one_the_others(bundle, tmp_path):
    bundle.behave(seconds=0.001)
    first = bundle.check(tmp_path / "out", "--stages", "alexnet-backward-*")
    assert "commit unknown" not in first.stdout
    assert first.returncode == cli.TIME_IS_UP
    assert "MORE TO DO; go on with" in first.stdout
    runs = {path.name for path in (tmp_path / "out" / "runs").iterdir()}
    assert runs == {"alexnet-backward-data", "alexnet-backward-filter"}
    assert bundle.check("--resume", tmp_path / "out").returncode == cli.GOOD
    assert (tmp_path / "out" / "runs" / "smoke").exists()


def test_a_stage_that_there_is_none_of_is_said_with_those_that_there_are(bundle, tmp_path):
    run = bundle.check(tmp_path / "out", "--stages", "info,alexnet-sideways")
    assert run.returncode == cli.CANNOT
    assert "--stages alexnet-sideways: there is no such stage; there are info, " in run.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "fault", ["crash", "hang", "deaf", "garbage", "no_results", "cut_results", "die_once", "disk"]
)
def test_a_stage_that_goes_wrong_costs_itself_alone(bundle, tmp_path, fault):
    bundle.only("info", "smoke", *CORE_RUNS)
    bundle.behave(stages={"alexnet-forward": fault})
    endless = fault in ("hang", "deaf", "garbage")
    run = bundle.check(tmp_path / "out", "--minutes", "0.1" if endless else "1")
    lines = summary_of(run)
    assert len(lines) <= summary.LINES, run.stderr
    assert any(line.startswith("archive: ") for line in lines)
    found = table_of(run)
    assert {("conv1", "backward_data"), ("conv5", "backward_filter")} <= set(found)
    if fault == "die_once":
        assert ("conv5", "forward") in found
        assert run.returncode == cli.GOOD
        return
    assert run.returncode in (cli.BAD, cli.TIME_IS_UP)
    stage = next(line for line in lines if re.match(r"(failed|cut|unfinished) +alexnet-forward", line))
    words = {
        "crash": "killed by SIGSEGV", "hang": "cut after", "deaf": "cut after", "garbage": "cut after",
        "no_results": "no whole results", "cut_results": "no whole results", "disk": "No space left",
    }  # fmt: skip
    assert words[fault] in stage
    if fault in ("no_results", "cut_results"):  # what the journal has still counts
        assert ("conv5", "forward") in found


@pytest.mark.parametrize("fault", ["crash", "hang", "garbage"])
def test_a_program_that_does_not_even_list_devices_is_said_to(bundle, tmp_path, fault):
    bundle.behave(stages={"list": fault})
    run = bundle.check(tmp_path / "out", "--minutes", "0.02")
    assert run.returncode == cli.CANNOT
    assert "list devices" in run.stderr
    assert not (tmp_path / "out").exists()


def test_wrong_rows_are_named_with_the_first_of_their_words(bundle, tmp_path):
    bundle.only(*CORE_RUNS)
    bundle.behave(outcome="wrong", note="error 3e-5 over the gate 2e-5")
    run = bundle.check(tmp_path / "out")
    assert run.returncode == cli.BAD
    lines = summary_of(run)
    assert len(lines) <= summary.LINES
    assert any(re.match(r"  wrong +\d+ direct.tiled.cuda: .*over the gate", line) for line in lines)
    assert set(table_of(run).values()) == {"-"}


def test_a_failure_is_told_without_the_folder_that_its_source_was_built_in(bundle, tmp_path):
    bundle.only("alexnet-forward")
    note = "plan: /where/it/was/built/device/library.cpp:97: cudnnBackendExecute: misaligned address"
    bundle.behave(outcome="crashed", note=note)
    run = bundle.check(tmp_path / "out")
    assert ": plan: library.cpp:97: cudnnBackendExecute: misaligned" in run.stdout


def test_a_device_test_that_fails_is_named_and_the_others_go_on(bundle, tmp_path):
    bundle.only("verify_test", *CORE_RUNS)
    bundle.test("#!/bin/sh\necho 1 FAILED TEST\nexit 3\n")
    run = bundle.check(tmp_path / "out")
    assert run.returncode == cli.BAD
    assert re.search(r"^failed +verify_test: .*exit code 3; 1 FAILED TEST", run.stdout, re.MULTILINE)
    assert len(table_of(run)) == 15


def test_the_tests_that_a_device_test_says_failed_are_named(bundle, tmp_path):
    bundle.only("verify_test")
    said = [
        "[  FAILED  ] Devices/Hopper.LoadABox/cuda, where GetParam() = cuda (328 ms)",
        "[  FAILED  ] Sums.AreExact (1 ms)",
        "[==========] 124 tests from 13 test suites ran. (3559 ms total)",
        "[  PASSED  ] 122 tests.",
        "[  FAILED  ] 2 tests, listed below:",
        "[  FAILED  ] Sums.AreExact",
    ]
    bundle.test("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in said) + "exit 1\n")
    run = bundle.check(tmp_path / "out")
    named = "exit code 1; 2 failed: Devices/Hopper.LoadABox/cuda, Sums.AreExact"
    assert re.search(rf"^failed +verify_test: .*{re.escape(named)}$", run.stdout, re.MULTILINE)


def test_what_a_step_and_operations_measured_is_in_the_archive(bundle, tmp_path):
    bundle.only("operations", "step")
    assert bundle.check(tmp_path / "out").returncode == cli.GOOD
    with tarfile.open(tmp_path / "out.tar.xz") as tar:
        assert {"out/runs/operations/operations.json", "out/runs/step/tasks.json"} <= set(tar.getnames())


def test_without_a_gpu_nothing_is_run_or_written(bundle, tmp_path):
    bundle.behave(gpu=False)
    run = bundle.check(tmp_path / "out")
    assert run.returncode == cli.CANNOT
    assert "no CUDA device: no driver" in run.stderr
    assert not (tmp_path / "out").exists()
    assert {call.split()[0] for call in bundle.calls()} == {"list"}


def test_without_cudnn_it_stops_loudly_unless_told_not_to(bundle, tmp_path):
    bundle.only(*CORE_RUNS, "alexnet-find", "smoke-modes-cudnn")
    bundle.behave(cudnn=False)
    run = bundle.check(tmp_path / "out")
    assert run.returncode == cli.CANNOT
    assert "THERE IS NO cuDNN" in run.stderr
    assert "libcudnn.so.9 was not found in /usr/lib" in run.stderr
    assert not (tmp_path / "out").exists()
    run = bundle.check(tmp_path / "out", "--without-cudnn")
    assert run.returncode == cli.GOOD, run.stdout + run.stderr
    assert re.search(r"^left out .*alexnet-find, smoke-modes-cudnn", run.stdout, re.MULTILINE)
    assert not any("cudnn." in call for call in bundle.calls() if call.startswith("run "))
    assert set(table_of(run).values()) == {"-"}


def test_sums_between_gpus_are_for_machines_with_two_or_more_and_nccl(bundle, tmp_path):
    def stage_of(folder, **behaviour):
        bundle.behave(**behaviour)
        run = bundle.check(folder)
        assert run.returncode == cli.GOOD, run.stdout + run.stderr
        return state.load(folder).stages["allreduce"]

    bundle.only("info", "allreduce")
    one = stage_of(tmp_path / "one")
    assert (one.status, one.note) == ("left out", "needs 2 GPUs")
    assert not any(call.startswith("allreduce") for call in bundle.calls())
    assert stage_of(tmp_path / "four", gpus=4).status == "passed"
    [call] = [call for call in bundle.calls() if call.startswith("allreduce")]
    assert "--device cuda --gpus 2..4 " in call
    missing = stage_of(tmp_path / "missing", gpus=2, nccl=False)
    assert (missing.status, missing.note) == ("left out", "there is no NCCL here")


def test_a_check_is_not_gone_on_with_on_another_gpu(bundle, tmp_path):
    bundle.check(tmp_path / "out", "--minutes", "0.02")
    bundle.behave(gpu="Another GPU")
    run = bundle.check("--resume", tmp_path / "out")
    assert run.returncode == cli.CANNOT
    assert "was begun on Scripted GPU, this is Another GPU" in run.stderr


def test_a_disk_that_takes_no_more_ends_with_a_summary(bundle, tmp_path):
    bundle.only("info", *CORE_RUNS)
    full = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))}
    run = bundle.check(tmp_path / "out", "--minutes", "0.2", **full)
    assert run.returncode in (cli.BAD, cli.TIME_IS_UP), run.stderr
    assert "File too large" in run.stdout
    assert any(line.startswith("archive: ") for line in summary_of(run))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_check_says_how_to_go_on_and_does(bundle, tmp_path, number):
    bundle.only("info", *CORE_RUNS)
    bundle.behave(seconds=0.05)
    process = subprocess.Popen(bundle.command(tmp_path / "out"), stdout=subprocess.PIPE, text=True)
    while not (tmp_path / "out" / "runs" / "alexnet-forward" / "journal.jsonl").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    said = process.communicate(timeout=20)[0]
    assert process.returncode == cli.INTERRUPTED
    assert "INTERRUPTED; go on with: gpu-check --resume" in said
    bundle.behave()
    assert bundle.check("--resume", tmp_path / "out").returncode == cli.GOOD


def test_two_checks_do_not_share_a_folder(bundle, tmp_path):
    bundle.behave(seconds=0.05)
    process = subprocess.Popen(bundle.command(tmp_path / "out"), stdout=subprocess.DEVNULL)
    while not (tmp_path / "out" / "runs" / "smoke").exists():
        assert process.poll() is None
        time.sleep(0.02)
    run = bundle.check("--resume", tmp_path / "out")
    process.send_signal(signal.SIGINT)
    process.wait(20)
    assert run.returncode == cli.CANNOT
    assert "another gpu-check is at work" in run.stderr
    again = bundle.check(tmp_path / "out")
    assert again.returncode == cli.CANNOT
    assert "holds a check" in again.stderr


def test_killed_at_twenty_random_points_and_resumed_it_ends_with_the_same_rows(bundle, whole, tmp_path):
    bundle.behave(seconds=0.002)
    chance = random.Random(23)
    out = tmp_path / "out"
    for _ in range(20):
        arguments = ["--resume", out] if (out / "state.json").exists() else [out]
        process = subprocess.Popen(bundle.command(*arguments), stdout=subprocess.PIPE, text=True)
        process.stdout.readline()  # of its first stage
        time.sleep(chance.uniform(0, 0.25))
        process.kill()
        process.communicate()
    bundle.behave()
    run = bundle.check("--resume", out)
    assert run.returncode == cli.GOOD, run.stdout + run.stderr
    assert rows_of(out) == rows_of(whole[1])
    assert len(table_of(run)) == 15


def test_what_a_killed_check_was_running_is_ended_by_the_next(bundle, tmp_path):
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    left = state.State(running={"process": child.pid, "start": state.start_of_process(child.pid)})
    state.end_leftover(left)
    assert child.wait(5) == -signal.SIGKILL
    # A process that only has the number is let be.
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    state.end_leftover(state.State(running={"process": child.pid, "start": 1}))
    time.sleep(0.1)
    assert child.poll() is None
    child.kill()
    child.wait()


def test_a_child_dies_with_a_check_that_is_killed(bundle, tmp_path):
    bundle.behave(stages={"alexnet-forward": "hang"})
    process = subprocess.Popen(bundle.command(tmp_path / "out"), stdout=subprocess.DEVNULL)
    journal = tmp_path / "out" / "runs" / "alexnet-forward" / "journal.jsonl"
    while not journal.exists():
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(0.1)
    process.kill()
    process.wait()
    for _ in range(50):
        alive = subprocess.run(["pgrep", "-f", str(tmp_path / "out")], capture_output=True, text=True).stdout
        if not alive:
            break
        time.sleep(0.1)
    assert not alive
