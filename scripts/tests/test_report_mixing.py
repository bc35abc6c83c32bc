"""Tables never mix problems, machines, forms or clocks, and name what is left out of their sums."""

import csv
import io
import json
from types import SimpleNamespace

import pandas as pd
import pytest
from report_support import DATA, kept_file, made_up_gpu, report, write_results

from convscope_report import program
from convscope_report.results import Results, load
from convscope_report.table import plain
from convscope_report.tables import TABLES
from convscope_report.tables.by_layer import opcounts
from convscope_report.tables.fusion import fusion


def of_csv(*words):
    """The rows of what `table` prints as CSV, its tables one after the other."""
    done = report("table", *words, "--format", "csv")
    assert (done.code, done.err) == (0, "")
    return list(csv.DictReader(io.StringIO(done.out)))


def test_the_pass_as_a_copy_moves_half_the_bytes_in_half_precision(tmp_path):
    document = json.loads((DATA / "fused" / "results.json").read_text(encoding="utf-8"))
    single = kept_file(tmp_path / "single.json.xz", document)
    for record in document["records"]:
        record["key"]["problem"] = record["key"]["problem"].replace(" fp32 ", " bf16 ")
    half = kept_file(tmp_path / "half.json.xz", document)
    copies = [[row[-1] for row in fusion(load([file]), None)[1].rows] for file in (single, half)]
    assert copies[1] == pytest.approx([copy / 2 for copy in copies[0]])


def test_a_layer_without_one_form_has_its_row_and_no_sum_of_that_form():
    loaded = load([DATA / "fused"])
    separate = loaded.records["algorithm"].str.contains(".separate.", regex=False)
    left = loaded.records[~(separate & (loaded.records["layer"] == "conv2"))]
    rows = {row[0]: row for row in fusion(Results(left, loaded.runs), None)[0].rows}
    assert list(rows) == ["conv1", "conv2", "conv3", "sum by count"]
    assert rows["conv2"][3:6] == ["", None, None]
    assert plain(rows["sum by count"][2]) > 0 and rows["sum by count"][4] is None


def test_a_layer_without_a_right_row_leaves_the_network_without_sums(tmp_path):
    made_up_gpu(tmp_path / "wrong", device="cpu", slower=1, outcome="wrong", of="hw=10x10")
    *algorithms, best = of_csv("layers", tmp_path / "wrong", "--where", "pass=forward")
    assert len(algorithms) > 3 and {row["sum by count (ms)"] for row in algorithms} == {""}
    assert best["sum by count (ms)"] == "" and float(best["conv1 (ms)"]) > 0
    said = "No right record, so the network has no sum: conv2."
    assert said in report("table", "layers", tmp_path / "wrong", "--where", "pass=forward").out
    done = report("table", "first-layer", tmp_path / "wrong")
    assert (done.code, "no algorithm has all passes of all layers" in done.err) == (2, True)
    assert "no right record: conv2 forward, conv2 backward_data, conv2 backward_filter" in done.err
    assert "--first-backward-data" not in done.err
    made_up_gpu(
        tmp_path / "sweep", device="cpu", slower=1, outcome="wrong", of="hw=10x10", source=DATA / "sweep"
    )
    rows = of_csv("threads", tmp_path / "sweep", "--where", "batch=4")
    (best,) = rows
    assert best["algorithm"] == "best of each layer"
    assert {best[name] for name in ("1 thread (ms)", "2 threads (ms)", "speed-up at 2")} == {""}
    assert said in report("table", "threads", tmp_path / "sweep", "--where", "batch=4").out
    done = report("plot", "scaling", tmp_path / "sweep", "--where", "batch=4", "-o", tmp_path)
    assert (done.code, f"scaling: {said}" in done.err) == (2, True)


