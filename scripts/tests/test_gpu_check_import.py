"""scripts/import-gpu-check: what it keeps and writes, and the design notes' predictions beside results."""

import json
import lzma
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_check import archive, predictions, state

PROBLEM = "forward fp32 nchw n=256 c=96 hw=27x27 k=256 rs=5x5 stride=1x1 pad=2x2 dilation=1x1 groups=1"
GPU = "NVIDIA H200"
REPORT = """#!/bin/sh
echo "$@" >>"$(dirname "$0")/calls"
case "$1" in keep) [ ! -e "$(dirname "$0")/refuse" ] ;; esac
"""


def record(milliseconds, algorithm="implicit_gemm.simt.cuda", outcome="measured", **changes):
    return {
        "key": {"network": "alexnet", "layer": "conv2", "problem": PROBLEM, "algorithm": algorithm},
        "algorithm": {"id": algorithm, "provider": "convscope"},
        "device": {"name": GPU},
        "outcome": outcome,
        "note": "",
        "time": {"full": {"median_seconds": milliseconds * 1e-3}} if outcome == "measured" else None,
        "ceilings": {"fma_flops": 6e13, "tf32_flops": 4e14},
        **changes,
    }


@pytest.fixture
def checkout(root, tmp_path):
    """A checkout with a convscope-report that only writes down what it is asked."""
    folder = tmp_path / "checkout"
    (folder / "scripts").mkdir(parents=True)
    shutil.copy(root / "scripts" / "import-gpu-check", folder / "scripts")
    shutil.copytree(root / "scripts" / "gpu_check", folder / "scripts" / "gpu_check")
    (folder / "algorithms").mkdir()
    shutil.copy(root / "algorithms" / "predictions.csv", folder / "algorithms")
    report = folder / "scripts" / "convscope-report"
    report.write_text(REPORT)
    report.chmod(0o755)
    (folder / "build").mkdir()
    (folder / "build" / "convscope").touch()
    return folder


def make_archive(folder, runs, files=()):
    """Make a check's archive of runs by stage and of other files' texts by path."""
    check = folder / "check"
    done = state.State(device=GPU)
    for stage, document in runs.items():
        (check / "runs" / stage).mkdir(parents=True)
        text = document if isinstance(document, str) else json.dumps(document)
        (check / "runs" / stage / "results.json").write_text(text)
        done.of(stage).status = "passed"
    for path, text in dict(files).items():
        (check / path).parent.mkdir(parents=True, exist_ok=True)
        (check / path).write_text(text)
        done.of((check / path).parent.name if path.startswith("runs") else Path(path).stem).status = "passed"
    check.mkdir(exist_ok=True)
    state.save(done, check)
    (check / "summary.txt").write_text("a summary\n")
    file = folder / "check.tar.xz"
    archive.write_archive(file, check, done, list(done.stages))
    shutil.rmtree(check)
    return file


def document(records, complete=True):
    return {"environment": {"complete": complete, "started": "2026-11-24T10:00:00Z"}, "records": records}


def run_import(checkout, file):
    script = checkout / "scripts" / "import-gpu-check"
    run = subprocess.run([sys.executable, script, file], capture_output=True, text=True, timeout=60)
    calls = checkout / "scripts" / "calls"
    return run, calls.read_text().splitlines() if calls.exists() else []


