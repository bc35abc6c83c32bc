"""`convscope-report import onnx`: the convolutions of models made here."""

import os
import signal

import onnx
import pytest
from import_support import conv, imported, model, refused
from onnx import TensorProto, helper

from convscope_report.cli import main


def test_layers_counts_and_first(tmp_path, capsys):
    nodes = [
        conv("x", "w1", "a", "stem", strides=[2, 2], pads=[3, 3, 3, 3]),
        helper.make_node("Relu", ["a"], ["b"]),
        conv("b", "w2", "c", "block/conv", pads=[1, 1, 1, 1]),
        conv("c", "w2", "d", "block/again", pads=[1, 1, 1, 1]),
        conv("d", "w3", "e", "depthwise", group=8, dilations=[2, 2], pads=[2, 2, 2, 2]),
        conv("e", "w4", "y", "flat", pads=[0, 3, 0, 3]),
    ]
    weights = [("w1", [8, 3, 7, 7]), ("w2", [8, 8, 3, 3]), ("w3", [8, 1, 3, 3]), ("w4", [4, 8, 1, 7])]
    config, notes = imported(model(tmp_path, nodes, weights, [("x", [5, 3, 32, 40])]), capsys)
    assert notes == ""
    assert (config["name"], config["batch"]) == ("net", 5)
    assert config["layers"] == [
        {
            "name": "stem",
            "in_channels": 3,
            "input": [32, 40],
            "out_channels": 8,
            "filter": 7,
            "stride": 2,
            "pad": 3,
            "first": True,
            "after": ["relu"],
        },
        {
            "name": "block/conv",
            "in_channels": 8,
            "input": [16, 20],
            "out_channels": 8,
            "filter": 3,
            "pad": 1,
            "count": 2,
        },
        {
            "name": "depthwise",
            "in_channels": 8,
            "input": [16, 20],
            "out_channels": 8,
            "filter": 3,
            "pad": 2,
            "dilation": 2,
            "groups": 8,
        },
        {
            "name": "flat",
            "in_channels": 8,
            "input": [16, 20],
            "out_channels": 4,
            "filter": [1, 7],
            "pad": [0, 3],
        },
    ]


def test_the_program_reads_it(tmp_path, capsys, run_convscope):
    path = model(
        tmp_path,
        [conv("x", "w", group=2, strides=[2, 1], pads=[1, 0, 1, 0])],
        [("w", [6, 2, 3, 1])],
        [("x", ["N", 4, 9, 7])],
    )
    out = tmp_path / "net.json"
    assert main(["import", "onnx", str(path), "-o", str(out)]) == 0
    assert capsys.readouterr().out.strip() == f"{out}: 1 convolution, 1 of them different"
    listing = run_convscope("list", "layers", out, "--json")
    assert listing.returncode == 0, listing.stderr
    assert "c=4 hw=9x7 k=6 rs=3x1 stride=2x1 pad=1x0 dilation=1x1 groups=2" in listing.stdout


def test_an_open_batch_stays_open(tmp_path, capsys):
    config, _ = imported(
        model(tmp_path, [conv("x", "w")], [("w", [2, 3, 1, 1])], [("x", ["N", 3, 4, 4])]), capsys
    )
    assert "batch" not in config


def test_open_sizes_need_a_shape(tmp_path, capsys):
    path = model(tmp_path, [conv("x", "w")], [("w", [2, 3, 1, 1])], [("x", ["N", 3, "H", "W"])])
    message = refused(path, capsys)
    assert "input is [1, 3, ?, ?]" in message and "--input-shape" in message
    config, _ = imported(path, capsys, "--input-shape", "2,3,6,8")
    assert (config["batch"], config["layers"][0]["input"]) == (2, [6, 8])


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--input-shape", "z=1,3,4,4"], "names 'z'; the inputs are x"),
        (["--input-shape", "1,3,4"], "has 3 dimensions, the model 4"),
        (["--input-shape", "1,3,H,4"], "allowed is N,C,H,W"),
        (["--input-shape", "1,5,4,4"], "do not fit"),
    ],
)
def test_a_wrong_shape_is_refused(tmp_path, capsys, flags, words):
    path = model(tmp_path, [conv("x", "w")], [("w", [2, 3, 1, 1])], [("x", ["N", 3, "H", "W"])])
    message = refused(path, capsys, *flags)
    assert words in message or "contradict" in message


