"""Batch files of oneDNN's benchdnn (tests/benchdnn/inputs/conv) as configs.

A line is a problem descriptor, an option, or a comment; `name*3` in a descriptor counts it three times.
benchdnn counts dilation from 0, and copies a height to a width that is not written and the other way round.
Source: oneDNN, tests/benchdnn/doc/driver_conv.md and knobs_desc.md.
"""

import re
import shlex
from pathlib import Path

from convscope_report import ReportError
from convscope_report.configs_from.config_file import (
    LARGEST_SIZE,
    Config,
    Layer,
    batches_settled,
    clean_name,
    merged,
    output_size,
    symmetric_pads,
    whole_number,
)

FIELDS = ("mb", "ic", "ih", "iw", "oc", "oh", "ow", "kh", "kw", "sh", "sw", "ph", "pw", "dh", "dw", "g")
DEPTH = ("id", "od", "kd", "sd", "pd", "dd")
DESCRIPTOR = re.compile(r"_*(" + "|".join(FIELDS + DEPTH) + r")([0-9]+)")


def import_benchdnn(path: Path, enlarge: bool = False, skip: bool = False) -> Config:
    """Return the convolutions of a batch file, those of the files that it names with --batch= included.

    `enlarge` writes padding that is not symmetric as a larger input; `skip` leaves out what no config can
    say.
    Raises ReportError.
    """
    reader = Reader(enlarge)
    reader.read(path, ())
    if reader.refused and not skip:
        advice = "" if enlarge else ", --asymmetric enlarge takes padding in"
        refused = "\n".join(reader.refused)
        raise ReportError(f"{refused}\nnothing written; --skip-refused leaves these out{advice}")
    if not reader.layers:
        raise ReportError(
            f'{path}: no convolution in it; expected lines such as mb16_ic96ih27oc256oh27kh5ph2_n"conv2"'
        )
    notes = reader.notes + [f"left out: {line}" for line in reader.refused]
    if reader.ignored:
        notes.append("ignored options: " + " ".join(sorted(reader.ignored)))
    config = Config(path.name, f"oneDNN benchdnn batch file {path.name}", merged(reader.layers), notes=notes)
    return batches_settled(config)


