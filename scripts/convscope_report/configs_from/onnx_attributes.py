"""The attributes of an ONNX node, with their kinds and ranges checked."""

import onnx

from convscope_report import ReportError
from convscope_report.configs_from.config_file import LARGEST_SIZE


def attributes_of(node) -> dict:
    """Return a node's attributes by name."""
    try:
        return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    except ValueError as error:
        raise ReportError(f"one of its attributes has no kind that ONNX knows: {error}") from error


def numbers(attributes: dict, name: str, default: list[int], lowest: int) -> list[int]:
    """Return an attribute of as many whole numbers as the default has; a single one may stand by itself."""
    value = attributes.get(name, default)
    values = list(value) if isinstance(value, list | tuple) else [value]
    fits = all(isinstance(one, int) and lowest <= one <= LARGEST_SIZE for one in values)
    if not fits or len(values) != len(default):
        raise ReportError(
            f"its attribute {name} is {str(value)[:100]}; "
            f"allowed are {len(default)} whole numbers from {lowest}"
        )
    return values


def paddings(attributes: dict, size: list, taps: list, stride: list, dilation: list) -> list[tuple[int, int]]:
    """Return the zeros before and after each axis: the attribute pads, or what auto_pad asks for."""
    axes = range(len(size))
    mode = attributes.get("auto_pad", b"NOTSET")
    if mode == b"VALID":
        return [(0, 0) for _ in axes]
    if mode in (b"SAME_UPPER", b"SAME_LOWER"):
        result = []
        for i in axes:
            outputs = -(-size[i] // stride[i])
            total = max((outputs - 1) * stride[i] + (taps[i] - 1) * dilation[i] + 1 - size[i], 0)
            less, more = total // 2, total - total // 2
            result.append((less, more) if mode == b"SAME_UPPER" else (more, less))
        return result
    if mode != b"NOTSET":
        raise ReportError(
            f"its attribute auto_pad is {str(mode)[:100]}; "
            "allowed are NOTSET, VALID, SAME_UPPER and SAME_LOWER"
        )
    pads = numbers(attributes, "pads", [0] * 2 * len(size), 0)
    return [(pads[i], pads[i + len(size)]) for i in axes]
