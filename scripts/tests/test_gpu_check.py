"""scripts/gpu-check against a scripted program: stages, time, archive, and the faults a node may have."""

import json
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from gpu_check import archive, bounded, cli, plan, records, state, summary, work

FAKE = Path(__file__).with_name("fake_program.py")
CORE_RUNS = ("alexnet-forward", "alexnet-backward-data", "alexnet-backward-filter")


class Bundle:
    """A folder laid out as scripts/bundle makes it, with a GPU that does not exist."""

    def __init__(self, root, folder):
        self.folder = folder
        self.setup = ""  # Python that a check begins with
        (folder / "bin" / "tests").mkdir(parents=True)
        for name in ("gpu-check", "gpu_check"):
            source = root / "scripts" / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
        shutil.copytree(root / "configs", folder / "configs")
        self.program = folder / "bin" / "convscope"
        shutil.copy(FAKE, self.program)
        self.program.chmod(0o755)
        self.test("#!/bin/sh\nexit 0\n")
        self.behave()

    def test(self, text):
        path = self.folder / "bin" / "tests" / "verify_test"
        path.write_text(text)
        path.chmod(0o755)

    def only(self, *stages):
        """Let checks have these stages alone, for what depends on no other."""
        self.setup = (
            "whole = cli.stages_of\n"
            f"cli.stages_of = lambda place: [s for s in whole(place) if s.name in {stages}]"
        )

    def behave(self, **behaviour):
        (self.folder / "bin" / "behaviour.json").write_text(json.dumps(behaviour))

    def command(self, *arguments):
        # A short grace, so that a test of a program that does not end is short too.
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = True\n"
            "from pathlib import Path; from gpu_check import bounded, cli\n"
            f"bounded.GRACE_SECONDS = bounded.KILL_SECONDS = 0.5\n{self.setup}\n"
            "sys.exit(cli.main(sys.argv[2:], Path(sys.argv[1])))"
        )
        return [sys.executable, "-c", code, str(self.folder), *map(str, arguments)]

    def check(self, *arguments, environment=None, timeout=60, **more):
        # Without the folders where a real nvidia-smi and compute-sanitizer may be.
        return subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin", **(environment or {})},
            timeout=timeout,
            **more,
        )

    def calls(self):
        return (self.folder / "bin" / "calls").read_text().splitlines()


@pytest.fixture
def bundle(root, tmp_path):
    return Bundle(root, tmp_path / "bundle")


@pytest.fixture(scope="module")
def whole(root, tmp_path_factory):
    """A check of all stages in which all is good: its bundle, its folder and its process."""
    folder = tmp_path_factory.mktemp("whole")
    bundle = Bundle(root, folder / "bundle")
    return bundle, folder / "out", bundle.check(folder / "out")


def table_of(run):
    """Layer and pass to ratio, of the summary's table."""
    found = re.findall(r"^  (conv\d) +(\w+) .* (\S+)$", run.stdout, re.MULTILINE)
    return {(layer, direction): ratio for layer, direction, ratio in found}


def summary_of(run):
    """The last lines, as a terminal shows them."""
    return run.stdout[run.stdout.index("\n\n") + 2 :].splitlines()


def rows_of(folder):
    return {run.name: records.read_records(run) for run in sorted((folder / "runs").iterdir())}


def test_all_of_it_passes_and_the_summary_has_alexnets_table(whole):
    bundle, out, run = whole
    assert run.returncode == cli.GOOD, run.stdout + run.stderr
    lines = summary_of(run)
    assert len(lines) <= summary.LINES
    assert "DONE; all is good" in lines
    assert len(table_of(run)) == 15
    assert set(table_of(run).values()) == {"1.25x"}
    assert any(line.startswith("  bf16   nhwc forward") for line in lines)
    assert any(line.startswith("  3xtf32 nchw forward") and line.endswith("1.25x") for line in lines)
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
    wanted = ["info", "verify_test", "smoke", *CORE_RUNS, "alexnet-nhwc-bf16", "alexnet-find", "alexnet-aa"]
    wanted += ["vgg-16", "sanitizer-memcheck"]
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