def test_finished_runs_are_kept_under_their_machine_and_tables_written(checkout, tmp_path):
    runs = {
        "alexnet-forward": document([record(4.2)]),
        "alexnet-aa": document([record(4.2)]),
        "smoke": document([record(0, outcome="verified_only")]),
        "sanitizer-memcheck": document([record(0, outcome="verified_only")]),
        "alexnet-chwn": document([record(0, outcome="unsupported")]),
        "vgg-16": document([record(4.2)], complete=False),
        "resnet-50": '{"cut',
    }
    run, calls = run_import(checkout, make_archive(tmp_path, runs))
    assert run.returncode == 0, run.stderr
    kept = [call for call in calls if call.startswith("keep ")]
    assert [re.search(r"--name (\S+)", call).group(1) for call in kept] == [
        "alexnet-aa",
        "alexnet-forward",
        "smoke",
    ]
    assert all("--machine nvidia-h200 " in call for call in kept)
    assert any(call.startswith("table layers") for call in calls)
    assert not any("smoke" in call for call in calls if call.startswith("table"))
    assert any(call.startswith("compare ") for call in calls)
    assert "not kept: vgg-16: unfinished, 1 records" in run.stdout
    assert "not kept: resnet-50" in run.stdout
    assert (tmp_path / "check-report" / "summary.txt").read_text() == "a summary\n"
    assert "predictions were wrong" in (tmp_path / "check-report" / "predictions.txt").read_text()


def rows(name="NVIDIA H200", machine_class="h200-1", time="2026-01-02T00:00:00Z", step=1):
    row = {"device_name": name, "machine_class": machine_class, "step": step}
    return json.dumps({"environment": {"state": {"time": time}}, "rows": [row]})


def test_a_step_and_operations_are_kept_compressed_and_logs_copied(checkout, tmp_path):
    files = {
        "runs/step/tasks.json": rows(step=1),
        "runs/operations/operations.json": rows(step=2),
        "logs/info.log": "ceilings\n",
    }
    file = make_archive(tmp_path, {"alexnet-forward": document([record(4.2)])}, files)
    run, _ = run_import(checkout, file)
    assert run.returncode == 0, run.stderr
    machine = checkout / "results" / "nvidia-h200"
    kept = machine / "steps" / "alexnet.json.xz", machine / "operations" / "operations-alexnet.json.xz"
    assert [json.loads(lzma.decompress(file.read_bytes()))["rows"][0]["step"] for file in kept] == [1, 2]
    assert "docs/experiments/steps.md" in run.stdout
    assert "not kept" not in run.stdout
    assert (tmp_path / "check-report" / "logs" / "info.log").read_text() == "ceilings\n"


def test_a_step_alone_is_kept_and_replaced_by_a_newer_one_of_the_same_class_of_machine(checkout, tmp_path):
    kept = checkout / "results" / "nvidia-h200" / "steps" / "alexnet.json.xz"

    def imported(**what):
        run, _ = run_import(checkout, make_archive(tmp_path, {}, {"runs/step/tasks.json": rows(**what)}))
        words = [line for line in run.stdout.splitlines() if line.startswith("not kept")]
        assert run.returncode == len(words), run.stderr
        return json.loads(lzma.decompress(kept.read_bytes()))["rows"][0]["step"], words

    assert imported(step=1) == (1, [])
    assert imported(step=2, time="2026-01-03T00:00:00Z") == (2, [])
    assert imported(step=3) == (2, [f"not kept: step: {kept} is newer"])
    later = "2026-01-04T00:00:00Z"
    another = f"not kept: step: {kept} is of another class of machine"
    assert imported(step=4, time=later, machine_class="h200-2") == (2, [another])
    virtual = "not kept: step: the device's time is virtual"
    assert imported(step=5, time=later, name="NVIDIA H200 (virtual time)") == (2, [virtual])


def test_results_and_rows_of_another_form_are_named_and_the_rest_is_kept(checkout, tmp_path):
    runs = {"alexnet-forward": document([record(4.2)]), "smoke": [], "vgg-16": {"records": 3}}
    files = {"runs/step/tasks.json": "{}", "runs/operations/operations.json": rows()}
    run, calls = run_import(checkout, make_archive(tmp_path, runs, files))
    assert (run.returncode, run.stderr) == (0, "")
    assert sorted(re.findall(r"not kept: ([\w-]+):", run.stdout)) == ["smoke", "step", "vgg-16"]
    assert "not whole: KeyError('rows')" in run.stdout
    assert [call.split()[0] for call in calls if "keep" in call] == ["keep"]
    assert (checkout / "results/nvidia-h200/operations/operations-alexnet.json.xz").is_file()


