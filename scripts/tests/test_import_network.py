"""`convscope-report import onnx`: what lies between the convolutions, as `after`, `reads` and `graph`."""

import json

import numpy as np
import pytest
from import_support import conv, imported, model
from onnx import numpy_helper
from onnx.helper import make_graph, make_node, make_tensor

from convscope_report.configs_from.config_file import Layer
from convscope_report.configs_from.network import Place, Read
from convscope_report.configs_from.onnx_network import Network


def block(x, names, projection=False):
    """Return the nodes of a residual block of two convolutions, and the value that it gives."""
    first, second, shortcut = (f"{name}.out" for name in (*names, "none")[:3])
    nodes = [
        conv(x, "w3", first, names[0], pads=[1, 1, 1, 1]),
        make_node("BatchNormalization", [first, "s", "s", "s", "s"], [f"{first}.n"]),
        make_node("Relu", [f"{first}.n"], [f"{first}.r"]),
        conv(f"{first}.r", "w3", second, names[1], pads=[1, 1, 1, 1]),
        make_node("BatchNormalization", [second, "s", "s", "s", "s"], [f"{second}.n"]),
    ]
    other = x
    if projection:
        nodes.append(conv(x, "w1", shortcut, names[2]))
        other = shortcut
    nodes += [
        make_node("Add", [f"{second}.n", other], [f"{second}.a"]),
        make_node("Relu", [f"{second}.a"], [f"{second}.y"]),
    ]
    return nodes, f"{second}.y"


WEIGHTS = [("w0", [8, 3, 3, 3]), ("w3", [8, 8, 3, 3]), ("w1", [8, 8, 1, 1]), ("s", [8])]
STEM = [conv("x", "w0", "stem.out", "stem", pads=[1, 1, 1, 1]), make_node("Relu", ["stem.out"], ["stem.r"])]
INPUT = [("x", [2, 3, 12, 12])]


def steps(convscope_run, config, tmp_path):
    """What a step of the config, that it runs, says."""
    path = tmp_path / "net.json"
    path.write_text(json.dumps(config))
    run = convscope_run("step", path, "--algorithm", "im2col*", "--threads", "1", "--time-limit", "0.1")
    assert run.returncode == 0, run.stderr
    return run.stdout


def by_name(places):
    return {
        place["name"]: {k: v for k, v in place.items() if k in ("layer", "reads", "before", "after")}
        for place in places
    }


def test_a_residual_block_of_equal_convolutions_becomes_a_graph(tmp_path, capsys, run_convscope):
    one, value = block("stem.r", ("a", "b"))
    two, _ = block(value, ("c", "d", "e"), projection=True)
    config, notes = imported(model(tmp_path, STEM + one + two, WEIGHTS, INPUT), capsys)
    assert notes == ""
    assert [(layer["name"], layer.get("count", 1)) for layer in config["layers"]] == [
        ("stem", 1),
        ("a", 4),
        ("e", 1),
    ]
    assert by_name(config["layers"]) == {
        "stem": {"after": ["relu"]},
        "a": {"after": ["batch_norm", "relu"]},
        "e": {},
    }
    assert by_name(config["graph"]) == {
        "stem": {},
        "a": {},
        "b": {"layer": "a", "after": ["batch_norm", "add stem", "relu"]},
        "c": {"layer": "a"},
        "d": {"layer": "a", "after": ["batch_norm"]},
        "e": {"reads": "b", "after": ["add d", "relu"]},
    }  # fmt: skip
    steps(run_convscope, config, tmp_path)


def test_convolutions_that_all_differ_say_themselves_what_they_read(tmp_path, capsys, run_convscope):
    nodes = [
        *STEM,
        conv("stem.r", "w1", "p", "projection"),
        conv("stem.r", "w3", "q", "main", pads=[1, 1, 1, 1]),
        make_node("Add", ["p", "q"], ["y"]),
    ]
    config, _ = imported(model(tmp_path, nodes, WEIGHTS, INPUT), capsys)
    assert "graph" not in config
    assert by_name(config["layers"]) == {
        "stem": {"after": ["relu"]},
        "projection": {},
        "main": {"reads": "stem", "after": ["add projection"]},
    }
    steps(run_convscope, config, tmp_path)


def test_equal_convolutions_in_a_row_need_no_graph(tmp_path, capsys):
    nodes = list(STEM)
    for i in range(3):
        nodes += [
            conv("stem.r" if i == 0 else f"r{i - 1}", "w1", f"c{i}", f"c{i}"),
            make_node("Relu", [f"c{i}"], [f"r{i}"]),
        ]
    config, _ = imported(model(tmp_path, nodes, WEIGHTS, INPUT), capsys)
    assert "graph" not in config
    assert (config["layers"][1]["count"], config["layers"][1]["after"]) == (3, ["relu"])


