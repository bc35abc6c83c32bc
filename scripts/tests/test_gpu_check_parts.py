"""gpu-check's plan, usage, archive and logs, in parts."""

import dataclasses
import fnmatch
import json
import lzma
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from gpu_check_support import (  # noqa: F401  (one is a fixture)
    CORE_RUNS,
    bundle_fixture,
)

from gpu_check import archive, bounded, cli, place, plan, predictions, records, state, summary, work


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


@pytest.fixture
def checkout(root, tmp_path):
    """A checkout that was not built: its gpu-check."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(root / "scripts" / "gpu-check", tmp_path / "scripts")
    shutil.copytree(root / "scripts" / "gpu_check", tmp_path / "scripts" / "gpu_check")
    return tmp_path / "scripts" / "gpu-check"


def test_a_checkout_without_a_build_is_not_built(checkout, tmp_path):
    run = subprocess.run([checkout], capture_output=True, text=True, timeout=60)
    assert run.returncode == cli.CANNOT
    assert "build/convscope is not there" in run.stderr
    assert not (tmp_path / "build").exists()


def begin_to_build(checkout, text, *arguments):
    """Start a check that builds first, by a script of that text."""
    script = checkout.with_name("build")
    script.write_text(f"#!/bin/bash\ntrap : EXIT\necho building $1\n{text}\n")
    script.chmod(0o755)
    return subprocess.Popen(
        [checkout, "--build", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_check_that_is_interrupted_while_it_builds_ends_the_build(checkout, number):
    # A shell that outlives what it ran would say "Terminated".
    process = begin_to_build(checkout, "exec 2>/dev/null; sleep 600 | cat")
    assert process.stdout.readline() == "building release\n"
    process.send_signal(number)
    errors = process.communicate(timeout=60)[1]  # until nobody has its output
    assert process.returncode == cli.INTERRUPTED
    assert errors == "gpu-check: interrupted before anything was run\n"


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (
            "echo its own words >&2; exit 2",
            [],
            "its own words\ngpu-check: building failed; the message is above\n",
        ),
        ("sleep 600 | cat", ["--minutes", "0.005"], "--minutes was too short for it; build it before\n"),
    ],
)
def test_a_build_that_fails_or_takes_more_than_the_time_of_the_call_is_said(checkout, text, arguments, said):
    process = begin_to_build(checkout, text, *arguments)
    assert process.communicate(timeout=60)[1].endswith(said)
    assert process.returncode == cli.CANNOT


def test_tools_are_found_on_the_path_first_and_then_in_the_toolkit(tmp_path, monkeypatch):
    places = [tmp_path / "on_path", tmp_path / "toolkit"]
    monkeypatch.setenv("PATH", str(places[0]))
    monkeypatch.setattr(place, "TOOLKIT", str(places[1]))
    assert place.find_tool("compute-sanitizer") is None
    for folder in reversed(places):
        folder.mkdir()
        (folder / "compute-sanitizer").touch(0o755)
        assert place.find_tool("compute-sanitizer") == str(folder / "compute-sanitizer")


@pytest.mark.parametrize(
    "arguments", [["--minutes", "0"], ["--minutes", "nan"], ["--resume", "x", "y"], ["--nonsense"]]
)
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


def small_archive(path):
    members = [("check/state.json", b"{}"), ("check/logs/a.log", random.Random(1).randbytes(9000))]
    path.write_bytes(archive._part(members) + archive._compress(bytes(1024)))
    return path


@pytest.mark.parametrize("is_cut", [True, False])
def test_a_damaged_archive_is_said_to_be_and_nothing_of_it_is_written(tmp_path, is_cut):
    path = small_archive(tmp_path / "check.tar.xz")
    whole = path.read_bytes()
    half = len(whole) // 2
    path.write_bytes(whole[:half] + (b"" if is_cut else bytes([whole[half] ^ 1]) + whole[half + 1 :]))
    with pytest.raises(ValueError, match=r"check\.tar\.xz: no archive of a check, or damaged"):
        archive.unpack(path, tmp_path / "check")
    assert not (tmp_path / "check").exists()


def test_an_archive_that_a_full_disk_has_no_room_for_leaves_no_check_to_go_on_with(tmp_path, monkeypatch):
    def full(path, data):
        if path.name == "a.log":
            raise OSError(28, "No space left on device", str(path))
        state.write_atomically(path, data)

    monkeypatch.setattr(archive, "write_atomically", full)
    with pytest.raises(OSError, match=r"No space left on device: .*a\.log"):
        archive.unpack(small_archive(tmp_path / "check.tar.xz"), tmp_path / "check")
    assert not (tmp_path / "check" / "state.json").exists()


@pytest.mark.parametrize("flag", ["", "--archive"])
def test_what_cannot_be_written_is_said_before_anything_is_run(bundle, tmp_path, flag):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    words = [flag, tmp_path / "mine"] if flag else [tmp_path / "mine"]
    run = bundle.check(*words)
    assert run.returncode == cli.CANNOT
    said = "name a file in a folder that is there" if flag else "is there and is no check: name a new folder"
    assert f"{tmp_path / 'mine'}" in run.stderr and said in run.stderr
    assert not (bundle.folder / "bin" / "calls").exists()


def test_the_command_that_goes_on_can_be_typed_where_the_folder_has_a_blank(bundle, tmp_path):
    bundle.only("info", "smoke")
    run = bundle.check(tmp_path / "a check", "--stages", "info")
    assert f"gpu-check --resume '{tmp_path / 'a check'}'" in run.stdout


def test_a_check_is_locked_before_what_it_has_done_is_read(bundle, tmp_path):
    bundle.only("info", "smoke")
    bundle.check(tmp_path / "out", "--stages", "info")
    bundle.setup += """