def test_padding_that_is_not_symmetric(tmp_path, capsys):
    nodes = [conv("x", "w", "a", "one", pads=[0, 0, 1, 1], strides=[2, 2]), conv("a", "v", "y", "two")]
    path = model(tmp_path, nodes, [("w", [2, 3, 3, 3]), ("v", [2, 2, 1, 1])], [("x", [1, 3, 8, 8])])
    message = refused(path, capsys)
    assert "Conv one: 0 zeros before and 1 after axis 2: padding that is not symmetric" in message
    assert "--asymmetric enlarge" in message and "--skip-refused" in message
    config, notes = imported(path, capsys, "--asymmetric", "enlarge")
    assert config["layers"][0]["input"] == [9, 9] and "pad" not in config["layers"][0]
    assert config["layers"][1]["input"] == [4, 4]
    assert "became data" in notes
    config, notes = imported(path, capsys, "--skip-refused")
    assert [layer["name"] for layer in config["layers"]] == ["two"]
    assert "left out: net.onnx: Conv one" in notes


def test_zeros_that_no_tap_reads_do_not_matter(tmp_path, capsys):
    path = model(
        tmp_path,
        [conv("x", "w", pads=[1, 1, 0, 0], strides=[2, 2])],
        [("w", [2, 3, 3, 3])],
        [("x", [1, 3, 8, 8])],
    )
    config, _ = imported(path, capsys)
    assert config["layers"][0]["pad"] == 1


@pytest.mark.parametrize(
    ("mode", "extent", "pad"), [("SAME_UPPER", 9, 1), ("SAME_LOWER", 9, 1), ("VALID", 9, 0)]
)
def test_auto_pad(tmp_path, capsys, mode, extent, pad):
    path = model(
        tmp_path,
        [conv("x", "w", auto_pad=mode, strides=[2, 2])],
        [("w", [2, 3, 3, 3])],
        [("x", [1, 3, extent, extent])],
    )
    config, _ = imported(path, capsys)
    assert config["layers"][0].get("pad", 0) == pad


def test_auto_pad_that_is_not_symmetric(tmp_path, capsys):
    path = model(
        tmp_path,
        [conv("x", "w", auto_pad="SAME_UPPER", strides=[2, 2])],
        [("w", [2, 3, 3, 3])],
        [("x", [1, 3, 8, 8])],
    )
    assert "0 zeros before and 1 after" in refused(path, capsys)


def test_one_and_three_dimensions(tmp_path, capsys):
    config, notes = imported(
        model(tmp_path, [conv("x", "w", pads=[2, 2])], [("w", [4, 3, 5])], [("x", [1, 3, 20])]), capsys
    )
    assert config["layers"][0]["input"] == [1, 20]
    assert config["layers"][0]["filter"] == [1, 5] and config["layers"][0]["pad"] == [0, 2]
    assert "1-D" in notes
    solid = model(tmp_path, [conv("x", "w")], [("w", [4, 3, 1, 1, 1])], [("x", [1, 3, 4, 4, 4])])
    assert "a 3-D convolution" in refused(solid, capsys)


def test_a_transposed_convolution_is_refused(tmp_path, capsys):
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], name="up")
    message = refused(model(tmp_path, [node], [("w", [3, 2, 2, 2])], [("x", [1, 3, 4, 4])]), capsys)
    assert "ConvTranspose up: a transposed convolution" in message


def test_a_function_is_looked_into(tmp_path, capsys):
    function = helper.make_function(
        "local",
        "Twice",
        ["a", "w"],
        ["c"],
        [conv("a", "w", "b"), conv("b", "w", "c")],
        [helper.make_opsetid("", 17)],
    )
    node = helper.make_node("Twice", ["x", "w"], ["y"], domain="local")
    path = model(tmp_path, [node], [("w", [3, 3, 1, 1])], [("x", [1, 3, 4, 4])], [function])
    config, _ = imported(path, capsys)
    assert [layer.get("first", False) for layer in config["layers"]] == [True, False]


def test_a_branch_is_looked_into(tmp_path, capsys):
    def branch(name):
        out = helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, [1, 2, 4, 4])
        return helper.make_graph([conv("x", "w", f"{name}_y", name)], name, [], [out])

    condition = helper.make_tensor("c", TensorProto.BOOL, [], [True])
    nodes = [
        helper.make_node("Constant", [], ["c"], value=condition),
        helper.make_node("If", ["c"], ["y"], name="choice", then_branch=branch("t"), else_branch=branch("e")),
    ]
    config, notes = imported(model(tmp_path, nodes, [("w", [2, 3, 1, 1])], [("x", [1, 3, 4, 4])]), capsys)
    assert config["layers"][0]["count"] == 2
    assert "If choice: 1 convolutions inside" in notes


