"""The shipped policies fit configs/policies/schema.json, and the verbs run over the committed results."""

import json
from pathlib import Path

import jsonschema
import pytest
from cli_support import run

ROOT = Path(__file__).resolve().parents[2]
POLICIES = ROOT / "configs" / "policies"
SCHEMA = json.loads((POLICIES / "schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SHIPPED = sorted(path for path in POLICIES.glob("*.json") if path.name != "schema.json")
GOOD = {"name": "p", "source": "s", "library": "cudnn", "algorithms": {"forward": ["cudnn.get"]}}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_policy_fits(path):
    policy = json.loads(path.read_text(encoding="utf-8"))
    assert [error.message for error in VALIDATOR.iter_errors(policy)] == []
    assert policy["$schema"] == "schema.json"


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"workspace_cap": "8MB"},
        {"workspace_cap": -1},
        {"layout": "NCHW"},
        {"math": "fp64"},
        {"take": "best"},
        {"default": "yes"},
        {"algorithms": {}},
        {"algorithms": {"foward": ["a"]}},
        {"algorithms": {"forward": []}},
        {"colour": "red"},
    ],
    ids=json.dumps,
)
def test_a_wrong_policy_fits_neither_the_schema_nor_the_program(change, run_convscope, results, tmp_path):
    policy = GOOD | change
    assert list(VALIDATOR.iter_errors(policy)) != []
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(policy), encoding="utf-8")
    done = run_convscope("policies", results, "--policy", path)
    assert done.returncode == 2
    assert f"{path}: at /" in done.stderr


@pytest.fixture(scope="module")
def results():
    """A kept AlexNet run, on a CPU."""
    return ROOT / "results" / "amd-zen4-2-cores" / "alexnet.json.xz"


def test_select_prints_tables_and_json(run_convscope, results):
    text = run_convscope("select", results)
    assert text.returncode == 0, text.stderr
    assert "onednn.auto.cpu all passes" in text.stdout
    assert "workspace curve of alexnet, batch 16" in text.stdout
    document = json.loads(run_convscope("select", results, "--json").stdout)
    assert len(document["networks"][0]["oracles"]) == 14


def test_policies_are_labelled_and_name_what_is_missing(run_convscope, results):
    done = run_convscope("policies", results, "--policy", POLICIES)
    assert done.returncode == 0, done.stderr
    assert "policy emulation on onednn 2.6.3" in done.stdout
    assert "these results have no record for any layer (library: cudnn): caffe" in done.stdout
    assert "cpu_onednn: no sum with conv1 backward_data" in done.stdout


def test_policies_are_found_from_any_folder_and_by_name(convscope, results, tmp_path):
    """As configs are; a folder configs/policies beneath the current one comes first."""

    def priced(*words):
        done = run(convscope, "policies", results, "--json", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return {policy["policy"] for policy in json.loads(done.stdout)[0]["policies"]}

    assert priced() == {path.stem for path in SHIPPED}
    assert priced("--policy", "cpu_onednn,caffe") == {"cpu_onednn", "caffe"}
    near = tmp_path / "configs" / "policies"
    near.mkdir(parents=True)
    (near / "mine.json").write_text(json.dumps(GOOD | {"name": "mine"}), encoding="utf-8")
    assert priced() == {"mine"}
    assert priced("--policy", "caffe,mine") == {"caffe", "mine"}
    unknown = run(convscope, "policies", results, "--policy", "cafe", cwd=tmp_path)
    assert unknown.returncode == 2
    assert "cafe: there is no such file, and no policy of that name" in unknown.stderr
    assert 'did you mean "caffe"?' in unknown.stderr


def test_a_step_finds_a_policy_from_any_folder(convscope, results, tmp_path):
    words = ["--rows", results, "--batch", "16", "--threads", "2", "--time-limit", "0.1"]
    done = run(convscope, "step", "smoke", "--choose", "cpu_onednn", *words, cwd=tmp_path)
    assert done.returncode == 2  # these rows are of another network: that is all that is missing
    assert "--choose cpu_onednn: the policy takes no record of" in done.stderr


def test_choose_says_its_regret_beside_the_librarys(run_convscope, results):
    done = run_convscope("choose", "--results", results)
    assert done.returncode == 0, done.stderr
    assert "convscope's cost model" in done.stdout
    assert "onednn.auto.cpu" in done.stdout


def test_choose_predicts_a_config(run_convscope):
    done = run_convscope(
        "choose", ROOT / "configs" / "smoke.json", "--device", "cpu", "--batch", "1", "--json"
    )
    assert done.returncode == 0, done.stderr
    groups = json.loads(done.stdout)
    assert groups
    for group in groups:
        seconds = [one["seconds"] for one in group["predictions"]]
        assert seconds == sorted(seconds)
        assert group["chosen"] == group["predictions"][0]["algorithm"]


def test_choose_names_the_machine_as_other_tables_do(run_convscope, small_results):
    document = json.loads((small_results / "results.json").read_text(encoding="utf-8"))
    device = document["records"][0]["device"]
    more = f" ({device['machine_class']})" if device["machine_class"] else ""
    words = ["choose", small_results.parent / "config.json", "--device", "cpu", "--threads", "1"]
    done = run_convscope(*words, "--batch", "1")
    assert done.returncode == 0, done.stderr
    assert f"{device['name']}{more}\n" in done.stdout


@pytest.mark.parametrize("verb", ["select", "policies"])
def test_a_missing_file_is_named(run_convscope, verb):
    done = (
        run_convscope(verb, "/nowhere", "--policy", POLICIES)
        if verb == "policies"
        else run_convscope(verb, "/nowhere")
    )
    assert done.returncode == 2
    assert "/nowhere" in done.stderr