class Reader:
    """What was found so far in a batch file and the files it includes."""

    def __init__(self, enlarge: bool):
        self.enlarge = enlarge
        self.batch_override = 0
        self.layers: list[Layer] = []
        self.refused: list[str] = []
        self.notes: list[str] = []
        self.ignored: set[str] = set()

    def read(self, path: Path, parents: tuple[Path, ...], place: str = "") -> None:
        """Read one file; `parents` are the files that include it, `place` the line that does."""
        try:
            if path.resolve() in parents:
                raise ReportError(f"{place}{path}: includes itself with --batch=")
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise ReportError(f"{place}{path}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ReportError(f"{place}{path}: not a text file (byte {error.start} is not UTF-8)") from error
        except (ValueError, RuntimeError) as error:  # a zero byte in its name, a loop of links
            raise ReportError(f"{place}{path}: cannot be read: {error}") from error
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{path}: line {number}"
            try:
                words = shlex.split(line, comments=True)
            except ValueError as error:
                raise ReportError(f"{where}: {error}") from error
            for word in words:
                if word.startswith("-"):
                    self.option(word, path, (*parents, path.resolve()), where)
                else:
                    self.descriptor(word, where)

    def option(self, word: str, path: Path, parents: tuple[Path, ...], where: str) -> None:
        """--mb, --batch and --reset are followed, the others named as ignored."""
        name, _, value = word.partition("=")
        if name == "--batch":
            self.read(path.parent / value, parents, f"{where}: {word}: ")
        elif name == "--mb":
            batch = whole_number(value)
            if batch is None or batch > LARGEST_SIZE:
                raise ReportError(
                    f"{where}: {word}: found {value!r}; allowed is one whole number up to {LARGEST_SIZE}"
                )
            self.batch_override = batch
        elif name == "--reset":
            self.batch_override = 0
        elif name != "--conv":
            self.ignored.add(name)

    def descriptor(self, word: str, where: str) -> None:
        """One problem descriptor; what cannot be a layer goes to `refused`."""
        numbers, name = parsed(word, where)
        if any(key in numbers for key in DEPTH):
            self.refused.append(f"{where}: {word}: a 3-D convolution; only 2-D ones can be measured")
            return
        if not all(numbers.keys() & names for names in ({"ic"}, {"oc"}, {"ih", "iw"}, {"kh", "kw"})):
            raise ReportError(f"{where}: {word}: ic, ih, oc and kh are needed")
        name, _, count = name.partition("*")
        layer_name = clean_name(name, f"line {where.rsplit(' ', 1)[1]}")
        size, taps, stride = (both(numbers, kind, 1) for kind in "iks")
        dilation = tuple(value + 1 for value in both(numbers, "d", 0))
        padding = [
            axis_padding(numbers, axis, size[i], taps[i], stride[i], dilation[i])
            for i, axis in enumerate("hw")
        ]
        larger = list(size)
        axes = "the rows", "the columns"
        try:
            pads, grown = symmetric_pads(larger, taps, stride, dilation, padding, axes, self.enlarge)
        except ReportError as reason:
            self.refused.append(f"{where}: {word}: {reason}")
            return
        self.notes += [
            f"{where}: {layer_name}: input {size[i]} written as {larger[i]}: "
            f"padding {padding[i][0]} and {padding[i][1]} became data"
            for i in grown
        ]
        # benchdnn's own default batch is 2; without mb the config's default is left to decide.
        batch = self.batch_override or numbers.get("mb")
        shape = taps, stride, tuple(pads), dilation
        groups, times = numbers.get("g", 1), whole_number(count) or 1
        sizes = numbers["ic"], tuple(larger), numbers["oc"]
        layer = Layer(layer_name, *sizes, *shape, groups, times, batch=batch)
        if defect := layer.defect():
            raise ReportError(f"{where}: {word}: {defect}")
        self.layers.append(layer)


def parsed(word: str, where: str) -> tuple[dict[str, int], str]:
    """Return the numbers of a descriptor by field, and the name that ends it."""
    numbers: dict[str, int] = {}
    rest = word
    while match := DESCRIPTOR.match(rest):
        number = whole_number(match[2])
        if number is None or number > LARGEST_SIZE or (number == 0 and match[1] in ("sh", "sw")):
            raise ReportError(
                f"{where}: {shown(word)}: {match[1]} is {shown(match[2])}; allowed is up to {LARGEST_SIZE}, "
                "and of a stride from 1"
            )
        numbers[match[1]] = number
        rest = rest[match.end() :]
    rest = rest.lstrip("_")
    if rest and not rest.startswith("n"):
        raise ReportError(
            f"{where}: {word}: {rest!r} does not start with a benchdnn field "
            f"({', '.join(FIELDS)}) and its number"
        )
    return numbers, rest[1:]


def shown(word: str) -> str:
    """Return a word as a message quotes it: at most 100 characters."""
    return word if len(word) <= 100 else word[:97] + "..."


def both(numbers: dict[str, int], kind: str, default: int) -> tuple[int, int]:
    """Return height and width of a field such as i (ih, iw); what is not written is copied from the other."""
    one = numbers.get(kind + "h", numbers.get(kind + "w", default))
    return one, numbers.get(kind + "w", one)


def axis_padding(numbers, axis: str, size: int, taps: int, stride: int, dilation: int) -> tuple[int, int]:
    """Return the zeros before and after one axis: as written, or as benchdnn derives them from the output."""
    index = "hw".index(axis)
    pad_known = "ph" in numbers or "pw" in numbers
    output_known = "oh" in numbers or "ow" in numbers
    pad = both(numbers, "p", 0)[index]
    if not output_known:
        return pad, pad
    output = both(numbers, "o", 1)[index]
    needed = max((output - 1) * stride + (taps - 1) * dilation + 1 - size, 0)
    if pad_known:
        # Zeros at the end that no tap reads are not in `needed`: then the output decides.
        if output_size(size, taps, stride, pad, pad, dilation) == output:
            return pad, pad
        return pad, (output - 1) * stride + (taps - 1) * dilation + 1 - size - pad
    return needed // 2, needed - needed // 2
