"""What convscope-report says to files that it cannot use: one message, exit code 2, nothing printed."""

import csv
import gzip
import io
import json
import subprocess
import sys
import warnings

import pytest
from report_support import DATA, report

from convscope_report import ReportError, kept, program, results


def copy(folder, text=None, rows=None):
    """A copy of basic's two files, one of them with other contents."""
    folder.mkdir()
    for name, other in (("results.json", text), ("results.csv", rows)):
        contents = (DATA / "basic" / name).read_text(encoding="utf-8") if other is None else other
        (folder / name).write_text(contents, encoding="utf-8")
    return folder


def basic():
    return json.loads((DATA / "basic" / "results.json").read_text(encoding="utf-8"))


def without(document, *path):
    """The document without one of its fields."""
    inner = document
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return json.dumps(document)


def csv_lines():
    return (DATA / "basic" / "results.csv").read_text(encoding="utf-8").splitlines(keepends=True)


JSON_FAULTS = {
    "empty": ("", "the file is empty"),
    "truncated": (json.dumps(basic())[:5000], "cut off"),
    "no JSON": ("network,layer\na,b\n", "this is not JSON"),
    "foreign": ('{"context": {}, "benchmarks": []}', "not a result file of convscope"),
    "foreign list": ("[1, 2]", "not a result file of convscope"),
    "another schema": (
        json.dumps({**basic(), "schema_version": 99}),
        "schema_version is 99; this program reads 1, 2, 3",
    ),
    "a schema of no number": (json.dumps({**basic(), "schema_version": True}), "schema_version is true"),
    "nested": ("[" * 100_000, "nested too deeply"),
    "no records": (json.dumps({**basic(), "records": []}), "holds no records"),
    "damaged": (without(basic(), "environment"), "environment is missing"),
    "damaged record": (without(basic(), "records", 3, "key", "layer"), "record 3: 'layer' is missing"),
    "no samples": (
        without(basic(), "records", 0, "time", "full", "samples_seconds"),
        "record 0: 'samples_seconds'",
    ),
}


JSON_FAULTS["thousands of digits"] = (
    '{"schema_version": ' + "1" * 5000 + "}",
    "this is not JSON of convscope",
)
huge = basic()
huge["records"][0]["time"]["full"]["samples_seconds"][0] = 10**400
JSON_FAULTS["a time that no float holds"] = (json.dumps(huge), "record 0: int too large")


@pytest.mark.parametrize("fault", JSON_FAULTS)
def test_bad_json_is_refused(fault, tmp_path):
    text, said = JSON_FAULTS[fault]
    done = report("table", "layers", copy(tmp_path / "run", text=text))
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "results.json" in done.err
    assert done.err.count("\n") == 1


ROWS = {
    "nvidia-h200/operations/operations-alexnet": ["rows of operations", "table why-gpu"],
    "intel-f6m167-2-cores/steps/alexnet": ["a training step's tasks", "`convscope-report steps`"],
    "amd-zen4-2-cores/networks/scaling-strong": ["steps on several GPUs", "table step-scaling"],
    "intel-f6m167-2-cores/networks/allreduce-10MBs-2": ["rows of allreduce", "list columns allreduce"],
}


@pytest.mark.parametrize("kept_file", ROWS)
def test_rows_that_are_no_run_are_called_what_they_are(kept_file):
    done = report("table", "layers", kept.FOLDER / f"{kept_file}.json.xz")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert all(words in done.err for words in ["it holds no run", *ROWS[kept_file]]), done.err


def with_a_word(column, word="fast"):
    """The lines of basic's CSV with a word in place of the first row's value in a column."""
    first = csv_lines()
    values = next(csv.reader([first[1]]))
    values[next(csv.reader([first[0]])).index(column)] = word
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return "".join([first[0], text.getvalue(), *first[2:]])


CSV_FAULTS = {
    "word for a number": (with_a_word("full_median_ms"), "row 1: full_median_ms is 'fast'"),
    "an empty field": (with_a_word("count", ""), "row 1: count is empty"),
    "another pass": (with_a_word("pass", "sideways"), "row 1: pass is 'sideways', where 'forward'"),
    # What ends the process where pandas reads it by itself.
    "a number that no float holds": (
        with_a_word("full_median_ms", "51e9997203666066"),
        "full_median_ms is '51e9997203666066'",
    ),
    "empty": ("", "cannot be read as CSV"),
    "cut off": ("".join(csv_lines()[:10]), "9 rows, but results.json beside it has 54 records"),
    "of another run": ("".join([csv_lines()[0], *csv_lines()[:0:-1]]), "they are of different runs"),
    "of another program": ("name,time\n" + "a,1\n" * 54, "no column network"),
}