def test_names_are_made_fit(tmp_path, capsys):
    nodes = [conv("x", "w", "a", "same"), conv("a", "v", "b", "same"), conv("b", "u", "y", "n\n" + "x" * 200)]
    weights = [("w", [2, 3, 1, 1]), ("v", [2, 2, 1, 1]), ("u", [2, 2, 2, 2])]
    config, _ = imported(model(tmp_path, nodes, weights, [("x", [1, 3, 4, 4])]), capsys)
    names = [layer["name"] for layer in config["layers"]]
    assert names[:2] == ["same", "same_2"]
    assert len(names[2]) == 100 and names[2].startswith("n x")


@pytest.mark.parametrize("content", [b"", b"not a model", b'{"schema_version": 2}', b"\x08\x07\x12"])
def test_what_is_no_model_is_refused(tmp_path, capsys, content):
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    assert "not an ONNX model" in refused(path, capsys)


def test_a_truncated_model_is_refused(tmp_path, capsys):
    whole = model(tmp_path, [conv("x", "w")], [("w", [2, 3, 1, 1])], [("x", [1, 3, 4, 4])]).read_bytes()
    path = tmp_path / "cut.onnx"
    path.write_bytes(whole[: len(whole) // 2])
    assert "cut" in refused(path, capsys)


def test_a_missing_file_and_a_model_without_convolutions(tmp_path, capsys):
    assert "cannot be read" in refused(tmp_path / "none.onnx", capsys)
    path = model(tmp_path, [helper.make_node("Relu", ["x"], ["y"])], [], [("x", [1, 3])])
    assert "no convolution in it (operators: Relu)" in refused(path, capsys)


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"strides": [0, 1]}, "its attribute strides is [0, 1]; allowed are whole numbers from 1"),
        ({"strides": [1]}, "its attribute strides is [1]"),
        ({"strides": "fast"}, "its attribute strides is b'fast'"),
        ({"dilations": 1.5}, "its attribute dilations is 1.5"),
        ({"pads": [1, 1]}, "its attribute pads is [1, 1]"),
        ({"pads": [0, 0, 0, -1]}, "its attribute pads is [0, 0, 0, -1]"),
        ({"group": 0}, "its attribute group is [0]"),
        ({"auto_pad": 1}, "its attribute auto_pad is 1"),
    ],
)
def test_an_attribute_of_another_kind_is_named(tmp_path, capsys, monkeypatch, attributes, words):
    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", lambda model, **_: model)
    path = model(tmp_path, [conv("x", "w", **attributes)], [("w", [4, 3, 3, 3])], [("x", [1, 3, 8, 8])])
    if attributes == {"strides": [0, 1]}:
        monkeypatch.undo()  # the library itself ends the process, by a division by 0
    assert words in refused(path, capsys)


def test_a_convolution_without_a_filter_or_with_one_of_another_rank_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", lambda model, **_: model)
    alone = helper.make_node("Conv", ["x"], ["y"])
    path = model(tmp_path, [alone], [("w", [4, 3, 3, 3])], [("x", [1, 3, 8, 8])])
    assert "sizes of its input or filter are not known" in refused(path, capsys)
    path = model(tmp_path, [conv("x", "w")], [("w", [4, 3, 3])], [("x", [1, 3, 8, 8])])
    assert "its filter has 1 axes, its input 2" in refused(path, capsys)


def test_a_model_that_ends_the_onnx_package_is_refused(tmp_path, capsys, monkeypatch):
    path = model(tmp_path, [conv("x", "w")], [("w", [4, 3, 3, 3])], [("x", [1, 3, 8, 8])])
    for ends, words in (
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "ended with SIGKILL over its shapes"),
        (lambda: os._exit(7), "ended with code 7 over its shapes"),
    ):
        monkeypatch.setattr(onnx.shape_inference, "infer_shapes", lambda *_, ends=ends, **__: ends())
        assert f"{path}: the onnx package {words}: the model is damaged" in refused(path, capsys)


def test_a_convolution_that_gives_nothing_is_a_layer_all_the_same(tmp_path, capsys):
    nothing = helper.make_node("FusedConv", ["x", "w"], [], domain="local")
    path = model(tmp_path, [nothing], [("w", [4, 3, 3, 3])], [("x", [1, 3, 8, 8])])
    config, _ = imported(path, capsys)
    assert [layer["out_channels"] for layer in config["layers"]] == [4]


@pytest.mark.parametrize("name", ["net.json", "net.textproto", "net.onnxtxt"])
def test_a_file_of_any_name_that_is_no_model_is_refused(tmp_path, capsys, name):
    (tmp_path / name).write_text("no model")
    assert "not an ONNX model" in refused(tmp_path / name, capsys)