def test_a_folder_that_cannot_be_written_is_said(checkout, tmp_path):
    file = make_archive(tmp_path, {"alexnet-forward": document([record(4.2)])})
    (tmp_path / "check-report").write_text("a file")
    run, _ = run_import(checkout, file)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert f"import-gpu-check: [Errno 17] File exists: '{tmp_path}/check-report'" in run.stderr


def test_predictions_are_judged_by_runs_of_their_own_and_by_those_that_were_cut(checkout, tmp_path):
    journal = [{"kind": "run"}, {"kind": "record", "record": record(4.5)}]
    files = {"runs/alexnet-forward/journal.jsonl": "".join(json.dumps(line) + "\n" for line in journal)}
    file = make_archive(tmp_path, {"alexnet-aa": document([record(42.0)])}, files)
    run, _ = run_import(checkout, file)
    assert run.returncode == 0, run.stderr
    assert "0 of 2 predictions were wrong" in run.stdout


def test_a_run_that_is_refused_has_no_tables_and_alone_it_is_nothing_kept(checkout, tmp_path):
    (checkout / "scripts" / "refuse").touch()
    runs = {"alexnet-forward": document([record(4.2)])}
    run, calls = run_import(checkout, make_archive(tmp_path, runs))
    assert run.returncode == 1
    said = f"import-gpu-check: nothing was kept; why is above. The rest is in {tmp_path}/check-report\n"
    assert run.stderr == said
    assert not any(call.startswith("table") for call in calls)
    run, _ = run_import(checkout, make_archive(tmp_path, runs, {"runs/step/tasks.json": rows()}))
    assert run.returncode == 0, run.stderr
    assert "0 runs, rows of 1 stages kept in " in run.stdout


def test_without_the_program_nothing_is_begun_but_rows_need_none(checkout, tmp_path):
    (checkout / "build" / "convscope").unlink()
    files = {"runs/step/tasks.json": rows()}
    run, calls = run_import(checkout, make_archive(tmp_path, {"smoke": document([record(4.2)])}, files))
    assert (run.returncode, calls) == (2, [])
    assert f"{checkout}/build/convscope is missing, without which no run is kept; build it: " in run.stderr
    assert not (tmp_path / "check-report").exists()
    run, _ = run_import(checkout, make_archive(tmp_path, {}, files))
    assert run.returncode == 0, run.stderr


def test_what_is_no_archive_or_has_no_run_is_said_to_be(checkout, tmp_path):
    file = tmp_path / "x.tar.xz"
    file.write_bytes(b"nonsense")
    run, _ = run_import(checkout, file)
    assert run.returncode == 2
    assert "no archive of a check" in run.stderr
    for there_is_none in (tmp_path / "gone.tar.xz", Path()):
        run, _ = run_import(checkout, there_is_none)
        assert (run.returncode, run.stderr.count("\n")) == (2, 1)
        assert str(there_is_none.absolute()) in run.stderr
    run, _ = run_import(checkout, make_archive(tmp_path, {}))
    assert run.returncode == 1


@pytest.fixture(scope="module")
def stated(root):
    return predictions.load(root / "algorithms" / "predictions.csv")


def test_every_prediction_stands_in_its_note_in_those_words(root, stated):
    for prediction in stated:
        note = " ".join((root / prediction.source).read_text().split())
        assert " ".join(prediction.words.split()) in note, f"{prediction.source}: {prediction.words}"


