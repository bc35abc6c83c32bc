"""Every table of convscope-report on small recorded results, against golden files, in every format."""

import argparse
import copy
import csv
import io
import json
import re

import pytest
from latex_structure import tabulars
from report_support import DATA, kept_file, made_up_gpu, report

from convscope_report.contexts import contexts
from convscope_report.results import load
from convscope_report.tables.fusion import fusion

GOLDEN = DATA / "golden"

# Name of the golden file: the arguments of `table`; a folder of report_data stands for itself.
CASES = {
    "layers": ["layers", "basic"],
    "layers-forward": ["layers", "basic", "--where", "pass=forward"],
    "opcounts": ["opcounts", "basic", "--where", "pass=forward"],
    "selection": ["selection", "basic"],
    "selection-repeats": ["selection", "basic", "repeat"],
    "policies": ["policies", "basic"],
    "layout": ["layout", "layouts"],
    "first-layer": ["first-layer", "basic"],
    "symmetry": ["symmetry", "basic"],
    "accuracy": ["accuracy", "basic", "--where", "layer=conv2"],
    "workspace": ["workspace", "caps"],
    "batch": ["batch", "sweep", "--where", "threads=2"],
    "threads": ["threads", "sweep"],
    "fusion": ["fusion", "fused"],
    "why-gpu": ["why-gpu", "basic", "gpu", "fused", "operations", "--where", "pass=forward"],
    "gpus": ["gpus", "basic", "gpu", "--where", "pass=forward"],
    "threads-published": [
        "threads",
        "sweep",
        "--where",
        "batch=4",
        "--published",
        "shi2016_table7",
        "--published-where",
        "network=AlexNet-S",
    ],
}
FORMATS = {"terminal": "txt", "markdown": "md", "latex": "tex", "csv": "csv"}


@pytest.fixture
def folders(tmp_path):
    """The folders that the cases name: recorded ones, a repeat of basic, and one of a made-up GPU."""
    made_up_gpu(tmp_path / "gpu")
    made_up_gpu(tmp_path / "repeat", device="cpu", slower=1.25)
    return lambda name: tmp_path / name if name in ("gpu", "repeat") else DATA / name


def same_as_golden(text, name, regenerate):
    """Compares with the golden file, or writes it."""
    file = GOLDEN / name
    if regenerate:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"{name} differs; if it should, pytest --regenerate"


def arguments(case, folders):
    known = {"repeat", "gpu", *(path.name for path in DATA.iterdir() if path.is_dir())}
    return [case[0], *(str(folders(text)) if text in known else text for text in case[1:])]


@pytest.mark.parametrize("name", CASES)
def test_table_looks_as_before(name, folders, convscope, regenerate):
    done = report("table", *arguments(CASES[name], folders), "--convscope", convscope)
    assert (done.code, done.err) == (0, "")
    same_as_golden(done.out, f"{name}.txt", regenerate)


@pytest.mark.parametrize("name", CASES)
def test_every_table_holds_together_as_latex(name, folders, convscope):
    words = ["table", *arguments(CASES[name], folders), "--convscope", convscope, "--format"]
    done = report(*words, "latex")
    assert (done.code, done.err) == (0, "")
    of_csv = []
    for row in csv.reader(io.StringIO(report(*words, "csv").out)):
        if row[:2] == ["table", "source"]:
            of_csv.append([])
        if row:
            of_csv[-1].append(len(row) - 2)
    assert tabulars(done.out) == of_csv


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_looks_as_before(form, folders, regenerate):
    done = report("table", *arguments(CASES["layers-forward"], folders), "--format", form)
    assert (done.code, done.err) == (0, "")
    same_as_golden(done.out, f"format-{form}.{FORMATS[form]}", regenerate)


def test_several_formats_are_a_file_each(folders, tmp_path):
    made = tmp_path / "made"
    made.mkdir()
    words = ["table", *arguments(CASES["layers-forward"], folders)]
    done = report(*words, "--format", "markdown,csv", "-o", made / "layers")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert sorted(path.name for path in made.iterdir()) == ["layers.csv", "layers.md"]
    for form, ending in (("markdown", "md"), ("csv", "csv")):
        assert (made / f"layers.{ending}").read_text(encoding="utf-8") == report(*words, "--format", form).out


