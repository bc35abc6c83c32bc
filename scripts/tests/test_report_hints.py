"""What convscope-report says to names that are nearly right: of columns and values, of runs, of folders."""

import json
import shutil

import pytest
from report_support import DATA, kept_file, report

RUN = DATA / "basic"


def said(*words) -> str:
    """What is said to words that are refused."""
    done = report(*words)
    assert (done.code, done.out) == (2, "")
    return done.err


def test_the_nearest_column_is_named():
    assert "--where lyer=...: there is no such column; did you mean layer? the columns are network, " in said(
        "table", "layers", RUN, "--where", "lyer=conv1"
    )
    assert "; the columns are network" in said("table", "layers", RUN, "--where", "xyzzy=1")


def test_the_nearest_value_is_named():
    err = said("table", "layers", RUN, "--where", "pass=Forward")
    assert "pass=Forward leaves no records; did you mean forward? the values there are: backward_data" in err
    err = said("table", "layers", RUN, "--where", "batch=12")
    assert "batch=12 leaves no records; the values there are: 2" in err


@pytest.mark.parametrize("verb", [("table", "layers"), ("plot", "layers"), ("export", "benchdnn")])
def test_a_value_of_no_record_is_named_beside_one_that_some_have(verb):
    err = said(*verb, RUN, "--where", "pass=forward", "--where", "layer=conv1,conv9")
    assert "--where layer=conv9 is of no record; did you mean conv" in err


def test_values_that_another_condition_leaves_out_are_no_mistake():
    layers = ("--where", "layer=conv1,conv2", "--where", "layer=conv1")
    assert report("table", "layers", RUN, *layers, "--where", "pass=forward").code == 0


@pytest.mark.parametrize("words", [("table", "layers", RUN), ("compare", RUN, RUN)])
def test_two_conditions_in_one_are_refused(words):
    err = said(*words, "--where", "layer=conv1,pass=forward")
    assert "pass=forward is another condition; give it a --where of its own, as in " in err
    assert "--where layer=conv1 --where pass=forward" in err


def test_two_conditions_in_one_on_published_figures_are_refused():
    both = ("--published-where", "network=AlexNet-S,framework=Torch")
    err = said("table", "layers", RUN, "--published", "shi2016_table7", *both)
    assert "framework=Torch is another condition; give it a --published-where of its own" in err


def test_a_path_without_its_ending_and_the_name_of_a_kept_run_are_understood(tmp_path, monkeypatch):
    file = tmp_path / "m" / "before.json.xz"
    file.parent.mkdir()
    file.touch()
    monkeypatch.chdir(tmp_path)
    assert said("table", "layers", "m/before").rstrip().endswith("did you mean m/before.json.xz?")
    assert "kept runs in it: before.json.xz" in said("table", "layers", "m")
    err = said("table", "layers", "amd-zen4-2-cores/alexnet")
    assert err.rstrip().endswith("results/amd-zen4-2-cores/alexnet.json.xz?")


def test_a_folder_of_another_kind_of_step_is_no_folder_that_step_did_not_write(tmp_path):
    for name in ("tasks.json", "steps.json"):
        (tmp_path / name[:5]).mkdir()
        (tmp_path / name[:5] / name).write_text(json.dumps({"rows": []}), encoding="utf-8")
    one, several = tmp_path / "tasks", tmp_path / "steps"
    for words in (("plot-timeline",), ("table", "slides"), ("table", "step-scaling")):
        assert "it holds a step that was run on one device" in said(*words, one)
    for verb in ("steps", "plot-step"):
        assert "it holds steps on several GPUs" in said(verb, several)
    shutil.copy(one / "tasks.json", several)
    assert "no rows of a step" in said("steps", several)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("tasks.json", "a training step's tasks: `convscope-report steps` and `plot-step` read them"),
        ("steps.json", "training steps on several GPUs: `convscope-report table step-scaling` reads them"),
        ("operations.json", "operations: `convscope-report table why-gpu RUN OPERATIONS` reads them"),
        ("allreduce.json", "allreduce: no verb of convscope-report reads them"),
        (None, "`convscope step`, `operations` or `allreduce` was interrupted in it"),
    ],
)
def test_a_folder_of_another_verb_is_no_interrupted_run(file, words, tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    (folder / "journal.jsonl").write_text('{"schema_version":1,"argv":["convscope","step"]}\n')
    if file:
        (folder / file).write_text(json.dumps({"rows": []}), encoding="utf-8")
    for verb in (("report", folder), ("compare", RUN, folder), ("keep", folder, "--machine", "m")):
        err = said(*verb)
        assert words in err and "--resume" not in err
    beside = report("table", "layers", RUN, folder)
    assert (beside.code, beside.out) == (0, report("table", "layers", RUN).out)
    assert f"{folder} is left out: no results.json in this folder" in beside.err


def other_run(file, batch, name):
    """Keep RUN as one of another network at another batch, or of another machine; return its file."""
    document = json.loads((RUN / "results.json").read_text(encoding="utf-8"))
    for record in document["records"]:
        record["key"]["network"] = "another"
        record["key"]["problem"] = record["key"]["problem"].replace(" n=2 ", f" n={batch} ")
        record["device"]["name"] = name or record["device"]["name"]
    return kept_file(file, document)


def test_runs_that_differ_in_more_than_what_a_table_compares_are_not_called_alike(convscope, tmp_path):
    program = ("--convscope", convscope)
    other = other_run(tmp_path / "batch.json.xz", 4, None)
    expected = "no right records of one network and machine differ in their batch alone; run a config"
    assert expected in said("table", "batch", RUN, other, *program)
    scaling = said("plot", "scaling", RUN, other, *program, "-o", tmp_path)
    assert "no right records of one network and machine differ in threads or batch alone; run" in scaling
    other = other_run(tmp_path / "machine.json.xz", 4, "Another")
    expected = "no right records of two machines are alike in all else; name the result folders"
    assert expected in said("table", "gpus", RUN, other, *program)


@pytest.mark.parametrize(("complete", "words"), [(False, "--resume"), (True, "the run had no candidates")])
def test_a_run_that_was_interrupted_before_its_first_record_is_called_so(complete, words, tmp_path):
    document = json.loads((RUN / "results.json").read_text(encoding="utf-8"))
    document["records"], document["environment"]["complete"] = [], complete
    (tmp_path / "results.json").write_text(json.dumps(document), encoding="utf-8")
    err = said("table", "layers", tmp_path)
    assert words in err and ("interrupted before its first record" in err) != complete