def test_a_layer_without_a_right_record_in_any_form_leaves_no_sum_and_is_named():
    loaded = load([DATA / "fused"])
    wrong = loaded.records["layer"] == "conv2"
    changed = {"rank": loaded.records["rank"].mask(wrong, None)}
    changed["outcome"] = loaded.records["outcome"].mask(wrong, "wrong")
    made = fusion(Results(loaded.records.assign(**changed), loaded.runs), None)[0]
    rows = {row[0]: row for row in made.rows}
    assert list(rows) == ["conv1", "conv3", "sum by count"]
    assert [rows["sum by count"][place] for place in (2, 4, 5, 7, 8)] == [None] * 5
    assert "No right record, so the network has no sum: conv2." in made.footnotes


def test_problems_of_one_name_are_layers_of_their_own(run_convscope, convscope, tmp_path):
    flags = ("--algorithm", "direct.cpu", "--threads", "1", "--time-limit", "0.05", "--isolate", "off")
    flags += ("--min-samples", "6", "--max-samples", "6")
    times = []
    for taps in ("1x1", "3x3"):
        problem, out = f"forward n=1 c=3 hw=8x8 k=4 rs={taps}", tmp_path / taps
        done = run_convscope("run", "--case", problem, *flags, "--out", out)
        assert done.returncode == 0, done.stderr
        times.append(of_csv("layers", out, "--convscope", convscope)[0]["case (ms)"])
    direct, best = of_csv("layers", tmp_path / "1x1", tmp_path / "3x3", "--convscope", convscope)
    for row in (direct, best):
        assert [row["case rs=1x1 (ms)"], row["case rs=3x3 (ms)"]] == times
    one = of_csv("layers", tmp_path / "1x1", tmp_path / "3x3", "--where", "layer=case rs=3x3")
    assert [name for name in one[0] if name.startswith("case")] == ["case rs=3x3 (ms)"]


@pytest.fixture
def cases(tmp_path):
    """Basic without conv2, and the same with one name for both layers, of which the network has 1 and 5."""
    document = json.loads((DATA / "basic" / "results.json").read_text(encoding="utf-8"))
    document["records"] = [one for one in document["records"] if one["key"]["layer"] != "conv2"]
    for record in document["records"]:
        record["key"]["count"] = 1 if record["key"]["layer"] == "conv1" else 5
    apart = kept_file(tmp_path / "apart.json.xz", document)
    for record in document["records"]:
        record["key"]["layer"] = "case"
    return apart, kept_file(tmp_path / "together.json.xz", document)


def test_problems_of_one_name_have_the_oracle_and_the_count_of_their_own(cases, convscope):
    def rows_of(name, title, file):
        options = SimpleNamespace(results=[file], convscope=convscope, where=[], virtual_time=False)
        (table,) = (table for table in TABLES[name](None, options) if table.title.endswith(title))
        return table.rows

    shown = [[row[5:] for row in rows_of("selection", ": selection", file)] for file in cases]
    assert shown[0] == shown[1] and len(shown[0]) == 6 and all(row[0] for row in shown[0])
    assert len({rows_of("workspace", "all layers and passes", file)[-1][1].value for file in cases}) == 1


def test_a_program_that_prints_less_than_is_read_is_called_too_old(convscope, monkeypatch):
    answer = program.ask(convscope, "select", DATA / "basic")
    for curve in answer["workspace_curves"]:
        curve.pop("count", None)
    monkeypatch.setattr(program, "ask", lambda *_: answer)
    done = report("table", "workspace", DATA / "basic", "--convscope", convscope)
    assert (done.code, done.out) == (2, "") and "lacks counts of layers: it is too old" in done.err


