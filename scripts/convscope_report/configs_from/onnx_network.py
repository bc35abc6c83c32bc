"""What stands between the convolutions of an ONNX graph: what each reads, and what follows it.

A convolution's operations end where several nodes read the value, as at the beginning of a residual block,
and where an operator follows that no config has. A pool of such a value, or of a concatenation, stands before
those that read it. Only the graph itself is looked at, not its branches and loops.
Operators: https://onnx.ai/onnx/operators/.
"""

from collections import Counter

import numpy as np
import onnx

from convscope_report import ReportError
from convscope_report.configs_from.config_file import output_size, pair
from convscope_report.configs_from.network import Place, Read, is_pool
from convscope_report.configs_from.onnx_attributes import attributes_of, numbers, paddings
from convscope_report.table import counted

# Their result counts as their input: Dropout does nothing in inference.
PASSED = {"Identity", "Dropout"}
# Their bias, by place in the node's inputs.
BIAS = {"Conv": 2, "FusedConv": 2, "QLinearConv": 8}
# What a config calls them.
POOLS = {"MaxPool": "pool", "AveragePool": "mean", "GlobalAveragePool": "mean"}


class Network:
    """Finds what each of the places reads and what follows it, and writes it into them."""

    def __init__(self, graph, places: list[Place], place_of: dict[str, int], shapes: dict[str, list]):
        """`place_of` by the value that a convolution gives, in the graph's order; `shapes` by value."""
        self.graph, self.places, self.place_of, self.shapes = graph, places, place_of, shapes
        self.same_as: dict[str, str] = {}
        self.constants = {tensor.name: tensor for tensor in graph.initializer}
        # The place whose output, after its operations until there, a value is.
        self.source: dict[str, int] = {}
        # What a value is besides: places' outputs behind one another along channels, and pools of them.
        self.joined: dict[str, tuple[tuple[Read, ...], tuple[str, ...]]] = {}
        self.given_by: dict[str, str] = {}
        for node in graph.node:
            self.given_by.update(dict.fromkeys(node.output, node.op_type))
            if node.op_type in PASSED and node.input and node.output:
                self.same_as[node.output[0]] = self.real(node.input[0])
            if node.op_type == "Constant" and node.output:
                tensors = [a.t for a in node.attribute if a.name == "value"]
                self.constants.update(zip(node.output, tensors, strict=False))
        readers = (name for node in graph.node if node.op_type not in PASSED for name in set(node.input))
        self.readers = Counter(self.real(name) for name in readers)

    def real(self, value: str) -> str:
        """Return the value that this one is, behind what passes it on."""
        return self.same_as.get(value, value)

    def describe(self) -> list[str]:
        """Fill the places; return notes on what a config cannot say."""
        lost: Counter[str] = Counter()
        clips = 0
        for node in self.graph.node:
            if not node.output or node.op_type in PASSED:
                continue
            value = node.output[0]
            inputs = [self.real(name) for name in node.input]
            if value in self.place_of:
                index = self.place_of[value]
                self.read(index, node, inputs, lost)
                if self.fuses_what_a_config_says(index, node, inputs):
                    self.source[value] = index
            elif operation := self.operation(node, inputs):
                if not self.follow(inputs[0], value, operation):
                    self.pool(inputs[0], value, operation)
                clips += node.op_type == "Clip" and value in self.source
            elif node.op_type in ("Add", "Sum") and len(inputs) == 2:
                self.add(*inputs, value)
            elif node.op_type == "Concat":
                self.concatenate(node, inputs, value)
        notes = []
        if lost:
            verb = "reads" if lost.total() == 1 else "read"
            operators = ", ".join(f"{name} {count}" for name, count in sorted(lost.items()))
            notes.append(
                f"{counted(lost.total(), 'convolution')} {verb} what a config cannot say ({operators}): in "
                "a step it is random data, or the result of the layer before where that has the shape"
            )
        if clips:
            notes.append(f"{clips} Clip from 0 on became relu, which reads and writes the same")
        return notes

    def read(self, index: int, node, inputs: list[str], lost: Counter) -> None:
        """Note what a convolution reads, and that it has a bias."""
        place = self.places[index]
        if len(inputs) > BIAS.get(node.op_type, len(inputs)) and inputs[BIAS[node.op_type]]:
            place.after.append("bias")
        data = inputs[0]
        parts, pools = self.parts(data)
        layer = place.layer
        if self.shape_of(parts, pools) == (layer.in_channels, layer.input, layer.batch):
            place.reads, place.before = parts, pools
        elif not layer.first:
            lost[self.given_by.get(data, "an input")] += 1

    def fuses_what_a_config_says(self, index: int, node, inputs: list[str]) -> bool:
        """Add the ReLU of a FusedConv; False where it has another activation, or an addition."""
        if node.op_type != "FusedConv":
            return True
        activations = [attribute.s for attribute in node.attribute if attribute.name == "activation"]
        if any(inputs[3:]) or activations not in ([], [b"Relu"]):
            return False
        self.places[index].after += ["relu"] * len(activations)
        return True

    def output_of(self, index: int) -> tuple:
        """Return channels, image and batch of a place's output, after what follows it until now."""
        place = self.places[index]
        image = place.layer.output()
        for operation in place.after:
            if is_pool(operation):
                image = pooled(image, operation)
        return place.layer.out_channels, image, place.layer.batch

    def parts(self, value: str) -> tuple[tuple[Read, ...], tuple[str, ...]]:
        """Return the places whose outputs a value is, behind one another, and pools of them; empty: none."""
        index = self.source.get(value)
        return self.joined.get(value, ((), ())) if index is None else ((Read(index),), ())

    def shape_of(self, parts: tuple[Read, ...], pools: tuple[str, ...]) -> tuple | None:
        """Return channels, image and batch of places' outputs behind one another, pooled; None: no such."""
        outputs = [self.output_of(read.index) for read in parts]
        images = [pooled(image, *read.through) for read, (_, image, _) in zip(parts, outputs, strict=True)]
        batches = {batch for *_, batch in outputs}
        if len(set(images)) != 1 or len(batches) != 1:
            return None
        return sum(channels for channels, *_ in outputs), pooled(images[0], *pools), batches.pop()

    def concatenate(self, node, inputs: list[str], result: str) -> None:
        """Note what a Concat along channels is made of, where it is outputs of places."""
        shape = self.shapes.get(node.output[0])
        axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), None)
        found = [self.parts(value) for value in inputs]
        # A pool of a concatenation is the concatenation of pools.
        parts = tuple(Read(read.index, (*read.through, *pools)) for places, pools in found for read in places)
        is_known = all(places for places, _ in found)
        is_known &= all(len(set(read.through)) == len(read.through) for read in parts)
        if is_known and len(set(parts)) == len(parts) and axis in (1, shape and 1 - len(shape)):
            self.joined[result] = (parts, ())

    def pool(self, value: str, result: str, operation: str) -> None:
        """Note a pool of what others read, too, or of a Concat."""
        parts, pools = self.parts(value)
        if parts and is_pool(operation) and operation not in pools:
            self.joined[result] = (parts, (*pools, operation))

    def follow(self, value: str, result: str, operation: str | int) -> bool:
        """Let an operation follow the place that the value comes from; False where a config cannot say so."""
        index = self.source.get(value)
        if index is None or self.readers[value] != 1 or operation in self.places[index].after:
            return False
        self.places[index].after.append(operation)
        self.source[result] = index
        return True

    def add(self, one: str, other: str, result: str) -> None:
        """Let the later of two places add the earlier one's output; a constant for each channel is a bias."""
        for value, constant in ((one, other), (other, one)):
            index = self.source.get(value)
            if index is not None and constant in self.constants:
                place = self.places[index]
                if (
                    not place.after
                    and int(np.prod(self.constants[constant].dims)) == place.layer.out_channels
                ):
                    self.follow(value, result, "bias")
                return
        found = [(self.source.get(value), value) for value in (one, other)]
        if any(index is None for index, _ in found) or found[0][0] == found[1][0]:
            return
        (earlier, _), (later, value) = sorted(found)
        if self.output_of(earlier) == self.output_of(later):
            self.follow(value, result, earlier)

    def operation(self, node, inputs: list[str]) -> str | None:
        """Return a node as an operation of a config; None where it is none of them."""
        if not inputs:
            return None
        if node.op_type == "Relu" or (node.op_type == "Clip" and self.clips_from_zero(node, inputs)):
            return "relu"
        if node.op_type == "BatchNormalization":
            return "batch_norm"
        try:
            if node.op_type == "LRN":
                return "lrn" if numbers(attributes_of(node), "size", [0], 0) == [5] else None
            if node.op_type in POOLS:
                return pool_of(node, self.shapes.get(inputs[0]), self.shapes.get(node.output[0]))
        except ReportError:
            pass  # it follows nothing
        return None

    def clips_from_zero(self, node, inputs: list[str]) -> bool:
        """Say whether a Clip's lower end is 0: an attribute, from operator set 11 on an input."""
        lowest = [a.f for a in node.attribute if a.name == "min"]
        if len(inputs) > 1 and inputs[1] in self.constants:
            try:
                lowest = onnx.numpy_helper.to_array(self.constants[inputs[1]]).ravel().tolist()
            except (ValueError, TypeError, KeyError):  # its data are in another file, or damaged
                return False
        return lowest == [0]