def test_what_no_config_says_is_noted_and_nothing_follows_it(tmp_path, capsys):
    nodes = [
        *STEM,
        conv("stem.r", "w1", "p", "left"),
        conv("stem.r", "w1", "q", "right"),
        make_node("Concat", ["p", "q"], ["both"], axis=1),
        make_node("Relu", ["both"], ["r"]),
        conv("r", "w2", "y", "last"),
    ]
    config, notes = imported(model(tmp_path, nodes, [*WEIGHTS, ("w2", [4, 16, 1, 1])], INPUT), capsys)
    assert "1 convolution reads what a config cannot say (Relu 1)" in notes
    assert by_name(config["graph"])["right"] == {"layer": "left", "reads": "stem"}
    assert by_name(config["graph"])["last"] == {}
    assert "after" not in config["layers"][1]


SAME = {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1]}


def test_concatenations_and_pools_before_several_layers_are_read(tmp_path, capsys, run_convscope):
    """As an inception module, and the pool behind it."""
    nodes = [
        *STEM,
        conv("stem.r", "w1", "p", "left"),
        conv("stem.r", "w3", "q", "middle", pads=[1, 1, 1, 1]),
        make_node("MaxPool", ["stem.r"], ["m"], **SAME),
        conv("m", "w6", "r", "right"),
        make_node("Concat", ["p", "q", "r"], ["all"], axis=1),
        conv("all", "w22", "y", "whole"),
        make_node("MaxPool", ["all"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
        conv("half", "w22", "z", "half"),
        make_node("MaxPool", ["half"], ["again"], **SAME),
        conv("again", "w22", "v", "again"),
    ]
    weights = [*WEIGHTS, ("w6", [6, 8, 1, 1]), ("w22", [4, 22, 1, 1])]
    config, notes = imported(model(tmp_path, nodes, weights, INPUT), capsys)
    assert notes == ""
    parts = ["left", "middle", "right"]
    assert by_name(config["graph"]) == {
        "stem": {},
        "left": {},
        "middle": {"reads": "stem"},
        "right": {"reads": "stem", "before": ["pool 3x3/1 pad 1"]},
        "whole": {"reads": parts},
        "half": {"reads": parts, "before": ["pool 2x2/2"]},
        "again": {"layer": "half", "reads": parts, "before": ["pool 2x2/2", "pool 3x3/1 pad 1"]},
    }
    assert "chains" not in steps(run_convscope, config, tmp_path), "one piece"


def test_a_pool_of_a_concatenation_beside_other_outputs_is_one_of_its_parts(tmp_path, capsys, run_convscope):
    """As where Inception v3 halves its images."""
    nodes = [
        *STEM,
        conv("stem.r", "w1", "p", "left"),
        make_node("Concat", ["stem.r", "p"], ["all"], axis=1),
        conv("all", "w16", "h", "half", strides=[2, 2], pads=[1, 1, 1, 1]),
        make_node("MaxPool", ["all"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        make_node("Concat", ["h", "m"], ["both"], axis=1),
        conv("both", "w20", "q", "one"),
        make_node("AveragePool", ["both"], ["a"], **SAME),
        conv("a", "w20", "y", "two"),
    ]
    weights = [*WEIGHTS, ("w16", [4, 16, 3, 3]), ("w20", [4, 20, 1, 1])]
    config, notes = imported(model(tmp_path, nodes, weights, INPUT), capsys)
    assert notes == ""
    reads = ["half", {"reads": ["stem", "left"], "before": ["pool 2x2/2"]}]
    assert by_name(config["graph"]) == {
        "stem": {},
        "left": {},
        "half": {"reads": ["stem", "left"]},
        "one": {"reads": reads},
        "two": {"layer": "one", "reads": reads, "before": ["mean 3x3/1 pad 1 uncounted"]},
    }
    assert "chains" not in steps(run_convscope, config, tmp_path), "one piece"


@pytest.mark.parametrize(
    ("inputs", "axis", "channels", "reads"),
    [
        (["p", "q"], 1, 16, ["one", "two"]),
        (["q", "p"], -3, 16, ["two", "one"]),
        (["q"], 1, 8, "two"),
        (["inner", "q"], 1, 24, ["three", "one", "two"]),
        (["p", "q"], 2, 8, None),
        (["p", "p"], 1, 16, None),
        (["p", "x"], 1, 11, None),
        (["p", "pooled"], 1, 16, ["one", {"reads": "three", "before": ["pool 3x3/1 pad 1"]}]),
        (["inner", "p"], 1, 24, None),
    ],
)
def test_a_concatenation_is_read_where_a_config_can_say_it(tmp_path, capsys, inputs, axis, channels, reads):
    nodes = [
        conv("x", "w0", "t", "three", pads=[1, 1, 1, 1]),
        conv("t", "w1", "p", "one"),
        conv("t", "w3", "q", "two", pads=[1, 1, 1, 1]),
        make_node("MaxPool", ["t"], ["pooled"], **SAME),
        make_node("Concat", ["t", "p"], ["inner"], axis=1),
        make_node("Concat", inputs, ["all"], axis=axis),
        conv("all", "w", "y", "last"),
    ]
    config, notes = imported(model(tmp_path, nodes, [*WEIGHTS, ("w", [5, channels, 1, 1])], INPUT), capsys)
    found = by_name(config["layers"])["last"].get("reads")
    assert found == (None if reads == "two" else reads), "the layer before need not be named"
    assert ("1 convolution reads what a config cannot say (Concat 1)" in notes) == (reads is None)


def test_a_value_that_several_read_ends_what_follows_its_layer(tmp_path, capsys):
    """As SiLU, x sigmoid(x): what comes behind it is not of the convolution."""
    nodes = [
        conv("x", "w0", "a", "one", pads=[1, 1, 1, 1]),
        make_node("Sigmoid", ["a"], ["g"]),
        make_node("Relu", ["a"], ["r"]),
        make_node("Mul", ["r", "g"], ["m"]),
        conv("m", "w1", "y", "two"),
    ]
    config, notes = imported(model(tmp_path, nodes, WEIGHTS, INPUT), capsys)
    assert by_name(config["layers"]) == {"one": {}, "two": {}}
    assert "(Mul 1)" in notes


POOLS = [
    ({"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}, 12, "pool 3x3/2 pad 1"),
    ({"kernel_shape": [2, 2], "strides": [2, 2]}, 12, "pool 2x2/2"),
    ({"kernel_shape": [3, 2], "strides": [2, 1]}, 13, "pool 3x2/2x1"),
    # The zeros behind are read by no window.
    ({"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 0, 1, 1]}, 12, "pool 2x2/2"),
    ({"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, 12, None),
    ({"kernel_shape": [2, 2], "dilations": [2, 2]}, 12, None),
    ({"kernel_shape": [3, 3], "strides": [2, 2], "pads": [0, 0, 1, 1]}, 12, None),
]


HALVED = {"kernel_shape": [3, 3], "strides": [2, 2]}
BEFORE = HALVED | {"pads": [1, 1, 0, 0]}
COUNTED = {"count_include_pad": 1}
MEANS = [
    (SAME, 12, "mean 3x3/1 pad 1 uncounted"),
    (SAME | COUNTED, 12, "mean 3x3/1 pad 1"),
    ({"kernel_shape": [5, 5], "strides": [3, 3]}, 14, "mean 5x5/3"),
    ({"kernel_shape": [5, 5], "strides": [3, 3]} | COUNTED, 14, "mean 5x5/3"),
    ({"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 0]}, 13, "mean 3x2/2x1 pad 1x0 uncounted"),
    ({"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER"}, 12, "mean 3x3/1 pad 1 uncounted"),
    (HALVED | {"auto_pad": "SAME_UPPER"}, 12, None),
    (HALVED | {"ceil_mode": 1}, 12, None),
    (BEFORE | COUNTED, 12, "mean 3x3/2 pad 1"),
    # The last window reaches one column further than the zeros behind, which a config would count.
    (BEFORE | {"ceil_mode": 1}, 13, "mean 3x3/2 pad 1 uncounted"),
    (BEFORE | {"ceil_mode": 1} | COUNTED, 13, None),
]


@pytest.mark.parametrize(("attributes", "extent", "after"), MEANS)
def test_an_average_pool_is_a_mean_that_counts_its_padding_or_not(
    tmp_path, capsys, run_convscope, attributes, extent, after
):
    nodes = [
        conv("x", "w0", "a", "one", pads=[1, 1, 1, 1]),
        make_node("AveragePool", ["a"], ["p"], **attributes),
        conv("p", "w1", "y", "two"),
    ]
    config, notes = imported(model(tmp_path, nodes, WEIGHTS, [("x", [1, 3, extent, extent])]), capsys)
    assert config["layers"][0].get("after") == ([after] if after else None)
    assert ("AveragePool" in notes) == (after is None)
    steps(run_convscope, config, tmp_path)


def test_a_global_average_pool_is_a_mean_of_the_whole_image(tmp_path, capsys, run_convscope):
    nodes = [
        *STEM,
        conv("stem.r", "w1", "p", "left"),
        conv("stem.r", "w3", "q", "right", pads=[1, 1, 1, 1]),
        make_node("Concat", ["p", "q"], ["both"], axis=1),
        make_node("GlobalAveragePool", ["both"], ["m"]),
        conv("m", "w16", "y", "classifier"),
    ]
    weights = [*WEIGHTS, ("w16", [4, 16, 1, 1])]
    config, notes = imported(model(tmp_path, nodes, weights, [("x", [2, 3, 12, 9])]), capsys)
    assert notes == ""
    last = by_name(config["layers"])["classifier"]
    assert last == {"reads": ["left", "right"], "before": ["mean 12x9/1"]}
    assert "chains" not in steps(run_convscope, config, tmp_path), "one piece"


@pytest.mark.parametrize(("attributes", "extent", "after"), POOLS)
def test_a_pool_follows_where_a_config_has_it(tmp_path, capsys, run_convscope, attributes, extent, after):
    nodes = [
        conv("x", "w0", "a", "one", pads=[1, 1, 1, 1]),
        make_node("MaxPool", ["a"], ["p"], **attributes),
        conv("p", "w1", "y", "two"),
    ]
    config, notes = imported(model(tmp_path, nodes, WEIGHTS, [("x", [1, 3, extent, extent])]), capsys)
    assert config["layers"][0].get("after") == ([after] if after else None)
    assert ("MaxPool" in notes) == (after is None)
    steps(run_convscope, config, tmp_path)


@pytest.mark.parametrize(
    ("node", "weights", "after"),
    [
        (make_node("LRN", ["a"], ["b"], size=5), [], "lrn"),
        (make_node("LRN", ["a"], ["b"], size=3), [], None),
        (make_node("Add", ["a", "s1"], ["b"]), [("s1", [1, 8, 1, 1])], "bias"),
        (make_node("Add", ["one", "a"], ["b"]), [("one", [1])], None),
        (make_node("Clip", ["a", "low", "high"], ["b"]), [], "relu"),
        (make_node("Clip", ["a", "high"], ["b"]), [], None),
        (make_node("Clip", ["a"], ["b"]), [], None),
        (make_node("LeakyRelu", ["a"], ["b"]), [], None),
    ],
)
def test_an_operation_follows_where_a_config_has_it(tmp_path, capsys, node, weights, after):
    ends = [
        make_node("Constant", [], [name], value=numpy_helper.from_array(np.float32(value)))
        for name, value in (("low", 0), ("high", 6))
    ]
    nodes = [*ends, conv("x", "w0", "a", "one", pads=[1, 1, 1, 1]), node, conv("b", "w1", "y", "two")]
    config, notes = imported(model(tmp_path, nodes, [*WEIGHTS, *weights], INPUT), capsys)
    assert config["layers"][0].get("after") == ([after] if after else None)
    assert ("cannot say" in notes) == (after is None)
    assert ("Clip" in notes) == (node.op_type == "Clip")


def test_a_bias_and_what_passes_a_value_on_are_seen(tmp_path, capsys):
    nodes = [
        make_node("Conv", ["x", "w0", "s"], ["a"], name="one", pads=[1, 1, 1, 1]),
        make_node("Identity", ["a"], ["i"]),
        make_node("Relu", ["i"], ["r"]),
        make_node("Dropout", ["r"], ["d"]),
        conv("d", "w1", "y", "two"),
    ]
    config, notes = imported(model(tmp_path, nodes, WEIGHTS, INPUT), capsys)
    assert config["layers"][0]["after"] == ["bias", "relu"]
    assert notes == ""


def test_an_attribute_of_another_kind_lets_nothing_follow(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("onnx.shape_inference.infer_shapes", lambda model, **_: model)
    pool = make_node("MaxPool", ["x"], ["p"], kernel_shape="wide")
    clip = make_node("Clip", ["p", "low"], ["c"])
    low = make_tensor("low", 1, [1], bytes(4), raw=True)
    low.raw_data = b"\0"
    nodes = [make_node("Constant", [], ["low"], value=low), pool, clip, conv("x", "w1", "y", "one")]
    config, _ = imported(model(tmp_path, nodes, [("w1", [8, 3, 1, 1])], INPUT), capsys)
    assert "after" not in config["layers"][0]


@pytest.mark.parametrize(
    ("activation", "more", "after", "reads"),
    [
        ({}, [], [], (Read(0),)),
        ({"activation": "Relu"}, [], ["relu"], (Read(0),)),
        ({"activation": "Tanh"}, [], [], ()),
        ({"activation": "Relu"}, ["", "z"], [], ()),
    ],
)
def test_a_fused_convolution_has_the_relu_that_it_names(activation, more, after, reads):
    nodes = [make_node("FusedConv", ["x", "w", *more], ["a"], **activation), conv("a", "v")]
    graph = make_graph(nodes, "g", [], [])
    first, second = (Place(Layer(name, 8, (5, 5), 8, (1, 1))) for name in ("one", "two"))
    Network(graph, [first, second], {"a": 0, "y": 1}, {}).describe()
    assert (first.after, second.reads) == (after, reads)