def test_the_figures_of_a_prediction_are_in_its_words_or_follow_from_them(stated):
    for prediction in stated:
        third = re.search(r"(\d+)% of a third", prediction.words)
        if third:
            assert prediction.high == pytest.approx(float(third.group(1)) / 300, abs=0.005)
            continue
        for value in {prediction.low, prediction.high} - {None}:
            scales = (100,) if prediction.quantity == "nominal share" else (1, 1000)
            said = [float(n) for n in re.findall(r"\d+(?:\.\d+)?", prediction.words)]
            assert any(value * scale == pytest.approx(n) for scale in scales for n in said), prediction


def test_predictions_name_algorithms_and_layers_that_exist(root, stated, run_convscope):
    listing = json.loads(run_convscope("list", "algorithms", "--json").stdout)
    layers = {layer["name"] for layer in json.loads((root / "configs/alexnet.json").read_text())["layers"]}
    assert {p.algorithm for p in stated} <= {entry["id"] for entry in listing}
    assert {layer for p in stated for layer in p.layers} <= layers


def judged(stated, records):
    chosen = [p for p in stated if p.algorithm == "implicit_gemm.simt.cuda"]
    return {(p.quantity, layer): verdict for p, layer, _, verdict in predictions.judge(chosen, records)}


def test_predictions_are_right_within_a_tenth_and_else_wrong_by_so_much(stated):
    assert predictions.nominal_flops(PROBLEM) == pytest.approx(229.3e9, rel=1e-3)
    assert judged(stated, [record(4.5)])["ms", "conv2"] == "right"
    assert judged(stated, [record(8.4)])["ms", "conv2"] == "WRONG: +100%"
    assert judged(stated, [record(2.1)])["ms", "conv2"] == "WRONG: -50%"
    # 229.3 GFLOP in 8.4 ms are 27.3 TFLOP/s, 46% of 60: below a bound of 82% nothing is wrong.
    assert judged(stated, [record(8.4)])["nominal share", "conv2"] == "right"
    assert judged(stated, [record(3.0)])["nominal share", "conv2"] == "WRONG: +55%"


def test_a_time_on_another_gpu_says_nothing_of_a_prediction_but_a_share_does(stated):
    elsewhere = record(8.4, device={"name": "NVIDIA H100 80GB HBM3"})
    assert judged(stated, [elsewhere])["ms", "conv2"] == "+100% on another GPU"
    assert judged(stated, [elsewhere])["nominal share", "conv2"] == "right"
    last = predictions.report(stated, [elsewhere])[-1]
    assert last.startswith("0 of 1 predictions were wrong; 1 are times on another GPU; ")


def test_a_time_at_another_batch_says_nothing_of_a_prediction(stated):
    half = record(2.4)
    half["key"]["problem"] = PROBLEM.replace("n=256", "n=128")
    assert judged(stated, [half])["ms", "conv2"] == "-43% at batch 128"
    assert judged(stated, [half])["nominal share", "conv2"] == "right"
    last = predictions.report(stated, [half])[-1]
    assert last.startswith("0 of 1 predictions were wrong; 0 are times on another GPU; 1 at another batch; ")


def test_a_prediction_without_a_row_or_a_ceiling_says_why(stated):
    assert judged(stated, [])["ms", "conv2"] == "not run"
    assert judged(stated, [record(1, outcome="unsupported")])["ms", "conv2"] == "unsupported"
    assert judged(stated, [record(4.2, ceilings=None)])["nominal share", "conv2"] == "no ceiling"
    lines = predictions.report(stated, [record(8.4)])
    assert lines[-1].startswith("1 of 2 predictions were wrong")


@pytest.mark.parametrize(
    "line", ["a,b,forward,fp32,nchw,speed,is,1,1,x,y", "a,b,forward,fp32,nchw,ms,at most,1,1,x,y"]
)
def test_a_line_that_is_no_prediction_is_refused(tmp_path, line):
    file = tmp_path / "predictions.csv"
    file.write_text(",".join(predictions.COLUMNS) + "\n" + line + "\n")
    with pytest.raises(ValueError, match="line 2"):
        predictions.load(file)