def pool_of(node, shape: list | None, result: list | None) -> str | None:
    """Return a pool as "pool 3x3/2 pad 1" or "mean 3x3/1 pad 1 uncounted"; None where it is no such one."""
    if not shape or not result or len(shape) not in (3, 4) or len(result) != len(shape) or None in shape[2:]:
        return None
    size, attributes = shape[2:], attributes_of(node)
    window, stride, dilation = (
        numbers(attributes, name, [1] * len(size), 1) for name in ("kernel_shape", "strides", "dilations")
    )
    if node.op_type == "GlobalAveragePool":
        window = size
    pads = paddings(attributes, size, window, stride, dilation)
    counts = numbers(attributes, "count_include_pad", [0], 0) == [1] or not any(pad for pad, _ in pads)
    axes = list(zip(size, window, stride, pads, result[2:], strict=True))
    # Zeros behind the image that are others than before it, or counted otherwise, must make no difference:
    # there are as many windows, and none whose cells beyond those zeros a mean would count.
    fits = set(dilation) == {1} and all(
        begin < taps
        and output_size(extent, taps, step, begin, begin, 1) == outputs
        and (node.op_type == "MaxPool" or not counts or (outputs - 1) * step + taps <= extent + begin + end)
        for extent, taps, step, (begin, end), outputs in axes
    )
    if not fits:
        return None
    rows = [1] if len(size) == 1 else []
    pad = [0] * len(rows) + [begin for begin, _ in pads]
    text = f"{POOLS[node.op_type]} {pair([*rows, *window])}/{short([*rows, *stride])}"
    if any(pad):
        text += f" pad {short(pad)}"
    return text if counts or node.op_type == "MaxPool" else text + " uncounted"


def pooled(image: tuple[int, int], *pools: str) -> tuple[int, int]:
    """Return the image that pools, one after the other, make of one."""
    for text in pools:
        window, _, rest = text.partition(" ")[2].removesuffix(" uncounted").partition("/")
        stride, _, pad = rest.partition(" pad ")
        axes = (sizes(window), sizes(stride), sizes(pad or "0"))
        image = tuple(
            output_size(size, taps, step, zeros, zeros, 1)
            for size, taps, step, zeros in zip(image, *axes, strict=True)
        )
    return image


def sizes(text: str) -> list[int]:
    """Read 3 or 3x2 as height and width."""
    numbers = [int(part) for part in text.split("x")]
    return numbers * 2 if len(numbers) == 1 else numbers


def short(extent: list[int]) -> str:
    """Write [2, 2] as 2 and [2, 1] as 2x1."""
    return str(extent[0]) if extent[0] == extent[1] else pair(extent)