whole_look = cli.look
def look(*words):
    try:
        with cli.sole_user(Path(sys.argv[3])):
            print("a second one may begin")
    except cli.CannotStart as refusal:
        print(refusal)
    return whole_look(*words)
cli.look = look
"""
    run = bundle.check("--resume", tmp_path / "out")
    assert f"another gpu-check is at work in {tmp_path / 'out'}\n" in run.stdout, run.stdout + run.stderr


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


def test_what_passed_is_not_left_out_where_it_could_not_be_run_again():
    stages = [plan.Stage(name, 1, 9, 9, "", (), cudnn=True, gpus=2) for name in ("done", "open")]
    check = state.State(without_cudnn=True, stages={"done": state.Progress("passed")})
    cli.leave_out(stages, check, gpus=1)
    assert [check.of(stage.name).status for stage in stages] == ["passed", "left out"]


def test_a_log_of_any_letters_is_kept_in_any_locale(bundle, tmp_path):
    bundle.only("verify_test")
    bundle.test("#!/bin/sh\nprintf 'took 2 \\302\\265s\\n'\nexit 1\n")
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    run = bundle.check(tmp_path / "out", environment=ascii_only)
    assert run.returncode == cli.BAD, run.stderr
    assert "took 2 ?s" in run.stdout
    log = tmp_path / "out" / "logs" / "verify_test.log"
    assert log.read_text(encoding="utf-8") == "took 2 \u00b5s\n"


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
    assert work.candidates_in("    x.cuda\n1 group, 1 candidate, about 9 s on a quiet machine") == (1, 1)
    planning = 2 * work.GROUP_SECONDS + 20 * work.CANDIDATE_SECONDS
    assert work.time_limit(dry, planning + 6) == pytest.approx(0.3)
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


def measured_by(stage, prediction):
    """Whether a stage's run measures what a prediction is about, were nothing refused."""
    words = dict(zip(stage.command, stage.command[1:], strict=False))
    asked = {
        "--algorithm": prediction.algorithm, "--math": prediction.math, "--layout": prediction.layout,
        "--pass": prediction.direction,
    }  # fmt: skip
    usual = {"--math": "fp32", "--layout": "nchw"}  # of the config, which has all passes
    return "{configs}/alexnet.json" in stage.command and all(
        any(
            fnmatch.fnmatchcase(value, pattern)
            for pattern in words.get(flag, usual.get(flag, "*")).split(",")
        )
        for flag, value in asked.items()
    )


