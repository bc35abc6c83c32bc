"""The program as a user meets it: exit codes, messages, the files of a run, what a terminal shows."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cli_support import QUICK, config, journal, keys, records, run, terminal_output

LINE = "forward fp32 nchw n=1 c=2 hw=6x5 k=3 rs=3x3"


@pytest.fixture(scope="module")
def good(faulty: Path, tmp_path_factory) -> tuple:
    """A good run of one layer: its folder, and the process."""
    folder = tmp_path_factory.mktemp("good")
    out = folder / "out"
    return out, run(faulty, "run", config(folder, 1), "--algorithm", "plain.cpu", "--out", out, *QUICK)


def test_a_good_run_leaves_every_file_and_exits_with_0(good: tuple) -> None:
    out, done = good
    assert done.returncode == 0, done.stderr
    assert [row["outcome"] for row in records(out)] == ["measured", "unsupported", "unsupported"]
    assert records(out)[0]["time"]["full"]["samples_seconds"]
    assert len((out / "results.csv").read_text().splitlines()) == 4
    benchmark = json.loads((out / "benchmark.json").read_text())
    assert benchmark["context"] and benchmark["benchmarks"]
    assert [entry["kind"] for entry in journal(out)].count("record") == 3
    assert str(out) in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def refuse_constant(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


def test_what_is_not_finite_is_null_in_every_file(faulty: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    only = ["--algorithm", "faulty.infinity.verify.cpu", "--pass", "forward", *QUICK]
    assert run(faulty, "run", config(tmp_path, 1), *only, "--out", out).returncode == 1
    (row,) = records(out)
    assert row["outcome"] == "wrong"
    assert row["accuracy"]["relative_l2"] is None
    for file in ("results.json", "benchmark.json"):
        json.loads((out / file).read_text(), parse_constant=refuse_constant)
    for line in (out / "journal.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=refuse_constant)
    fields = (out / "results.csv").read_text().lower().replace("\n", ",").split(",")
    assert not {"nan", "-nan", "inf", "-inf"} & set(fields)


def test_the_default_folder_is_named_after_the_time(faulty: Path, tmp_path: Path) -> None:
    done = run(faulty, "verify", config(tmp_path, 1), "--algorithm", "plain.cpu", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (out,) = (tmp_path / "out").iterdir()
    assert f"out/{out.name}" in done.stdout
    assert {row["outcome"] for row in records(out)} == {"verified_only", "unsupported"}


def test_candidates_that_crash_become_records_and_exit_code_1(faulty: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    faults = ("segfault.verify", "abort.measure", "throw.plan", "exit.plan")
    globs = ",".join(["plain.cpu", *(f"faulty.{fault}.cpu" for fault in faults)])
    only = ["--algorithm", globs, "--pass", "forward", *QUICK]
    done = run(faulty, "run", config(tmp_path, 2), *only, "--out", out)
    assert done.returncode == 1, done.stderr
    for layer in ("conv0", "conv1"):
        rows = [row for row in records(out) if row["key"]["layer"] == layer]
        outcomes = {row["key"]["algorithm"]: row["outcome"] for row in rows}
        assert outcomes == {
            "plain.cpu": "measured",
            "faulty.segfault.verify.cpu": "crashed",
            "faulty.abort.measure.cpu": "crashed",
            "faulty.throw.plan.cpu": "failed",
            "faulty.exit.plan.cpu": "crashed",
        }
    assert "8 of 10 candidates are wrong or failed" in done.stdout
    assert "faulty.abort.measure.cpu crashed" in done.stdout
    shown = run(faulty, "show", out, "--failed", "--layer", "conv1")
    assert shown.returncode == 0, shown.stderr
    assert "4 of 5 candidates are wrong or failed" in shown.stdout
    lines = shown.stdout.splitlines()
    crashed = next(place for place, line in enumerate(lines) if "faulty.abort.measure.cpu crashed" in line)
    again = next(row for row in records(out) if row["key"]["algorithm"] == "faulty.abort.measure.cpu")
    assert lines[crashed + 1].strip() == again["rerun"]


@pytest.mark.parametrize("verb", ["run", "verify"])
def test_a_run_of_refusals_alone_is_exit_code_1(faulty: Path, tmp_path: Path, verb: str) -> None:
    only = ["--algorithm", "plain.cpu", "--pass", "backward_data", "--batch", "1", "--out", tmp_path / "out"]
    done = run(faulty, verb, config(tmp_path, 2), *only)
    assert done.returncode == 1
    assert "0 right, 0 wrong or failed, 2 refused: nothing was run, and the tables say why" in done.stdout


def test_one_record_is_run_again_by_its_line(faulty: Path, tmp_path: Path) -> None:
    arguments = [
        "run",
        "--case",
        LINE,
        "--algorithm",
        "plain.cpu",
        "--time-limit",
        "0.05",
        "--isolate",
        "off",
    ]
    done = run(faulty, *arguments, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (row,) = records(tmp_path / "out")
    assert row["outcome"] == "measured"


def test_a_dry_run_says_what_it_would_do_and_leaves_nothing(faulty: Path, tmp_path: Path) -> None:
    done = run(faulty, "run", config(tmp_path, 2), "--algorithm", "plain.cpu", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "6 groups, 6 candidates, about " in done.stdout
    assert "plain.cpu refuses: pass backward_filter: plain.cpu is for forward only" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny.json"]
    problem = ("--case", "forward n=1 c=4 hw=8x8 k=4 rs=3x3", "--algorithm", "plain.cpu")
    assert "1 group, 1 candidate, about " in run(faulty, "run", *problem, "--dry-run", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    "words", ["list algorithms", "list algorithms --json", "info --json", "--help", "csv", "run"]
)
def test_output_that_cannot_be_written_is_exit_code_2(
    faulty: Path, tmp_path: Path, words: str, good: tuple
) -> None:
    whole, _ = good
    arguments = words.split() + [whole] * (words == "csv")
    if words == "run":
        arguments += [
            "--case",
            LINE,
            "--algorithm",
            "plain.cpu",
            "--time-limit",
            "0.05",
            "--out",
            tmp_path / "out",
        ]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [str(faulty), *map(str, arguments)], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    # A busy machine is named besides.
    said = [line for line in done.stderr.splitlines() if "other programs use" not in line]
    assert (done.returncode, len(said)) == (2, 1)
    assert "standard output took no more: disk full or closed" in done.stderr
    assert words != "run" or len(records(tmp_path / "out")) == 1, "the results are there all the same"


def test_exec_that_has_nothing_to_say_does_not_miss_standard_output(convscope: Path, tmp_path: Path) -> None:
    for name, shape in (("x", (1, 3, 8, 8)), ("w", (4, 3, 3, 3))):
        np.save(tmp_path / f"{name}.npy", np.ones(shape, np.float32))
    words = ["exec", "--case", "n=1 c=3 hw=8x8 k=4 rs=3x3", "--algorithm", "direct.cpu"]
    words += ["--input", "x.npy", "--filter", "w.npy", "--output"]
    done = run(convscope, *words, "y.npy", cwd=tmp_path, preexec_fn=lambda: os.close(1))
    assert done.returncode == 0, done.stderr
    assert (np.load(tmp_path / "y.npy") == 27).all(), "and no file is taken for it"
    # By a link: a program that replaces its output replaces that and no device.
    (tmp_path / "full").symlink_to("/dev/full")
    done = run(convscope, *words, "full", cwd=tmp_path)
    assert done.returncode == 2
    assert "full: cannot write this file: No space left on device" in done.stderr
    assert (tmp_path / "full").is_symlink()


VERBS = [
    "{name} --help", "--version", "list algorithms", "list configs", "list layers {config}",
    "csv {out}", "show {out}", "select {out}", "policies {out} --policy {policies}",
    "choose --results {out}", "completion bash", "run {config} --dry-run", "verify {config} --dry-run",
    "merge {out} --out {new}", "list columns",
    "allreduce --fabric threads --gpus 1 --bytes 4KiB --time-limit 0.01",
]  # fmt: skip


@pytest.mark.parametrize("closed", [False, True], ids=["full", "closed"])
def test_every_verb_ends_with_2_where_standard_output_takes_nothing(
    faulty: Path, convscope: Path, root: Path, tmp_path: Path, good: tuple, closed: bool
) -> None:
    places = {"config": config(tmp_path, 1), "out": good[0], "policies": root / "configs" / "policies"}
    real = ("explain", "step")  # they plan all, those that crash too
    for verb in [*VERBS, "info", "explain {line}", "step {config} --time-limit 0.01"]:
        places |= {"line": LINE, "name": "run", "new": tmp_path / "new"}
        words = [word.format(**places) for word in verb.split()]
        words += ["--algorithm", "plain.cpu"] if "--dry-run" in words else []
        program = convscope if words[0] in real else faulty
        with Path("/dev/full").open("w", encoding="utf-8") as full:
            done = subprocess.run(
                [str(program), *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                preexec_fn=(lambda: os.close(1)) if closed else None,
            )  # fmt: skip
        assert done.returncode == 2, (verb, done.stderr)
        assert "standard output took no more" in done.stderr, verb


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_closed_standard_file_is_not_taken_for_the_journal(
    faulty: Path, tmp_path: Path, number: int
) -> None:
    words = [
        str(faulty),
        "verify",
        config(tmp_path, 1),
        "--algorithm",
        "plain.cpu",
        "--out",
        tmp_path / "out",
    ]
    done = subprocess.run(
        [*map(str, words)], preexec_fn=lambda: os.close(number), capture_output=True, check=False
    )
    assert done.returncode == (2 if number == 1 else 0)
    assert all("kind" in entry for entry in journal(tmp_path / "out"))
    assert len(records(tmp_path / "out")) == 3


def test_two_series_give_a_noise_floor(faulty: Path, tmp_path: Path) -> None:
    only = ["--algorithm", "plain.cpu", "--pass", "forward"]
    done = run(faulty, "run", config(tmp_path, 1), *only, "--aa", "--out", tmp_path / "out", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "Noise floor" in done.stdout
    assert records(tmp_path / "out")[0]["time"]["repeat"]["samples_seconds"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "a verb is missing"),
        (["rnu"], "there are run, verify"),
        (["verfy"], 'did you mean "verify"'),
        (["run"], "needs a CONFIG"),
        (["run", "{config}", "--bach", "1"], 'did you mean "--batch"'),
        (["run", "{config}", "--batch", "0"], "--batch"),
        (["run", "{config}", "--algorithm", "plian.cpu"], "plain.cpu"),
        (["run", "{config}", "--shard", "3/2"], "--shard"),
        (["run", "{config}", "--stage-limit", "-1"], '--stage-limit: found "-1"; allowed is a number from 0'),
        (["run", "{config}", "--device", "gpu"], 'did you mean "cuda"?'),
        (["run", "{config}", "--device", "cuda:99"], "--device: "),
        (["explain", "n=1", "--device", "gpu"], 'did you mean "cuda"?'),
        (["run", "nowhere.json"], "nowhere.json"),
        (["run", "{config}", "--out", "/proc/nothing"], "/proc/nothing"),
        (["run", "{config}", "--out", "x" * 300], "name too long"),
        (["run", "--resume", "x" * 300], "name too long"),
        (["merge", "x" * 300, "--out", "merged"], "name too long"),
        (["merge", "{folder}", "--out", "x" * 300], "results.json"),
        (["run", "--resume", "{folder}"], "journal.jsonl"),
        (["run", "--resume", "{folder}", "--batch", "2"], "leave out --batch"),
        (["run", "--case", "sideways n=1", "--algorithm", "plain.cpu"], "sideways"),
        (["run", "--case", LINE, "--algorithm", "plan.cpu"], "plain.cpu"),
        (["merge", "{folder}", "--out", "{folder}/merged"], "results.json"),
        (["list", "dogs"], "dogs"),
    ],
)
def test_wrong_usage_gets_one_message_and_exit_code_2(
    faulty: Path, tmp_path: Path, arguments: list[str], says: str
) -> None:
    path = config(tmp_path, 1)
    done = run(faulty, *[word.format(config=path, folder=tmp_path) for word in arguments], cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert says in done.stderr
    assert done.stderr.startswith("convscope: ") and done.stderr.count("\n") == 1, done.stderr
    assert done.stdout == ""


def test_a_file_for_answers_that_cannot_be_made_is_refused_before_the_run_has_a_folder(faulty, tmp_path):
    done = run(faulty, "run", config(tmp_path, 1), "--record", "none/x.json", "--out", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert "none/x.json: cannot create this file" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_a_run_is_not_written_over(faulty: Path, tmp_path: Path) -> None:
    arguments = ["verify", config(tmp_path, 1), "--algorithm", "plain.cpu", "--out", tmp_path / "out"]
    assert run(faulty, *arguments).returncode == 0
    again = run(faulty, *arguments)
    assert again.returncode == 2
    assert "--resume" in again.stderr


def test_shards_merge_into_the_whole(faulty: Path, tmp_path: Path) -> None:
    path = config(tmp_path, 3)
    only = ["--algorithm", "plain.cpu"]
    assert run(faulty, "verify", path, *only, "--out", tmp_path / "whole").returncode == 0
    parts = [tmp_path / f"part{i}" for i in (1, 2)]
    for i, part in enumerate(parts, 1):
        assert run(faulty, "verify", path, *only, "--shard", f"{i}/2", "--out", part).returncode == 0
    assert records(parts[0]) and records(parts[1])
    merged = run(faulty, "merge", *parts, "--out", tmp_path / "merged")
    assert merged.returncode == 0, merged.stderr
    assert " records of 2 folders are in " in merged.stdout
    assert " of 1 folder are in " in run(faulty, "merge", parts[0], "--out", tmp_path / "one").stdout
    assert keys(records(tmp_path / "merged")) == keys(records(tmp_path / "whole"))
    assert json.loads((tmp_path / "merged" / "benchmark.json").read_text())["benchmarks"] == []
    assert merged.stderr == ""
    one_group = [config(tmp_path, 1), *only, "--pass", "forward"]
    none = run(faulty, "run", *one_group, "--shard", "2/2", "--out", tmp_path / "none")
    assert none.returncode == 0 and "nothing to do in this shard" in none.stdout, none.stdout + none.stderr
    half = run(faulty, "merge", parts[0], "--out", tmp_path / "half")
    assert half.returncode == 0
    assert "shard 2/2 is missing" in half.stderr


def test_folders_that_contradict_each_other_are_not_merged(faulty: Path, good: tuple, tmp_path: Path) -> None:
    only = ["--algorithm", "plain.cpu", "--pass", "forward", *QUICK]
    assert run(faulty, "run", config(tmp_path, 1), *only, "--out", tmp_path / "b").returncode == 0
    merged = run(faulty, "merge", good[0], tmp_path / "b", "--out", tmp_path / "merged")
    assert merged.returncode == 2
    assert "conv0" in merged.stderr and "plain.cpu" in merged.stderr
    assert not (tmp_path / "merged").exists()


def test_a_terminal_gets_colour_and_progress_unless_it_wants_none(faulty: Path, tmp_path: Path) -> None:
    words = [
        str(faulty),
        "run",
        str(config(tmp_path, 1)),
        "--algorithm",
        "plain.cpu",
        "--pass",
        "forward",
        *QUICK,
    ]
    colourful = terminal_output(
        [*words, "--out", str(tmp_path / "a")], os.environ | {"TERM": "xterm", "NO_COLOR": ""}
    )
    assert "\x1b[" in colourful and "conv0" in colourful
    plain = terminal_output(
        [*words, "--out", str(tmp_path / "b")], os.environ | {"TERM": "xterm", "NO_COLOR": "1"}
    )
    assert not any(f"\x1b[{code}m" in plain for code in ("1", "0", "32", "1;32", "31", "2"))


def test_the_real_program_has_real_algorithms(convscope: Path) -> None:
    done = run(convscope, "list", "algorithms", "--json")
    assert done.returncode == 0, done.stderr
    assert "direct.cpu" in done.stdout
    assert "faulty" not in done.stdout


def test_a_rerun_line_runs_from_another_folder_to_the_same_outcome(convscope, root, tmp_path):
    out = tmp_path / "run"
    arguments = ["--layer", "alexnet_conv5", "--algorithm", "direct.cpu,fft16.cpu,onednn.direct.cpu"]
    arguments += ["--pass", "forward", "--math", "fp32", "--batch", "1", "--time-limit", "0.05", "--out", out]
    begin = [convscope, "run", root / "configs" / "reduced.json", "--device", "cpu", *arguments]
    subprocess.run([str(word) for word in begin], capture_output=True, check=True)
    first = records(out)[:3]
    assert len(first) == 3
    for number, record in enumerate(first):
        again = tmp_path / str(number)
        line = f"{record['rerun']} --out {again}"
        done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        assert [one["outcome"] for one in records(again)] == [record["outcome"]]


def test_a_step_takes_what_choose_predicts(run_convscope, root):
    """Where the prediction is clear: ceilings are measured by each of the two, and differ from run to run."""
    smoke = root / "configs/smoke.json"
    words = ("--batch", "2", "--threads", "1", "--json")
    chosen = run_convscope("choose", smoke, "--layout", "nchw", *words)
    step = run_convscope("step", smoke, "--choose", "model", "--time-limit", "0.05", *words)
    assert (chosen.returncode, step.returncode) == (0, 0), chosen.stderr + step.stderr
    tasks = {row["problem"]: row for row in json.loads(step.stdout) if row["algorithm"]}
    clear = 0
    for row in json.loads(chosen.stdout):
        seconds = [candidate["seconds"] for candidate in row["predictions"]]
        if not seconds or (len(seconds) > 1 and seconds[1] < 3 * seconds[0]):
            continue
        clear += 1
        assert tasks[row["problem"]]["algorithm"] == row["chosen"], row
        assert tasks[row["problem"]]["choose"] == "model"
    assert clear >= 1
