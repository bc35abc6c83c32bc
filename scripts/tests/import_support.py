"""For tests of `convscope-report import`: ONNX models made here, and what an import says."""

import json
from pathlib import Path

import jsonschema
import onnx
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
