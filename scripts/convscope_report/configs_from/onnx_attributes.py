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
