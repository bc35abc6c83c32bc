"""The convolutions of an ONNX model, and what lies between them, as a config.

Shapes are those that the onnx package infers.

Only shapes are read: weights kept in files beside the model are not needed.
Operators: https://onnx.ai/onnx/operators/onnx__Conv.html.
"""

import multiprocessing
import signal
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnx.inliner
from google.protobuf.message import DecodeError

from convscope_report import ReportError
from convscope_report.configs_from.config_file import (
    Config,
    Layer,
    batches_settled,
    clean_name,
    symmetric_pads,
)
from convscope_report.configs_from.network import Place, joined
from convscope_report.configs_from.onnx_attributes import attributes_of, numbers, paddings
from convscope_report.configs_from.onnx_network import Network

# A convolution whose input depends on the result of one of these has something to train before it.
TRAINED = {
    "Conv",
    "ConvTranspose",
    "ConvInteger",
    "QLinearConv",
    "FusedConv",
    "DeformConv",
    "Gemm",
    "MatMul",
    "MatMulInteger",
    "QLinearMatMul",
    "Gather",
    "LSTM",
    "GRU",
    "RNN",
    "BatchNormalization",
    "Einsum",
}
# Convolutions that a config cannot say, with the reason.
OTHER = {
    "ConvTranspose": "a transposed convolution: the backward-data pass of a layer with the channels swapped",
    "DeformConv": "a deformable convolution",
}
# Their input and filter by place in the node's inputs; all are the same arithmetic to a layer config.
FORWARD = {"Conv": (0, 1), "FusedConv": (0, 1), "ConvInteger": (0, 1), "QLinearConv": (0, 3)}


@dataclass
class Convolution:
    """A convolution node: where it stands, and the shapes around it (None where not known).

    `result` is the value that it gives; None in a branch or a loop.
    """

    node: onnx.NodeProto
    where: str
    input: list | None
    filter: list | None
    first: bool
    result: str | None


def import_onnx(
    path: Path, input_shapes: dict[str, list[int]], enlarge: bool = False, skip: bool = False
) -> Config:
    """Return the config of a model. `input_shapes` has dimensions by input, "" standing for the only one.

    `enlarge` writes padding that is not symmetric as a larger input; `skip` leaves out what no config can
    say.
    Raises ReportError.
    """
    model = loaded(path)
    set_input_shapes(model, input_shapes, path)
    symbolic_batch = batch_is_symbolic(model)
    for graph in (model.graph, *model.functions):
        refuse_zeros(graph, path)
    model = inferred(model, path)
    notes: list[str] = []
    found = convolutions(model.graph, {}, set(), "", notes)
    refused: list[str] = []
    places: list[Place] = []
    place_of: dict[str, int] = {}
    for convolution in found:
        try:
            layer = as_layer(convolution, symbolic_batch, enlarge, notes)
        except ReportError as error:
            refused.append(f"{path.name}: {convolution.where}: {error}")
        else:
            if convolution.result:
                place_of[convolution.result] = len(places)
            places.append(Place(layer))
    if refused and not skip:
        advice = "nothing written; --skip-refused leaves these out"
        if not enlarge and any("not symmetric" in line for line in refused):
            advice += ", --asymmetric enlarge takes the padding into the input"
        raise ReportError("\n".join([*refused, advice]))
    if not places:
        raise ReportError(
            f"{path}: no convolution in it (operators: "
            f"{', '.join(sorted({node.op_type for node in model.graph.node})) or 'none'})"
        )
    notes += [f"left out: {line}" for line in refused]
    source = f"ONNX model {path.name}"
    if model.producer_name:
        source += f", written by {model.producer_name} {model.producer_version}".rstrip()
    notes += Network(model.graph, places, place_of, shapes_of(model.graph)).describe()
    layers, graph = joined(places)
    return batches_settled(Config(path.stem, source, layers, graph=graph, notes=notes))


def loaded(path: Path) -> onnx.ModelProto:
    """Return the model, without weights that lie in files of their own."""
    try:
        model = onnx.load(str(path), format="protobuf", load_external_data=False)
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror}") from error
    except (DecodeError, ValueError) as error:
        raise ReportError(f"{path}: not an ONNX model, or cut short: {error}") from error
    if not model.graph.node and not model.graph.input:
        raise ReportError(f"{path}: not an ONNX model: it has no graph")
    return model