def test_counts_that_differ_between_machines_are_tables_of_their_own(tmp_path):
    made_up_gpu(tmp_path / "other", device="cpu", slower=1)
    for name in ("results.json", "results.csv"):
        file = tmp_path / "other" / name
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("Processor @ 2.50GHz", "Processor @ 3.00GHz"), encoding="utf-8")
    words = ["opcounts", DATA / "basic", tmp_path / "other", "--where", "pass=forward"]
    assert report("table", *words).out.count("\n  device cpu\n") == 1
    with (tmp_path / "other" / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["algorithm"] == "fft16.cpu" and row["flops_executed"]:
            row["flops_executed"] = str(2 * float(row["flops_executed"]))
    document = json.loads((tmp_path / "other" / "results.json").read_text(encoding="utf-8"))
    write_results(tmp_path / "other", document, rows)
    shares = [row["executed / nominal"] for row in of_csv(*words) if row["operations"] == "fft16.cpu"]
    assert float(shares[1]) == pytest.approx(2 * float(shares[0]))
    out = report("table", *words).out
    assert [line for line in out.splitlines() if "GHz" in line] == [
        "  Intel(R) Xeon(R) Processor @ 2.50GHz",
        "  Intel(R) Xeon(R) Processor @ 3.00GHz",
    ]
    assert "as of two programs" not in out


def test_only_what_tells_counts_apart_splits_their_table():
    loaded = load([DATA / "sweep"])
    made = opcounts(loaded, None)
    doubled = (loaded.records["algorithm"] == "direct.cpu") & (loaded.records["threads"] == 2)
    counts = [
        None if count is None else (1 + twice) * count
        for count, twice in zip(loaded.records["flops_executed"], doubled, strict=True)
    ]
    changed = Results(loaded.records.assign(flops_executed=counts), loaded.runs)
    split = opcounts(changed, None)
    assert {table.circumstances for table in made} == {"device cpu"}
    assert {table.circumstances for table in split} == {"device cpu, 1 thread", "device cpu, 2 threads"}
    assert len(split) == 2 * len(made)


def test_counts_that_differ_under_equal_circumstances_are_said_to():
    loaded = load([DATA / "basic"])
    records = loaded.records.assign(run=1)
    records["flops_executed"] = [
        2 * count if algorithm == "fft16.cpu" else count
        for count, algorithm in zip(records["flops_executed"], records["algorithm"], strict=True)
    ]
    both = Results(pd.concat([loaded.records, records], ignore_index=True), loaded.runs * 2)
    made = opcounts(both, None)
    assert {table.circumstances for table in made} == {"device cpu"}
    said = "Records under the same circumstances differ, as of two programs; the last is shown: fft16.cpu."
    assert all(said in table.footnotes for table in made)


def test_machines_of_two_protocols_are_said_to_be(tmp_path):
    made_up_gpu(tmp_path / "gpu")
    file = tmp_path / "gpu" / "results.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    for record in document["records"]:
        if record["time"]:
            record["time"]["protocol"] = 2
    file.write_text(json.dumps(document), encoding="utf-8")
    done = report("table", "gpus", DATA / "basic", tmp_path / "gpu", "--where", "pass=forward")
    assert done.code == 0, done.err
    assert done.out.count("Measured by versions 1, 2 of the protocol, whose times are not quite alike") == 1


@pytest.mark.parametrize("name", ["selection", "policies", "workspace"])
def test_a_run_without_records_is_said_to_hold_none(name, convscope, tmp_path):
    document = json.loads((DATA / "basic" / "results.json").read_text(encoding="utf-8"))
    file = kept_file(tmp_path / "empty.json.xz", document | {"records": []})
    done = report("table", name, file, "--convscope", convscope)
    assert (done.code, done.out) == (2, "")
    assert "empty.json.xz: no records: the run had no candidates" in done.err


@pytest.mark.parametrize("name", ["selection", "policies", "workspace"])
def test_virtual_time_is_refused_where_the_program_computes_too(name, convscope, tmp_path):
    document = json.loads((DATA / "basic" / "results.json").read_text(encoding="utf-8"))
    for record in document["records"]:
        record["device"]["name"] = "a stand-in (virtual time)"
    words = ["table", name, kept_file(tmp_path / "run.json.xz", document), "--convscope", convscope]
    done = report(*words)
    assert (done.code, done.out) == (2, "")
    assert "time is virtual" in done.err and "run.json.xz" in done.err
    assert report("--virtual-time", *words).code == 0