def test_formats_without_a_file_or_unknown_are_named(folders):
    words = ["table", *arguments(CASES["layers-forward"], folders), "--format"]
    done = report(*words, "markdown,csv")
    assert (done.code, done.out) == (2, "")
    assert "--format: each of several is a file; name them with -o FILE" in done.err
    done = report(*words, "markdown,jpeg")
    assert (done.code, done.out) == (2, "")
    assert "found 'jpeg'; allowed are terminal, markdown, latex, csv" in done.err


def test_algorithms_table_looks_as_before(regenerate):
    from convscope_report.render import render
    from convscope_report.tables.algorithms import of_algorithms

    listing = json.loads((DATA / "algorithms.json").read_text(encoding="utf-8"))
    same_as_golden(render([of_algorithms(listing)], "terminal"), "algorithms.txt", regenerate)


def test_algorithms_of_the_built_program_and_every_policy_are_listed(algorithms, convscope, root):
    done = report("table", "algorithms", "--convscope", convscope, "--format", "csv")
    assert done.code == 0
    for entry in algorithms:
        assert (f",{entry['id']}," in done.out) == entry["candidate"]
    for file in (root / "configs" / "policies").glob("*.json"):
        assert file.name == "schema.json" or f",{file.stem}," in done.out


def test_every_table_is_tested():
    from convscope_report.tables import TABLES

    without_results = {"algorithms", "slides", "step-scaling"}
    assert {case[0] for case in CASES.values()} | without_results == set(TABLES)


def test_two_schema_versions_in_one_table():
    done = report("table", "layers", DATA / "basic", DATA / "schema1")
    assert done.code == 0
    assert "tiny, batch 2: forward" in done.out
    assert "case, batch 1: forward" in done.out


@pytest.mark.parametrize("name", ["selection", "policies", "workspace"])
def test_two_schema_versions_in_a_table_that_the_program_computes(name, convscope):
    done = report("table", name, DATA / "basic", DATA / "schema1", "--convscope", convscope)
    alone = report("table", name, DATA / "basic", "--convscope", convscope)
    assert (done.code, done.err) == (0, "")
    assert "tiny, batch 2" in done.out
    assert len(done.out) >= len(alone.out)


def test_repeats_of_a_candidate_count_once_and_are_named(tmp_path):
    made_up_gpu(tmp_path / "slower", device="cpu", slower=1.5)
    made_up_gpu(tmp_path / "slowest", device="cpu", slower=3)
    three = report(
        "table", "layers", tmp_path / "slowest", DATA / "basic", tmp_path / "slower", "--format", "csv"
    ).out
    middle = report("table", "layers", tmp_path / "slower", "--format", "csv").out
    assert three == middle
    said = "measured by several of these runs"
    assert said in report("table", "layers", DATA / "basic", tmp_path / "slower").out
    assert said not in report("table", "layers", DATA / "basic").out


@pytest.mark.parametrize("name", ["layers", "selection"])
def test_a_run_that_is_named_twice_is_no_repeat_of_itself(name, convscope):
    once, twice = (
        report("table", name, *[DATA / "basic"] * count, "--convscope", convscope) for count in (1, 2)
    )
    assert (twice.code, twice.out) == (0, once.out)


def test_best_row_is_the_least_of_each_column_and_never_a_published_one():
    done = report("table", "layers", DATA / "basic", "--where", "pass=forward", "--published", "kim2017")
    measured, published = done.out.split("PUBLISHED, not measured here")
    assert "*" not in published
    marked = re.findall(r"\*([0-9.]+)", measured)
    rows = json.loads((DATA / "basic" / "results.json").read_text(encoding="utf-8"))["records"]
    for layer, shown in zip(("conv1", "conv2", "conv3"), marked, strict=False):
        medians = [
            record["time"]["full"]["median_seconds"] * 1e3
            for record in rows
            if record["key"]["layer"] == layer and "forward" in record["key"]["problem"] and record["time"]
        ]
        assert f"*{min(medians):.{len(shown.split('.')[1])}f}" in measured


