"""A problem of a result as plain numbers, for writing other tools' command lines."""

from dataclasses import dataclass


class NotExpressible(Exception):
    """The tool has no such convolution; the text is the reason."""


@dataclass(frozen=True)
class Problem:
    """One convolution with its pass, arithmetic and layout; the names are the columns of results.csv.

    Sizes are in elements; dilation 1 is dense. `device` is cpu or cuda, `benchdnn` the program's own
    descriptor.
    """

    device: str
    math: str
    layout: str
    batch: int
    in_channels: int
    input_h: int
    input_w: int
    out_channels: int
    output_h: int
    output_w: int
    filter_h: int
    filter_w: int
    stride_h: int
    stride_w: int
    pad_h: int
    pad_w: int
    dilation_h: int
    dilation_w: int
    groups: int
    benchdnn: str
    direction: str

    @staticmethod
    def of(row: dict) -> "Problem":
        """Return the problem of a row."""
        fields = {name: row[name] for name in Problem.__dataclass_fields__ if name != "direction"}
        numbers = {name: value if isinstance(value, str) else int(value) for name, value in fields.items()}
        return Problem(**numbers, direction=row["pass"])
