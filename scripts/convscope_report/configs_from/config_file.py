"""A convscope config (docs/configs.md) as it is put together here: layers, counts, and the file's text."""

import json
import re
from dataclasses import dataclass, field, replace

from convscope_report import ReportError

LARGEST_SIZE = 2**31
NAME_BYTES = 100


@dataclass(frozen=True)
class Layer:
    """One convolution of a config. Pairs are (height, width); dilation 1 is dense."""

    name: str
    in_channels: int
    input: tuple[int, int]
    out_channels: int
    filter: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    pad: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    count: int = 1
    first: bool = False
    batch: int | None = None
    reads: tuple[str | dict, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def output(self) -> tuple[int, int]:
        """Return height and width of the output; below 1 where the filter does not fit."""
        pads = self.pad, self.pad
        axes = zip(self.input, self.filter, self.stride, *pads, self.dilation, strict=True)
        return tuple(output_size(*axis) for axis in axes)

    def defect(self) -> str | None:
        """Return what the program would refuse about it, or None."""
        numbers = self.in_channels, self.out_channels, self.groups, self.count
        sizes = (*numbers, *self.input, *self.filter, *self.stride, *self.dilation)
        sizes += () if self.batch is None else (self.batch,)
        pads_fit = all(0 <= pad <= LARGEST_SIZE for pad in self.pad)
        if not all(1 <= size <= LARGEST_SIZE for size in sizes) or not pads_fit:
            return f"a size is not from 1 to {LARGEST_SIZE}"
        if self.in_channels % self.groups or self.out_channels % self.groups:
            return (
                f"{self.groups} groups do not divide {self.in_channels} input and "
                f"{self.out_channels} output channels"
            )
        if min(self.output()) < 1:
            return f"the filter {pair(self.filter)} does not fit the padded input {pair(self.input)}"
        return None

    def problem(self) -> "Layer":
        """Return all but name, count and place: layers with equal problems are measured once."""
        return replace(self, name="", count=1, reads=(), before=(), after=())


@dataclass
class Config:
    """A config to be written, and what is to be told about how it came about."""

    name: str
    source: str
    layers: list[Layer]
    batch: int | None = None
    graph: list[dict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def whole_number(text: str) -> int | None:
    """Return a number of at most 18 digits; None where the text is anything else."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


def output_size(size: int, taps: int, stride: int, begin: int, end: int, dilation: int) -> int:
    """Count the outputs along one axis with `begin` and `end` zeros around it; 0 or less where none fits."""
    return (size + begin + end - dilation * (taps - 1) - 1) // stride + 1


def symmetric_pads(
    size: list[int], taps, stride, dilation, padding, axes: tuple[str, str], enlarge: bool
) -> tuple[list[int], list[int]]:
    """Return the pad of each axis, the same at both ends, that computes the same outputs, and what has grown.

    `padding` has the zeros before and after each axis. The pad is the former: zeros at the end that no tap
    reads may be more or fewer. Where it cannot be, zeros become data of a larger `size` with `enlarge`;
    without it ReportError is raised, which calls the axis as `axes` does.
    """
    pads, grown = [], []
    for i, (begin, end) in enumerate(padding):
        one, other = (
            output_size(size[i], taps[i], stride[i], begin, zeros, dilation[i]) for zeros in padding[i]
        )
        pad = begin
        if one != other:
            if not enlarge:
                raise ReportError(
                    f"{begin} zeros before and {end} after {axes[i]}: padding that is not symmetric"
                )
            pad = min(begin, end)
            size[i] += max(begin, end) - pad
            grown.append(i)
        pads.append(pad)
    return pads, grown


def pair(extent: tuple[int, int]) -> str:
    """Write (3, 5) as 3x5."""
    return f"{extent[0]}x{extent[1]}"


def clean_name(text: str, fallback: str) -> str:
    """Return a name the program accepts: no control characters, 1 to 100 bytes of UTF-8."""
    name = re.sub(r"[\x00-\x1f\x7f]", " ", text).strip() or fallback
    return cut(name, NAME_BYTES)


def cut(text: str, most: int) -> str:
    """Return the beginning of a text that fits into so many bytes of UTF-8."""
    return text.encode(errors="replace")[:most].decode(errors="ignore")


def merged(layers: list[Layer]) -> list[Layer]:
    """Join equal problems to one layer named after the first, counts summed; names are made unique."""
    by_problem: dict[tuple, Layer] = {}
    for layer in layers:
        known = by_problem.get(layer.problem())
        by_problem[layer.problem()] = replace(known, count=known.count + layer.count) if known else layer
    for layer in by_problem.values():
        if layer.count > LARGEST_SIZE:
            raise ReportError(f"{layer.name}: it is there {layer.count} times; allowed is {LARGEST_SIZE}")
    names = unique([layer.name for layer in by_problem.values()])
    return [replace(layer, name=name) for layer, name in zip(by_problem.values(), names, strict=True)]


def unique(names: list[str]) -> list[str]:
    """Return the names; one that was there before gets a number."""
    taken: set[str] = set()
    result = []
    for wanted in names:
        name, number = wanted, 2
        while name in taken:
            ending = f"_{number}"
            name = cut(wanted, NAME_BYTES - len(ending)) + ending
            number += 1
        taken.add(name)
        result.append(name)
    return result


def batches_settled(config: Config) -> Config:
    """Make the batch that all layers share the config's; layers that differ keep their own."""
    batches = {layer.batch for layer in config.layers}
    if len(batches) == 1:
        config.batch = batches.pop()
        config.layers = [replace(layer, batch=None) for layer in config.layers]
    return config


def config_text(config: Config) -> str:
    """Return the config file's text, one layer a line as the shipped ones are, defaults left out."""
    lines = ["{", f'  "name": {quoted(clean_name(config.name, "network"))},']
    lines.append(f'  "source": {quoted(config.source)},')
    if config.batch is not None:
        lines.append(f'  "batch": {config.batch},')
    lines.append('  "layers": [')
    lines.append(",\n".join("    " + layer_text(layer) for layer in config.layers))
    if config.graph:
        lines += ["  ],", '  "graph": [', ",\n".join("    " + quoted(entry) for entry in config.graph)]
    lines += ["  ]", "}"]
    text = "\n".join(lines) + "\n"
    return text.encode(errors="replace").decode()  # a file's name may be no UTF-8


def quoted(value) -> str:
    """Write a value as JSON, letters of all languages left as they are."""
    return json.dumps(value, ensure_ascii=False)


def layer_text(layer: Layer) -> str:
    """Write one layer as a JSON object on one line."""
    fields = {
        "name": layer.name,
        "in_channels": layer.in_channels,
        "input": list(layer.input),
        "out_channels": layer.out_channels,
        "filter": short(layer.filter),
    }
    for key, default in (("stride", (1, 1)), ("pad", (0, 0)), ("dilation", (1, 1))):
        if getattr(layer, key) != default:
            fields[key] = short(getattr(layer, key))
    for key, default in (("groups", 1), ("count", 1), ("first", False), ("batch", None)):
        if getattr(layer, key) != default:
            fields[key] = getattr(layer, key)
    return quoted(fields | place_fields(layer.reads, layer.before, layer.after))


def place_fields(reads: tuple[str | dict, ...], before: tuple[str, ...], after: tuple[str, ...]) -> dict:
    """Return the fields that say what a layer reads and what follows it; empty ones are left out."""
    fields = {
        "reads": reads[0] if len(reads) == 1 else list(reads),
        "before": list(before),
        "after": list(after),
    }
    return {key: value for key, value in fields.items() if value}


def short(extent: tuple[int, int]):
    """Return one number for a square extent, a list otherwise."""
    return extent[0] if extent[0] == extent[1] else list(extent)