def test_get_and_find_of_a_gpu_are_judged(tmp_path, convscope):
    made_up_gpu(tmp_path / "gpu")
    done = report("table", "selection", tmp_path / "gpu", "--convscope", convscope)
    assert done.code == 0
    assert "cudnn.get.cuda" in done.out
    assert "cudnn.find.cuda" in done.out


def test_policies_of_a_gpu_have_sums(tmp_path, convscope):
    made_up_gpu(tmp_path / "gpu")
    done = report("table", "policies", tmp_path / "gpu", "--convscope", convscope)
    assert done.code == 0
    assert re.search(r"caffe \(default\) +cudnn", done.out)


@pytest.mark.parametrize("name", ["workspace", "policies"])
def test_records_of_two_epilogues_are_never_added_up_by_the_program(name, convscope, tmp_path):
    document = json.loads((DATA / "basic" / "results.json").read_text(encoding="utf-8"))
    forward = [one for one in document["records"] if one["key"]["problem"].startswith("forward")]
    fused = copy.deepcopy(forward)
    for record in fused:
        record["key"]["problem"] += " epilogue=bias+relu"
    both = kept_file(tmp_path / "both.json.xz", document | {"records": forward + fused})
    alone = kept_file(tmp_path / "alone.json.xz", document | {"records": forward})

    def table(*words):
        done = report("table", name, *words, "--convscope", convscope)
        assert (done.code, done.err) == (0, "")
        return done.out

    one = table(alone)
    assert table(both, "--where", "epilogue=none") == one
    heading = "workspace, all layers and passes" if name == "workspace" else "tiny, batch 2: policies"
    assert (one.count(heading), table(both).count(heading)) == (1, 2)
    assert "with bias+relu" in table(both, "--where", "epilogue=bias+relu")


def test_the_pass_as_a_copy_is_at_the_speed_of_its_own_machine(tmp_path):
    document = json.loads((DATA / "fused" / "results.json").read_text(encoding="utf-8"))
    other = copy.deepcopy(document["records"])
    for record in other:
        record["device"]["name"] = "Another processor"
        record["ceilings"]["copy_bytes"] *= 2
    document["records"] += other
    document["ceilings"].append(other[0]["ceilings"])
    merged = kept_file(tmp_path / "merged.json.xz", document)
    one, twice_as_fast = (
        table for table in fusion(load([merged]), None) if "each algorithm in both forms" in table.title
    )
    assert one.rows
    assert [row[-1] for row in one.rows] == pytest.approx([2 * row[-1] for row in twice_as_fast.rows])


def test_two_gpus_of_one_name_are_never_mixed(tmp_path):
    for index in (0, 1):
        made_up_gpu(tmp_path / str(index), slower=0.25 + index)
        records = tmp_path / str(index) / "results.json"
        document = json.loads(records.read_text(encoding="utf-8"))
        for record in document["records"]:
            record["key"]["device_index"] = index
        records.write_text(json.dumps(document), encoding="utf-8")
        file = tmp_path / str(index) / "results.csv"
        lines = file.read_text(encoding="utf-8").splitlines()
        if index:  # the file of the first is one from before the column came
            lines = [f"device_index,{lines[0]}", *(f"1,{line}" for line in lines[1:])]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    results = load([tmp_path / "0", tmp_path / "1"])
    assert set(results.records["device_index"]) == {0, 1}
    assert len(results.ranked()) == 2 * len(load([tmp_path / "0"]).ranked())
    texts = {str(circumstances) for _, circumstances, _ in contexts(results.records)}
    assert any(text.endswith("made-up GPU") for text in texts)
    assert any(text.endswith("made-up GPU (cuda:1)") for text in texts)
    assert report("table", "gpus", tmp_path / "0", tmp_path / "1").code == 0


