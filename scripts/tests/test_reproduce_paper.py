"""`scripts/reproduce-paper`: the runs, tables and figures of a small network, all of them."""

import csv
import fcntl
import json
import os
import re
import shutil
import subprocess

import pytest

# What the paper's tables and figures are of, made small: two layers, the first of which reads images.
NETWORK = {
    "name": "tiny",
    "batch": {"cpu": 2, "cuda": 2, "emulator": 1},
    "measuring": {"time_limit_s": 0.005, "min_samples": 3, "max_samples": 5},
    "layers": [
        {
            "name": "conv1",
            "in_channels": 3,
            "input": [23, 23],
            "out_channels": 8,
            "filter": 5,
            "stride": 2,
            "first": True,
            "after": ["bias", "relu", "pool 2x2/2"],
        },
        {
            "name": "conv2",
            "in_channels": 8,
            "input": [5, 5],
            "out_channels": 16,
            "filter": 3,
            "pad": 1,
            "after": ["bias", "relu"],
        },
    ],
}
# fmt: off
TABLES = (
    "layers", "opcounts", "selection", "policies", "first-layer", "symmetry", "accuracy", "algorithms",
    "slides", "batch", "workspace", "layout", "gpus", "why-gpu", "compare", "published-kim2017",
    *(["threads"] if len(os.sched_getaffinity(0)) > 1 else []),
)
# fmt: on
FIGURES = ("layers", "speedup", "roofline", "accuracy", "opcounts", "workspace", "scaling", "timeline")