def real_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """List the graph's inputs that are no weights."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in weights]


def set_input_shapes(model: onnx.ModelProto, shapes: dict[str, list[int]], path: Path) -> None:
    """Write the given dimensions into the model's inputs and forget what was inferred from others."""
    inputs = {value.name: value for value in real_inputs(model)}
    names = ", ".join(inputs) or "none"
    for name, dimensions in shapes.items():
        if name == "" and len(inputs) != 1:
            raise ReportError(
                f"{path}: --input-shape needs a name, as in NAME=1,3,224,224; the inputs are {names}"
            )
        value = inputs.get(name) if name else next(iter(inputs.values()))
        if value is None:
            raise ReportError(f"{path}: --input-shape names {name!r}; the inputs are {names}")
        shape = value.type.tensor_type.shape
        if value.type.tensor_type.HasField("shape") and len(shape.dim) != len(dimensions):
            raise ReportError(
                f"{path}: --input-shape for {value.name!r} has {len(dimensions)} dimensions, "
                f"the model {len(shape.dim)}"
            )
        shape.ClearField("dim")
        for dimension in dimensions:
            shape.dim.add().dim_value = dimension
    if shapes:
        model.graph.ClearField("value_info")
        for value in model.graph.output:
            value.type.tensor_type.ClearField("shape")


def batch_is_symbolic(model: onnx.ModelProto) -> bool:
    """Say whether the model leaves its batch open; if so, set it to 1 for inferring the other sizes."""
    symbolic = False
    for value in real_inputs(model):
        dims = value.type.tensor_type.shape.dim
        if len(dims) >= 3 and dims[0].dim_value < 1:
            dims[0].dim_value = 1
            symbolic = True
    if symbolic:
        for value in model.graph.output:
            value.type.tensor_type.ClearField("shape")
    return symbolic


def refuse_zeros(graph, path: Path) -> None:
    """Raise ReportError for a stride and its like below 1: onnx divides by it, which ends the process."""
    for index, node in enumerate(graph.node):
        for attribute in node.attribute:
            values = [*attribute.ints, *([attribute.i] if attribute.type == attribute.INT else [])]
            if (
                attribute.name in ("strides", "dilations", "kernel_shape", "group")
                and min(values, default=1) < 1
            ):
                raise ReportError(
                    f"{path}: {node.op_type} {name_of(node) or index}: its attribute {attribute.name} is "
                    f"{str(values)[:100]}; allowed are whole numbers from 1"
                )
            for inner in (attribute.g, *attribute.graphs):
                refuse_zeros(inner, path)


def inferred(model: onnx.ModelProto, path: Path) -> onnx.ModelProto:
    """Return the model with the shapes of its intermediate values, functions inlined.

    In a process of its own, which a damaged model can end.
    """
    fork = multiprocessing.get_context("fork")
    answer, write_end = fork.Pipe(duplex=False)
    child = fork.Process(target=_infer, args=(model, write_end))
    child.start()
    write_end.close()
    try:
        text, fault = answer.recv()
    except EOFError:
        text, fault = None, None
    child.join()
    if fault is not None:
        raise ReportError(f"{path}: its shapes contradict each other: {fault}")
    if text is None:
        how = signal.Signals(-child.exitcode).name if child.exitcode < 0 else f"code {child.exitcode}"
        raise ReportError(f"{path}: the onnx package ended with {how} over its shapes: the model is damaged")
    return onnx.ModelProto.FromString(text)


def _infer(model: onnx.ModelProto, answer) -> None:
    try:
        if model.functions:
            model = onnx.inliner.inline_local_functions(model)
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except (onnx.shape_inference.InferenceError, ValueError, RuntimeError) as error:
        answer.send((None, str(error)))
    else:
        answer.send((model.SerializeToString(), None))