def test_wrong_rows_are_never_best(tmp_path):
    made_up_gpu(tmp_path / "wrong", device="cpu", slower=1, outcome="wrong")
    done = report("table", "accuracy", tmp_path / "wrong")
    assert done.code == 0
    assert done.out.count("fft16.cpu (wrong)") == 9
    assert not re.search(r"\(wrong\) +[*~]", done.out)


def test_pass_without_a_right_row_is_named(tmp_path):
    made_up_gpu(tmp_path / "wrong", device="cpu", slower=1, outcome="wrong", of="backward_data")
    done = report("table", "layers", tmp_path / "wrong")
    assert done.code == 0
    assert "tiny, batch 2: backward_data\n" not in done.out
    assert re.search(r"Not in any ranking: tiny, batch 2: backward_data .*\d+ wrong.*, none right", done.out)
    assert "Not in any ranking" not in report("table", "layers", DATA / "basic").out


@pytest.mark.parametrize("name", ["layout", "first-layer", "batch", "threads", "gpus", "symmetry", "fusion"])
def test_table_without_its_rows_says_what_to_run(name):
    done = report("table", name, DATA / "schema1")
    assert done.code == 2
    assert done.out == ""
    hints = "--first-backward-data|--batch|--threads|--layout|--epilogue|two or more|without --pass"
    assert re.search(hints, done.err)


def test_parser_is_complete():
    from convscope_report.cli import VERBS, build_parser

    parser = build_parser()
    assert isinstance(parser, argparse.ArgumentParser)
    for verb in VERBS:
        done = report(verb, "--help")
        assert done.code == 0
        assert f"convscope-report {verb}" in done.out.split("Examples:")[1]


@pytest.mark.parametrize("columns", [80, 222])
def test_wide_table_goes_on_below_with_its_first_column(monkeypatch, columns):
    from convscope_report.render import terminal
    from convscope_report.table import Column, Table

    monkeypatch.setenv("COLUMNS", str(columns))
    table = Table(
        "wide",
        "How long does a question get before it is broken between two of its words, "
        "and is it broken at all on a wide terminal?",
        [Column("name"), *(Column(f"layer{number}", "number", "ms") for number in range(60))],
    )
    table.add("fft", *range(1000, 1060))
    table.note("a footnote that is long " * 4)
    lines = terminal(table).splitlines()
    assert columns - 30 < max(map(len, lines)) <= columns
    assert (
        sum(line.startswith("  name") for line in lines)
        == sum(line.startswith("  fft") for line in lines)
        > 1
    )
    assert [int(text) for line in lines if "fft" in line for text in line.split()[1:]] == list(
        range(1000, 1060)
    )


def test_flags_may_stand_before_the_results():
    behind = report("table", "layers", DATA / "basic", "--where", "pass=forward")
    before = report("table", "layers", "--where", "pass=forward", DATA / "basic")
    assert (before.code, before.out) == (0, behind.out)
    refused = report("table", "layers", "--wher", "pass=forward", DATA / "basic", "--unknown")
    assert refused.code == 2 and "--unknown" in refused.err


NOTHING_TO_SHOW = {
    "batch": ([], "all records have the same batch"),
    "threads": ([], "all records have the same number of threads"),
    "gpus": ([], "all records are of one machine"),
    "layout": (["--where", "provider=convscope"], "no record moves its tensors"),
    "fusion": ([], "no right record has an epilogue"),
    "symmetry": (["--where", "pass=forward"], "no algorithm has both a forward and a backward record"),
    "opcounts": (["--where", "outcome=unsupported"], "no record says how many operations"),
    "first-layer": (["--where", "pass=forward,backward_data"], ""),
}


@pytest.mark.parametrize("name", NOTHING_TO_SHOW)
def test_a_table_without_anything_to_show_names_the_files(name):
    flags, said = NOTHING_TO_SHOW[name]
    done = report("table", name, DATA / "basic", *flags)
    assert (done.code, done.out) == (2, "")
    assert f"{DATA / 'basic'}: {said}" in done.err