def test_a_device_test_that_fails_is_named_and_the_others_go_on(bundle, tmp_path):
    bundle.only("verify_test", *CORE_RUNS)
    bundle.test("#!/bin/sh\necho 1 FAILED TEST\nexit 3\n")
    run = bundle.check(tmp_path / "out")
    assert run.returncode == cli.BAD
    assert re.search(r"^failed +verify_test: .*exit code 3; 1 FAILED TEST", run.stdout, re.MULTILINE)
    assert len(table_of(run)) == 15


def test_without_a_gpu_nothing_is_run_or_written(bundle, tmp_path):
    bundle.behave(gpu=False)
    run = bundle.check(tmp_path / "out")
    assert run.returncode == cli.CANNOT
    assert "no CUDA device: no driver" in run.stderr
    assert not (tmp_path / "out").exists()
    assert {call.split()[0] for call in bundle.calls()} == {"list"}


def test_without_cudnn_it_stops_loudly_unless_told_not_to(bundle, tmp_path):
    bundle.only(*CORE_RUNS, "alexnet-find")
    bundle.behave(cudnn=False)
    run = bundle.check(tmp_path / "out")
    assert run.returncode == cli.CANNOT
    assert "THERE IS NO cuDNN" in run.stderr
    assert "libcudnn.so.9 was not found in /usr/lib" in run.stderr
    assert not (tmp_path / "out").exists()
    run = bundle.check(tmp_path / "out", "--without-cudnn")
    assert run.returncode == cli.GOOD, run.stdout + run.stderr
    assert re.search(r"^left out .*alexnet-find", run.stdout, re.MULTILINE)
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


def test_killed_at_twelve_random_points_and_resumed_it_ends_with_the_same_rows(bundle, whole, tmp_path):
    bundle.behave(seconds=0.002)
    chance = random.Random(23)
    out = tmp_path / "out"
    for _ in range(12):
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


def test_the_plan_is_printed_in_minutes_with_and_without_a_gpu(bundle, tmp_path):
    bundle.only("info", "alexnet-forward", "alexnet-find", "allreduce")
    run = bundle.check("--dry-run", tmp_path / "out")
    assert run.returncode == cli.GOOD, run.stderr
    assert re.search(r"^alexnet-forward +\d+\.\d +10\.0  AlexNet forward", run.stdout, re.MULTILINE)
    assert "sums of gradients" not in run.stdout
    bundle.behave(gpus=2)
    run = bundle.check("--dry-run", tmp_path / "out")
    assert re.search(r"^allreduce +4\.0 +4\.0  sums of gradients between GPUs", run.stdout, re.MULTILINE)
    bundle.behave(gpu=False)
    run = bundle.check("--dry-run")
    assert run.returncode == cli.GOOD
    assert "no CUDA device" in run.stdout
    assert "alexnet-forward" in run.stdout
    assert not (tmp_path / "out").exists()


def test_a_checkout_without_a_build_is_not_built(root, tmp_path):
    (tmp_path / "scripts").mkdir()
    shutil.copy(root / "scripts" / "gpu-check", tmp_path / "scripts")
    shutil.copytree(root / "scripts" / "gpu_check", tmp_path / "scripts" / "gpu_check")
    run = subprocess.run([tmp_path / "scripts" / "gpu-check"], capture_output=True, text=True, timeout=60)
    assert run.returncode == cli.CANNOT
    assert "build/convscope is not there" in run.stderr
    assert not (tmp_path / "build").exists()


@pytest.mark.parametrize("arguments", [["--minutes", "0"], ["--resume", "x", "y"], ["--nonsense"]])
def test_wrong_usage_is_refused(bundle, arguments):
    assert bundle.check(*arguments).returncode == cli.CANNOT