def test_every_prediction_is_measured_by_one_stage(root):
    stages = [s for s in plan.stages_of(plan.Place(Path("p"), (), Path("c"))) if s.run and s.weight]
    for prediction in predictions.load(root / "algorithms" / "predictions.csv"):
        names = [stage.name for stage in stages if measured_by(stage, prediction)]
        assert len(set(names) - set(summary.NOT_FIRST)) == 1, prediction
    unknown = dataclasses.replace(prediction, layout="chwn", algorithm="direct.tiled.cuda")
    assert not any(measured_by(stage, unknown) for stage in stages)


def test_ours_stand_beside_cudnns_without_a_cap_but_in_one_late_stage():
    stages = plan.stages_of(plan.Place(Path("p"), (), Path("c")))
    measured = [s for s in stages if (s.run and s.weight) or s.name == "step"]
    assert [s.name for s in measured if not set(plan.NO_CAP) <= set(s.command)] == [plan.CAPPED]
    by_name = {s.name: s for s in stages}
    capped = by_name[plan.CAPPED]
    assert "--workspace-cap" not in capped.command
    assert capped.block > by_name["alexnet-aa"].block


def test_device_tests_take_a_minute_and_leave_out_no_test_of_a_gpu(root):
    tests = [s for s in plan.stages_of(plan.Place(Path("p"), tuple(map(Path, place.TESTS)), Path("c")))
             if s.name in place.TESTS]  # fmt: skip
    assert sum(stage.limit for stage in tests) == 60
    [chosen] = [stage.command[-1] for stage in tests if stage.name == "verify_test"]
    patterns = chosen.partition("=")[2].split(":")
    suites = set()
    for source in (root / "bench" / "verify").glob("*_test.cpp"):
        text = source.read_text(encoding="utf-8")
        if "cuda::make_device" in text:
            suites |= set(re.findall(r"^TEST(?:_F|_P)?\((\w+),", text, re.MULTILINE))
    assert len(suites) >= 3
    assert [suite for suite in suites if not any(fnmatch.fnmatchcase(suite, p) for p in patterns)] == []


def test_all_of_it_is_python_3_9(root):
    import ast

    for path in [root / "scripts" / "gpu-check", *sorted((root / "scripts" / "gpu_check").glob("*.py"))]:
        tree = ast.parse(path.read_text(), feature_version=(3, 9))
        used = {n.names[0].name for n in ast.walk(tree) if isinstance(n, ast.Import)}
        used |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        foreign = {u.split(".")[0] for u in used} - set(sys.stdlib_module_names) - {"gpu_check"}
        assert not foreign, f"{path}: {foreign}"


@pytest.mark.parametrize("first", ["[1]", "3", "null", "{", "\x00"])
def test_a_journal_that_begins_with_no_plan_still_has_its_records(root, tmp_path, first):
    kept = root / "results" / "amd-zen4-2-cores" / "alexnet-batch-1.json.xz"
    record = json.loads(lzma.decompress(kept.read_bytes()))["records"][0]
    line = json.dumps({"kind": "record", "record": record})
    (tmp_path / "journal.jsonl").write_text(f"{first}\n{line}\n")
    [found] = records.ranked_records(tmp_path, Path("/bin/false"))
    assert found.seconds is not None


def test_other_modes_and_networks_are_summed_with_each_layer_as_often_as_it_is_there():
    def one(network, layer, provider, seconds, math="fp32", **more):
        place = (network, layer, "forward", math, "nchw")
        return records.Record(*place, f"a.{provider}", provider, "measured", "", seconds, rank=1, **more)

    lines = summary.sums_table(
        [
            one("alexnet", "conv1", "convscope", 1e-3),
            one("alexnet", "conv1", "cudnn", 2e-3),
            one("resnet_50", "a", "convscope", 1e-3, count=3),
            one("resnet_50", "a", "cudnn", 2e-3, count=3, standing="throttled"),
            one("resnet_50", "b", "convscope", 1e-3),
            one("resnet_50", "c", "cudnn", 1e-3),
            one("alexnet", "conv1", "convscope", 4e-3, math="3xtf32"),
        ]
    )
    assert [" ".join(line.split()) for line in lines] == [
        "resnet_50 fp32 nchw forward no cap 3 layers: ours 3.0000 ms, cuDNN 6.0000 ms, 2.00xt",
        "alexnet 3xtf32 nchw forward no cap 1 layers: ours 4.0000 ms, cuDNN 2.0000 ms, 0.50x",
    ]
