"""`convscope-report import`: configs from ONNX models made here and from benchdnn batch files."""

import json
import os
import signal
from pathlib import Path

import jsonschema
import onnx
import pytest
from onnx import TensorProto, helper

from convscope_report.cli import main

SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "configs" / "schema.json").read_text(encoding="utf-8")
)


def model(tmp_path, nodes, weights, inputs, functions=(), name="net.onnx"):
    """Writes a model; weights are (name, shape), inputs (name, shape with None or text for what is open)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in inputs],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [helper.make_tensor(n, TensorProto.FLOAT, s, bytes(4 * size(s)), raw=True) for n, s in weights],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    path = tmp_path / name
    onnx.save(helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=8), path)
    return path


def size(shape):
    result = 1
    for extent in shape:
        result *= extent
    return result


def conv(x, w, y="y", name="", **attributes):
    return helper.make_node("Conv", [x, w], [y], name=name, **attributes)


def imported(path, capsys, *flags, kind="onnx"):
    """The config that `import` prints, checked against the schema, and its notes."""
    code = main(["import", kind, str(path), *flags])
    output = capsys.readouterr()
    assert code == 0, output.err
    config = json.loads(output.out)
    jsonschema.Draft202012Validator(SCHEMA).validate(config)
    return config, output.err


def refused(path, capsys, *flags, kind="onnx"):
    """The message of an import that must fail with exit code 2 and write nothing."""
    assert main(["import", kind, str(path), *flags]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    return output.err


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
    assert capsys.readouterr().out.strip() == f"{out}: 1 convolutions, 1 of them different"
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


BATCH = """\
# comment
--reset --dir=FWD_B,BWD_D
--mb=4
ic3ih227iw227_oc96oh55ow55_kh11kw11_sh4sw4ph0pw0_n"alexnet:conv1"
g2ic96ih27oc256oh27kh5ph2n"alexnet:conv2*3"
--mb=0
mb8_ic16ih10oc16oh6kh3dh1_n"dilated"   # padding derived from the output: none
mb8_ic16ih10oc16oh10kh3dh1_n"padded"
"""


def test_a_batch_file(tmp_path, capsys):
    path = tmp_path / "shapes"
    path.write_text(BATCH)
    config, notes = imported(path, capsys, kind="benchdnn")
    assert config["layers"] == [
        {
            "name": "alexnet:conv1",
            "in_channels": 3,
            "input": [227, 227],
            "out_channels": 96,
            "filter": 11,
            "stride": 4,
            "batch": 4,
        },
        {
            "name": "alexnet:conv2",
            "in_channels": 96,
            "input": [27, 27],
            "out_channels": 256,
            "filter": 5,
            "pad": 2,
            "groups": 2,
            "count": 3,
            "batch": 4,
        },
        {
            "name": "dilated",
            "in_channels": 16,
            "input": [10, 10],
            "out_channels": 16,
            "filter": 3,
            "dilation": 2,
            "batch": 8,
        },
        {
            "name": "padded",
            "in_channels": 16,
            "input": [10, 10],
            "out_channels": 16,
            "filter": 3,
            "pad": 2,
            "dilation": 2,
            "batch": 8,
        },
    ]
    assert "ignored options: --dir" in notes


def test_batch_files_include_each_other(tmp_path, capsys):
    (tmp_path / "all").write_text("--batch=one\n--batch=one\n")
    (tmp_path / "one").write_text("mb2ic4ih8oc4kh3\n")
    config, _ = imported(tmp_path / "all", capsys, kind="benchdnn")
    assert config["batch"] == 2 and config["layers"][0]["count"] == 2
    (tmp_path / "one").write_text("--batch=all\n")
    assert "includes itself" in refused(tmp_path / "all", capsys, kind="benchdnn")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ic3ih8oc4", "line 1: ic3ih8oc4: ic, ih, oc and kh are needed"),
        ("ic3ih8oc4kh3zz5", "'zz5' does not start with a benchdnn field"),
        ("g5ic3ih8oc4kh3", "5 groups do not divide"),
        ("ic3ih2oc4kh3", "does not fit"),
        ("ic3id4ih8oc4kh3", "a 3-D convolution"),
        ("ic3ih8oc4oh4kh3sh2ph0", "padding that is not symmetric"),
        ("--mb=x", "allowed is one whole number"),
        ("--mb=²", "allowed is one whole number"),
        ("--mb=" + "9" * 5000, "allowed is one whole number"),
        ("--batch=\0", "cannot be read"),
        ("ic3ih8oc4kh3oh4sh0", "sh is 0"),
        ("ic3ih8oc4kh3mb" + "9" * 5000, "allowed is up to 2147483648"),
        ("mb0ic3ih8oc4kh3", "a size is not from 1"),
        ("ic3ih8oc4kh3na*2147483648 ic3ih8oc4kh3", "2147483649 times"),
        ("# nothing", "no convolution in it"),
        ('ic3ih8oc4kh3n"open', "No closing quotation"),
    ],
)
def test_a_bad_line_is_named(tmp_path, capsys, line, words):
    path = tmp_path / "shapes"
    path.write_text(line + "\n")
    assert words in refused(path, capsys, kind="benchdnn")


def test_long_names_that_are_alike_stay_apart(tmp_path, capsys):
    (tmp_path / "shapes").write_text("".join(f"ic3ih8oc{n}kh3n{'é' * 60}\n" for n in (1, 2)))
    config, _ = imported(tmp_path / "shapes", capsys, kind="benchdnn")
    assert [layer["name"] for layer in config["layers"]] == ["é" * 50, "é" * 49 + "_2"]


def test_a_file_whose_name_is_no_utf8_is_imported(tmp_path, capsys):
    path = tmp_path / os.fsdecode(b"shapes\xff")
    path.write_text("ic3ih8oc4kh3\n")
    config, _ = imported(path, capsys, kind="benchdnn")
    assert config["name"] == "shapes?"


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
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "ended with SIGSEGV over its shapes"),
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


def test_our_descriptors_come_back(tmp_path, capsys, root, run_convscope):
    """What the program writes as benchdnn descriptors is read back as the same problems."""
    listing = run_convscope("list", "layers", root / "configs" / "smoke.json", "--json")
    assert listing.returncode == 0, listing.stderr
    layers = json.loads(listing.stdout)["layers"]
    path, out = tmp_path / "shapes", tmp_path / "again.json"
    path.write_text("".join(f'{layer["benchdnn"]}n"{layer["name"]}"\n' for layer in layers))
    assert main(["import", "benchdnn", str(path), "-o", str(out)]) == 0
    capsys.readouterr()
    again = json.loads(run_convscope("list", "layers", out, "--json").stdout)["layers"]
    assert len(layers) > 5
    assert [layer["problem"] for layer in again] == [layer["problem"] for layer in layers]
