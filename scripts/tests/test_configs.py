"""The shipped configs fit configs/schema.json, and configs that are wrong do not."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
SCHEMA = json.loads((CONFIGS / "schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SHIPPED = sorted(path for path in CONFIGS.glob("*.json") if path.name != "schema.json")

GOOD = {
    "name": "n",
    "layers": [{"name": "a", "in_channels": 4, "input": [8, 8], "out_channels": 4, "filter": 3}],
}


def changed(change: dict, layer: dict | None = None) -> dict:
    """GOOD with other keys at the top and in its layer; a value of None takes the key out."""
    config = copy.deepcopy(GOOD)
    for target, keys in ((config, change), (config["layers"][0] if config["layers"] else {}, layer or {})):
        for key, value in keys.items():
            if value is None:
                del target[key]
            else:
                target[key] = value
    return config


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_config_fits(path):
    config = json.loads(path.read_text(encoding="utf-8"))
    assert [error.message for error in VALIDATOR.iter_errors(config)] == []
    assert config["$schema"] == "schema.json"


def test_there_are_shipped_configs():
    assert {"alexnet", "alexnet_full", "smoke"} <= {path.stem for path in SHIPPED}


@pytest.mark.parametrize(
    "config",
    [
        GOOD,
        changed({"batch": 3, "devices": "cpu", "passes": "forward", "layouts": "nhwc", "threads": 0}),
        changed({"batch": {"cpu": [1, 2], "cuda": 4}, "algorithms": ["fft*", "winograd.*"]}),
        changed({"measuring": {"cache": ["cold", "hot"], "workspace_cap": [0, "8MiB", "inf"]}}),
        changed({"measuring": {"time_limit_s": 0.5, "seed": 9, "confidence_width": 0.01}}),
        changed({}, {"reads": ["b", "c"], "before": ["pool 3x3/2 pad 1", "pool 2x2/1"]}),
        changed({}, {"reads": "b", "before": "pool 3x2/2"}),
        changed({}, {"reads": "b", "before": ["mean 3x3/1 pad 1", "mean 3x3/1 pad 1 uncounted"]}),
        changed({}, {"after": ["relu", "mean 2x2/2"]}),
        changed({}, {"reads": ["b", {"reads": ["c", "d"], "before": "pool 3x3/2"}]}),
        changed({"graph": [{"name": "a", "reads": ["b", "c"], "before": "pool 3x3/1 pad 1"}]}),
        changed({}, {"filter": [1, 7], "pad": [0, 3], "stride": 2, "groups": 2, "first": True}),
    ],
)
def test_a_good_config_fits(config):
    assert [error.message for error in VALIDATOR.iter_errors(config)] == []


@pytest.mark.parametrize(
    "config",
    [
        [],
        "alexnet",
        changed({"name": None}),
        changed({"name": ""}),
        changed({"name": "a\nb"}),
        changed({"layers": None}),
        changed({"layers": []}),
        changed({"pases": "forward"}),
        changed({"passes": []}),
        changed({"passes": ["foward"]}),
        changed({"passes": ["forward", "forward"]}),
        changed({"math": "fp64"}),
        changed({"layouts": "NCHW"}),
        changed({"devices": ["cpu:x"]}),
        changed({"algorithms": []}),
        changed({"threads": -1}),
        changed({"batch": 0}),
        changed({"batch": {"cuda:1": 1}}),
        changed({"first_backward_data": "yes"}),
        changed({"measuring": {"workspace_cap": "256MB"}}),
        changed({"measuring": {"cache": "warm"}}),
        changed({"measuring": {"time_limit_s": 0}}),
        changed({"measuring": {"time_limit": 3}}),
        changed({"measuring": {"min_samples": 0}}),
        changed({"measuring": {"confidence_width": 2}}),
        changed({"measuring": {"seed": -1}}),
        changed({}, {"filter": None}),
        changed({}, {"padding": 1}),
        changed({}, {"stride": 0}),
        changed({}, {"stride": "2"}),
        changed({}, {"pad": -1}),
        changed({}, {"input": [8, 8, 8]}),
        changed({}, {"in_channels": 1.5}),
        changed({}, {"count": 0}),
        changed({}, {"groups": 2147483649}),
        changed({}, {"first": 1}),
        changed({}, {"reads": []}),
        changed({}, {"reads": ["b", "b"]}),
        changed({}, {"before": "relu"}),
        changed({"graph": [{"name": "a", "before": ["pool 3x3"]}]}),
        changed({}, {"before": "mean 3x3/1 uncounted"}),
        changed({}, {"reads": [{"reads": "b"}]}),
        changed({}, {"reads": [{"reads": [{"reads": "b", "before": "pool 1x1/1"}], "before": "pool 1x1/1"}]}),
        changed({}, {"after": "pool 3x3/1 pad 1 uncounted"}),
    ],
    ids=lambda config: json.dumps(config)[-60:],
)
def test_a_bad_config_does_not_fit(config):
    assert list(VALIDATOR.iter_errors(config)) != []