def test_a_time_below_zero_never_wins(tmp_path):
    document = basic()
    document["records"][2]["time"]["full"]["median_seconds"] = -5
    done = report("table", "layers", copy(tmp_path / "run", text=json.dumps(document)))
    assert (done.code, done.out) == (2, "")
    assert "results.json: /records/2: result record, at /time/full/median_seconds" in done.err
    assert "expected a number from 0 or null, found -5" in done.err


def test_a_config_of_any_shape_and_a_device_without_a_name_are_read(tmp_path):
    document, lines = basic(), csv_lines()
    device = document["records"][0]["device"]["name"]
    for record in document["records"]:
        record["device"]["name"] = ""
    first = {"name": "tiny", "layers": [{"name": "conv1", "first": True}, 7, {"name": [], "first": "yes"}]}
    document["config"] = [[first], "x", {"layers": 3}]  # merged runs of different configs are lists in a list
    rows = "".join(lines).replace(device, "")
    folder = copy(tmp_path / "run", text=json.dumps(document), rows=rows)
    done = report("table", "layers", folder)
    assert done.code == 0, done.err
    assert results.first_layers(document["config"]) == {("tiny", "conv1")}


def test_a_damaged_index_is_named_with_its_line(tmp_path):
    good = ",".join(kept.COLUMNS).encode() + b"\n"
    for content, said in (
        (b"run,device\na,b\n", "line 1"),
        (good + good + b"a,b\n", "line 3"),
        (good + b"\xff\n", "cannot be read as CSV"),
        (good + b"a" * 200_000, "field larger than field limit"),
    ):
        (tmp_path / "index.csv").write_bytes(content)
        with pytest.raises(ReportError, match="index.csv") as fault:
            kept.read_index(tmp_path)
        assert said in str(fault.value)


@pytest.mark.parametrize("part", [["started"], ["program"], ["program", "commit"]])
def test_a_run_that_does_not_say_when_it_began_is_not_kept(part, tmp_path):
    folder = copy(tmp_path / "run", text=without(basic(), "environment", *part))
    done = report("keep", folder, "--machine", "m", "--folder", tmp_path / "results")
    assert done.code == 2
    assert f"/environment/{'/'.join(part)}" in done.err


@pytest.mark.parametrize("fault", CSV_FAULTS)
def test_bad_csv_is_refused(fault, tmp_path):
    rows, said = CSV_FAULTS[fault]
    done = report("table", "layers", copy(tmp_path / "run", rows=rows))
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "results.csv" in done.err


def test_missing_csv_names_what_writes_it_again(tmp_path):
    folder = copy(tmp_path / "run")
    (folder / "results.csv").unlink()
    assert "convscope merge" in report("table", "layers", folder).err


def test_columns_that_an_older_program_did_not_write_are_read_from_the_records(tmp_path):
    rows = list(csv.DictReader(csv_lines()))
    text = io.StringIO()
    names = [name for name in rows[0] if name != "full_median_ms"]
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    older = copy(tmp_path / "older", rows=text.getvalue())
    done = report("table", "layers", older)
    assert (done.code, done.out) == (0, report("table", "layers", DATA / "basic").out)
    loaded = results.load([DATA / "basic"]).records
    suspect = loaded["percent_of_ceiling"].map(lambda share: share is not None and share > 100)
    assert list(loaded["suspect_ceiling"].map(bool)) == list(suspect) and suspect.any()


def test_folder_without_results(tmp_path):
    done = report("table", "layers", tmp_path)
    assert done.code == 2
    assert "no results.json in this folder" in done.err


def test_a_folder_without_results_among_others_is_left_out_by_name(tmp_path):
    done = report("table", "layers", tmp_path, DATA / "basic")
    assert done.code == 0
    assert done.out == report("table", "layers", DATA / "basic").out
    assert done.err == f"convscope-report: {tmp_path} is left out: no results.json in this folder\n"


def test_interrupted_run_names_the_flag_that_finishes_it(tmp_path):
    (tmp_path / "journal.jsonl").write_text("{}\n", encoding="utf-8")
    assert f"--resume {tmp_path}" in report("table", "layers", tmp_path).err


def test_file_that_is_no_text(tmp_path):
    (tmp_path / "results.json").write_bytes(b"\xff\xfe\x00\x81")
    done = report("table", "layers", tmp_path / "results.json")
    assert done.code == 2
    assert "cannot be read as text" in done.err


@pytest.mark.parametrize("words", [["table", "layers"], ["table", "step-scaling"]])
def test_a_file_of_gzip_is_called_that(words, tmp_path):
    file = tmp_path / "run.json.gz"
    file.write_bytes(gzip.compress(b"{}"))
    assert f"{file}: it is compressed by gzip, where only xz is read: " in report(*words, file).err