@pytest.fixture(scope="module")
def paper(root, convscope, small_results, tmp_path_factory):
    """The folder, which had two runs of another network already, one of them stopped; and what was said."""
    folder = tmp_path_factory.mktemp("paper")
    (folder / "tiny.json").write_text(json.dumps(NETWORK))
    shutil.copytree(small_results, folder / "out/runs/batch")
    shutil.copytree(small_results, folder / "out/runs/caps")
    stopped = folder / "out/runs/caps/results.json"
    stopped.write_text(re.sub(r'("complete": ?)true', r"\1false", stopped.read_text(), count=1))
    done = subprocess.run(
        [root / "scripts/reproduce-paper", "--config", folder / "tiny.json", "--time-limit", "0.005",
         "--device", "cpu", "--convscope", convscope, "--out", folder / "out"],
        capture_output=True, text=True, timeout=800, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "out", done.stdout


def tables_without_a_run(root, folder):
    """`gpus` where fewer than two other machines are kept: the small network is of this one alone."""
    here = json.loads((folder / "runs/base/results.json").read_text())["records"][0]["device"]["name"]
    with (root / "results/index.csv").open(encoding="utf-8") as index:
        kept = [run for run in csv.DictReader(index) if run["run"].endswith("/paper-base")]
    return [] if sum(run["device"] != here for run in kept) > 1 else ["gpus"]


def test_every_table_and_figure_of_the_paper_is_written(paper, root):
    folder, said = paper
    missing = tables_without_a_run(root, folder)
    assert re.findall(r"no table (\S+):", said) == missing
    for table in set(TABLES) - set(missing):
        for form in ("md", "tex", "csv"):
            assert (folder / "tables" / f"{table}.{form}").stat().st_size > 0, table
    for figure in FIGURES:
        for form in ("png", "svg", "pdf"):
            assert list((folder / "figures").glob(f"{figure}-*.{form}")), (figure, form)
    assert "conv2" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_run_that_is_there_is_not_measured_again(paper, small_results):
    folder, said = paper
    assert f"{folder}/runs/batch is there already" in said
    kept = (folder / "runs/batch/results.json").read_bytes()
    assert kept == (small_results / "results.json").read_bytes()
    measured = re.findall(r"measuring \S+/runs/(\w+)", said)
    assert measured[:3] == ["base", "again", "caps"] and "many" in measured


def test_slides_26_to_30_stand_beside_steps_from_this_machines_rows(paper):
    """The batches of one, two and four GPUs, each from rows at the batch that one of them gets."""
    folder, _ = paper
    steps = json.loads((folder / "runs/slides/steps.json").read_text())["rows"]
    assert {(row["batch"], row["gpus"]) for row in steps} == {
        (batch, gpus) for batch in (4, 8, 16) for gpus in (1, 2, 4)
    }
    assert all(row["outcome"] == "good" and row["basis"] == "modelled" for row in steps)
    text = (folder / "tables/slides.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["batch"], row["GPUs"]) for row in rows] == [
        (batch, gpus) for batch in ("128", "256", "512") for gpus in ("2", "4")
    ]
    # The paper's columns follow from its two times alone: 200 ms at batch 256, 45 ms a transfer (slide 27).
    tree = [float(row["tree"]) for row in rows]
    assert tree == pytest.approx(
        [batch / 256 * 200 / (batch / 256 / gpus * 200 + 2 * rounds * 45)
         for batch in (128, 256, 512) for gpus, rounds in ((2, 1), (4, 2))], rel=1e-3
    )  # fmt: skip


def test_help_says_what_it_does(root, tmp_path):
    script = os.path.relpath(root / "scripts" / "reproduce-paper", tmp_path)
    done = subprocess.run([script, "--help"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "[--out DIR]" in done.stdout


def test_a_wrong_argument_is_named(root):
    run = subprocess.run(
        [root / "scripts" / "reproduce-paper", "--outt", "x"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2 and "unknown argument --outt; allowed are --out" in run.stderr


# A program that only says what it is asked to measure, and ends it as `fault` says.
SCRIPTED = """#!/bin/sh
case "$1" in
  info) echo '{{"device": {{"name": "a CPU", "cores": 2}}}}' ;;
  list) echo '[]' ;;
  *) echo "$*" >"${{0%/*}}/measured"; {fault} ;;
esac
"""


@pytest.fixture
def stopped(root, tmp_path):
    """A function that starts the script, in a folder with a blank, on a program with such a fault.

    All paths are relative to that folder.
    """
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "tiny.json").write_text(json.dumps(NETWORK))

    def start(fault):
        program = folder / "convscope"
        program.write_text(SCRIPTED.format(fault=fault))
        program.chmod(0o755)
        words = ["--config", "tiny.json", "--convscope", "./convscope", "--out", "out"]
        command = [root / "scripts" / "reproduce-paper", *words]
        return subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    return folder, start


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        ("exit 2", 2, "{out}/runs/base ended with 2; what was wrong is above"),
        ("kill -9 $$", 2, "{out}/runs/base ended with 137; what was wrong is above"),
        ("exit 130", 130, "interrupted; call it again and it goes on"),
    ],
)
def test_a_run_that_leaves_no_folder_is_named(stopped, fault, code, words):
    folder, start = stopped
    process = start(fault)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == code
    [line] = [line for line in said.splitlines() if line.startswith("reproduce-paper: ")]
    assert words.format(out=folder / "out") in line
    assert "mv: " not in said
    assert f"run {folder}/tiny.json --device cpu" in (folder / "measured").read_text()


@pytest.mark.parametrize("is_of_this_config", [True, False])
def test_a_stopped_run_goes_on_where_it_is_of_the_same_flags(stopped, is_of_this_config):
    folder, start = stopped
    run = folder / "out" / "runs" / "base"
    run.mkdir(parents=True)
    config = folder / ("tiny.json" if is_of_this_config else "other.json")
    words = ["run", str(config), "--device", "cpu", "--first-backward-data", "--aa", "--out", str(run)]
    (run / "journal.jsonl").write_text(json.dumps({"kind": "run", "argv": ["convscope", *words]}) + "\n")
    process = start("exit 130")
    process.communicate(timeout=60)
    assert (folder / "measured").read_text().startswith(f"run --resume {run}\n") == is_of_this_config
    assert run.exists() == is_of_this_config


def test_a_second_one_in_the_same_folder_is_refused(stopped):
    folder, start = stopped
    (folder / "out").mkdir()
    lock = os.open(folder / "out", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    process = start("exit 130")
    said = process.communicate(timeout=60)[1]
    os.close(lock)
    assert process.returncode == 2
    assert said == f"reproduce-paper: another reproduce-paper is at work in {folder}/out\n"


def test_a_run_ends_with_the_script_that_is_killed(stopped):
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv")
    _, start = stopped
    process = start("echo here >&2; exec sleep 600")
    assert process.stderr.readline() == "here\n"
    process.kill()
    process.communicate(timeout=60)  # until nobody has its output