@pytest.mark.parametrize("content", [None, b"", b"not an archive", b"{}"])
def test_what_is_no_check_is_not_gone_on_with(bundle, tmp_path, content):
    path = tmp_path / "check.tar.xz"
    if content is not None:
        path.write_bytes(content)
    run = bundle.check("--resume", path)
    assert run.returncode == cli.CANNOT
    assert "no check to go on with" in run.stderr


def test_an_archive_that_names_files_outside_is_refused(tmp_path):
    path = tmp_path / "evil.tar.xz"
    path.write_bytes(archive._part([("check/../../outside", b"x")]) + archive._compress(bytes(1024)))
    with pytest.raises(ValueError, match="no check leaves"):
        archive.unpack(path, tmp_path / "check")
    assert not (tmp_path.parent / "outside").exists()


def test_an_archive_keeps_the_best_stages_where_not_all_have_room(tmp_path, monkeypatch):
    folder = tmp_path / "check"
    check = state.State()
    for name in ("small", "large", "last"):
        (folder / "runs" / name).mkdir(parents=True)
        data = random.Random(1).randbytes(20_000 if name == "large" else 100)
        (folder / "runs" / name / "results.json").write_bytes(data)
        check.of(name).status = "passed"
    state.save(check, folder)
    monkeypatch.setattr(archive, "LIMIT_BYTES", 10_000)
    left_out = archive.write_archive(tmp_path / "check.tar.xz", folder, check, ["small", "large", "last"])
    assert left_out == ["large"]
    assert (tmp_path / "check.tar.xz").stat().st_size <= 10_000
    with tarfile.open(tmp_path / "check.tar.xz") as tar:
        assert set(tar.getnames()) == {
            f"check/{n}" for n in ("state.json", *(f"runs/{n}/results.json" for n in ("small", "last")))
        }


def test_a_long_log_is_kept_at_both_ends():
    kept = bounded.Kept(10)
    for number in range(10):
        kept.add(b"%d" % number * 7)
    text = kept.text()
    assert text.startswith("0000000111")
    assert text.endswith("8889999999")
    assert "50 bytes left out" in text
    assert archive.trimmed(b"a" * 50 + b"b" * 50, 20).startswith(b"a" * 10 + b"\n... 80 bytes")


def test_the_time_limit_follows_from_the_plan_and_the_time():
    dry = "\n".join(
        [
            "alexnet conv1: forward",
            *["    x.cuda"] * 20,
            "    y.cuda refuses: no",
            "2 groups, 21 candidates, about 9 s on a quiet machine",
        ]
    )
    assert work.candidates_in(dry) == (2, 20)
    assert work.time_limit(dry, 24) == pytest.approx(0.3)
    assert work.time_limit(dry, 1) == work.SHORTEST_LIMIT
    assert work.time_limit(dry, 1000) == work.LONGEST_LIMIT
    assert work.time_limit("garbage", 100) == work.SHORTEST_LIMIT


def test_the_three_passes_of_alexnet_share_what_is_left_of_a_call():
    stages = [s for s in plan.stages_of(plan.Place(Path("p"), (), Path("c"))) if s.name in CORE_RUNS]
    check, clock = state.State(), cli.Clock(9.5)
    seconds = [cli.seconds_of_turn(stage, stages, check, clock) for stage in stages]
    assert sum(seconds) == pytest.approx(clock.left(), abs=1)
    check.of("alexnet-forward").status = "passed"
    assert cli.seconds_of_turn(stages[1], stages, check, clock) > seconds[1]


def test_all_of_it_is_python_3_9(root):
    import ast

    for path in [root / "scripts" / "gpu-check", *sorted((root / "scripts" / "gpu_check").glob("*.py"))]:
        tree = ast.parse(path.read_text(), feature_version=(3, 9))
        used = {n.names[0].name for n in ast.walk(tree) if isinstance(n, ast.Import)}
        used |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        foreign = {u.split(".")[0] for u in used} - set(sys.stdlib_module_names) - {"gpu_check"}
        assert not foreign, f"{path}: {foreign}"