BAD_ARGUMENTS = {
    "no such folder": (["layers", "nowhere"], "nowhere: no such file or folder"),
    "no results": (["layers"], "no results given"),
    "no results for the program": (["selection"], "no results given"),
    "bad where": (["layers", DATA / "basic", "--where", "pass"], "expected COLUMN=VALUE"),
    "unknown column": (["layers", DATA / "basic", "--where", "passes=forward"], "no such column"),
    "a column called as Python calls objects": (
        ["layers", DATA / "basic", "--where", "self=1"],
        "--where self=...: there is no such column",
    ),
    "no such value": (
        ["layers", DATA / "basic", "--where", "pass=sideways"],
        "the values there are: backward_data",
    ),
    "no such program": (["selection", DATA / "basic", "--convscope", "nowhere"], "nowhere: no such file"),
    "no program": (["selection", DATA / "basic", "--convscope", __file__], "cannot be run: "),
    "no such figures": (["layers", DATA / "basic", "--published", "guesses"], "there are kim2017"),
    "a run for a table of none": (["algorithms", "nosuch"], "nosuch: table algorithms shows this machine's"),
    "where without records": (["algorithms", "--where", "family=direct"], "algorithms shows no records"),
    "where of slides": (["slides", "--where", "batch=256"], "slides shows no records to choose from"),
    "unwritable": (["layers", DATA / "basic", "-o", "/nowhere/table.txt"], "cannot be written"),
}


def test_values_that_are_numbers_are_named_by_size():
    assert list(results.in_order_of_size(["b", "10", "2", "a", "10", ""])) == ["2", "10", "", "a", "b"]