def shapes_of(graph: onnx.GraphProto) -> dict[str, list]:
    """Return the dimensions of every named value of a graph; None for a dimension that is not known."""
    known: dict[str, list] = {}
    for value in (*graph.input, *graph.output, *graph.value_info):
        tensor = value.type.tensor_type
        if tensor.HasField("shape"):
            known[value.name] = [dim.dim_value if dim.dim_value > 0 else None for dim in tensor.shape.dim]
    known.update({tensor.name: list(tensor.dims) for tensor in graph.initializer})
    return known


def name_of(node) -> str:
    """Return a node's name, or that of its result."""
    return node.name or "".join(node.output[:1])


def convolutions(graph, outer: dict, trained: set[str], place: str, notes: list[str]) -> list[Convolution]:
    """List the convolution nodes of a graph in its order, with those of the branches and loops in it."""
    shapes = outer | shapes_of(graph)
    found = []
    for number, node in enumerate(graph.node):
        where = f"{place}{node.op_type} {name_of(node) or number}"
        after_trained = any(name in trained for name in node.input)
        if node.op_type in FORWARD or node.op_type in OTHER:
            names = [
                node.input[index] if index < len(node.input) else ""
                for index in FORWARD.get(node.op_type, (0, 1))
            ]
            own = (shapes.get(name) for name in names)
            result = node.output[0] if node.output and not place else None
            found.append(Convolution(node, where, *own, names[0] not in trained, result))
        if after_trained or node.op_type in TRAINED:
            trained.update(node.output)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner.node:
                    inside = convolutions(inner, shapes, trained, f"{where} > ", notes)
                    if inside:
                        notes.append(f"{where}: {len(inside)} convolutions inside, each counted once")
                        trained.update(node.output)
                    found += inside
    return found


def as_layer(convolution: Convolution, symbolic_batch: bool, enlarge: bool, notes: list[str]) -> Layer:
    """Return the layer that a node is; raises ReportError with the reason where a config cannot say it."""
    node = convolution.node
    if node.op_type in OTHER:
        raise ReportError(OTHER[node.op_type])
    if convolution.input is None or convolution.filter is None or None in convolution.filter:
        raise ReportError(
            "the sizes of its input or filter are not known; give the model's input with --input-shape"
        )
    if None in convolution.input:
        known = ", ".join("?" if size is None else str(size) for size in convolution.input)
        raise ReportError(f"its input is [{known}]; give the model's input with --input-shape")
    attributes = attributes_of(node)
    axes = len(convolution.input) - 2
    if axes not in (1, 2):
        raise ReportError(f"a {axes}-D convolution; only 1-D and 2-D ones can be measured")
    size, taps = convolution.input[2:], convolution.filter[2:]
    if len(taps) != axes:
        raise ReportError(f"its filter has {len(taps)} axes, its input {axes}")
    stride, dilation = (numbers(attributes, name, [1] * axes, 1) for name in ("strides", "dilations"))
    (groups,) = numbers(attributes, "group", [1], 1)
    padding = paddings(attributes, size, taps, stride, dilation)
    names = "axis 2", "axis 3"
    pads, grown = symmetric_pads(size, taps, stride, dilation, padding, names, enlarge)
    notes += [
        f"{convolution.where}: padding {padding[i][0]} and {padding[i][1]} along {names[i]} became data: "
        f"its input is written with {size[i]} instead of {convolution.input[i + 2]}"
        for i in grown
    ]
    if axes == 1:
        notes.append(f"{convolution.where}: 1-D, written as a convolution over one row")
        size, taps, stride, pads, dilation = [1, *size], [1, *taps], [1, *stride], [0, *pads], [1, *dilation]
    layer = Layer(
        clean_name(name_of(node), "conv"),
        convolution.input[1],
        tuple(size),
        convolution.filter[0],
        *map(tuple, (taps, stride, pads, dilation)),
        groups,
        first=convolution.first,
        batch=None if symbolic_batch else convolution.input[0],
    )
    if convolution.filter[1] * layer.groups != layer.in_channels:
        raise ReportError(
            f"{convolution.filter[1]} filter channels in {layer.groups} groups do not fit "
            f"{layer.in_channels} input channels"
        )
    if defect := layer.defect():
        raise ReportError(defect)
    return layer