@pytest.mark.parametrize("fault", BAD_ARGUMENTS)
def test_bad_arguments_are_refused(fault):
    arguments, said = BAD_ARGUMENTS[fault]
    done = report("table", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize("words", [["keep", "--machine", "m"], ["save", "--name", "twice"]])
def test_a_verb_of_one_run_refuses_a_second(words):
    done = report(*words, DATA / "basic", DATA / "sweep")
    assert (done.code, done.out) == (2, "")
    assert f"unrecognized arguments: {DATA / 'sweep'}" in done.err


def test_where_of_a_computed_table_takes_its_circumstances_only(convscope):
    done = report(
        "table", "selection", DATA / "basic", "--where", "algorithm=direct.cpu", "--convscope", convscope
    )
    assert done.code == 2
    assert "can be cut by network" in done.err


@pytest.mark.parametrize(
    ("name", "said"),
    [("selection", "leaves nothing"), ("workspace", "leaves nothing"), ("policies", "cut by network, ")],
)
def test_a_layer_that_a_computed_table_cannot_show_is_named(name, said, convscope):
    done = report("table", name, DATA / "basic", "--where", "layer=conv9", "--convscope", convscope)
    assert (done.code, done.out, said in done.err) == (2, "", True)


def test_what_the_program_says_is_passed_on(convscope, tmp_path):
    document = basic()
    document["records"][0]["health"]["load_before"] = "light"
    foreign = copy(tmp_path / "foreign", text=json.dumps(document))
    done = report("table", "selection", foreign, "--convscope", convscope)
    assert done.code == 2
    assert "/health/load_before: expected a number" in done.err


@pytest.mark.parametrize("text", ["{", "[]", '{"name": "mine", "algorithms": {}, "take": "any"}'])
def test_a_damaged_policy_is_named(text, tmp_path, monkeypatch):
    (tmp_path / "configs" / "policies").mkdir(parents=True)
    (tmp_path / "configs" / "policies" / "mine.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(program, "ROOT", tmp_path)
    done = report("table", "algorithms")
    assert (done.code, done.out) == (2, "")
    assert "policies/mine.json: " in done.err


def test_entry_script_runs_from_anywhere(root, convscope, tmp_path):
    command = [sys.executable, root / "scripts" / "convscope-report", "table", "layers", DATA / "basic"]
    command += ["--convscope", convscope]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "tiny, batch 2: forward" in done.stdout


def test_output_file_is_what_would_be_printed(tmp_path):
    printed = report("table", "layers", DATA / "basic").out
    report("table", "layers", DATA / "basic", "-o", tmp_path / "table.txt")
    assert (tmp_path / "table.txt").read_text(encoding="utf-8") == printed


def test_published_lists_sources_and_filters():
    assert "ISPASS 2017" in report("published").out
    done = report("published", "shi2016_table7", "--where", "network=AlexNet-S", "--where", "framework=Torch")
    assert "PUBLISHED, not measured here" in done.out
    assert "server-cpu" in done.out
    assert "Caffe" not in done.out
    assert report("published", "shi2016_table7", "--where", "network=None").code == 2
    none = report("published", "shi2016_table7", "--where", "network=None", "--where", "framework=Torch")
    assert (none.code, "has no such rows" in none.err) == (2, True)
    assert report("published", "shi2016_table7", "--where", "colour=red").code == 2


def changed(folder, change):
    """Basic, each of its records changed; results.csv is the program's."""
    document = basic()
    for record in document["records"]:
        change(record)
    folder.mkdir()
    (folder / "results.json").write_text(json.dumps(document), encoding="utf-8")
    rows = program.output_of(None, "csv", folder / "results.json")
    (folder / "results.csv").write_text(rows, encoding="utf-8")
    return folder


def test_names_that_read_as_numbers_are_names(tmp_path):
    def numbered(record):
        record["key"]["layer"] = record["key"]["layer"].replace("conv", "0")
        record["algorithm"]["version"] = "9.10"

    records = results.load([changed(tmp_path / "run", numbered)]).records
    assert set(records["layer"]) == {"01", "02", "03"} and set(records["version"]) == {"9.10"}


def test_names_of_any_letters_are_read_in_any_locale(root, convscope, tmp_path):
    def renamed(record):
        record["key"]["layer"] = "größe"

    command = [root / "scripts" / "convscope-report", "table", "layers", changed(tmp_path / "run", renamed)]
    command = [sys.executable, *command, "--convscope", convscope, "-o", tmp_path / "table.txt"]
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=ascii_only, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "größe" in (tmp_path / "table.txt").read_text(encoding="utf-8")


def test_compare_says_why_nothing_can_be_compared(tmp_path):
    def verified(record):
        record["time"] = None

    def of_one_image(record):
        record["key"]["problem"] = record["key"]["problem"].replace("n=2", "n=1")
        record["key"]["batch"] = 1

    run = changed(tmp_path / "verified", verified)
    assert "in common: no record that both have has a time; " in report("compare", run, run).err
    done = report("compare", DATA / "basic", changed(tmp_path / "one", of_one_image))
    assert done.err.endswith(" in common: batch 2 against 1\n"), done.err


@pytest.mark.parametrize(
    ("most", "flags"), [(5, "--min-samples and --max-samples 6"), (200, "--time-limit or ")]
)
def test_compare_says_which_flags_give_more_samples(most, flags, tmp_path):
    def few(record, factor):
        record["sampling"]["max_samples"] = most
        for name in ("full", "repeat") if record["time"] else ():
            series = record["time"][name]
            series["samples_seconds"] = [factor * second for second in series["samples_seconds"][:2]]

    runs = [
        changed(tmp_path / f"{factor}", lambda record, by=factor: few(record, by)) for factor in (1.0, 1.5)
    ]
    assert f"fewer than 6 samples; give {flags}" in report("compare", *runs, "--format", "csv").out


@pytest.mark.parametrize(("name", "form"), [("all", "png"), ("layers", "svg,pdf")])
def test_names_that_the_font_lacks_are_one_sentence(name, form, tmp_path):
    def renamed(record):
        record["key"]["layer"] = record["key"]["layer"].replace("conv1", "\u65e5\u672c\u8a9e")

    run, out = changed(tmp_path / "run", renamed), tmp_path / "figures"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = report("plot", name, run, "--format", form, "-o", out)
    assert (done.code, done.err.count("\n")) == (0, 1), done.err
    assert "the font lacks \u65e5 \u672c \u8a9e: they are boxes" in done.err
    assert all((tmp_path / path).is_file() for path in done.out.split())


def test_an_unknown_verb_is_refused_with_help_as_without(root):
    words = [report("tabel"), report("tabel", "--help")]
    assert [(done.code, done.out) for done in words] == [(2, "")] * 2
    assert words[0].err == words[1].err and "invalid choice: 'tabel'" in words[0].err


LOST = (
    "convscope-report: standard output took no more: disk full or closed; what it would have said is lost\n"
)


@pytest.mark.parametrize(
    ("words", "behind"),
    [
        (["table", "layers", DATA / "basic"], ">/dev/full"),
        (["export", "benchdnn", DATA / "basic"], ">&-"),
        (["published"], ">/dev/full"),
        (["published"], ">&-"),
        (["runs"], ">/dev/full"),
        (["--help"], ">/dev/full"),
        (["--help"], ">&-"),
        (["table", "--help"], ">&-"),
    ],
)
def test_standard_output_that_is_full_or_closed_is_said(words, behind, root, convscope):
    if words[-1] == DATA / "basic":
        words = [*words, "--convscope", convscope]
    command = [sys.executable, root / "scripts" / "convscope-report", *words]
    shell = ["sh", "-c", f'"$@" {behind}', "sh", *command]
    done = subprocess.run(shell, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, LOST)


def test_a_reader_that_has_seen_enough_is_no_fault(root):
    command = f'"{sys.executable}" "{root}/scripts/convscope-report" published; echo $? >&2'
    done = subprocess.run(["sh", "-c", f"({command}) | true"], stderr=subprocess.PIPE, text=True, check=False)
    assert done.stderr == "0\n"
