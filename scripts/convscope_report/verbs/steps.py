"""The verbs `steps` and `plot-step`: the table and the figure of steps that `convscope step --out` left."""

import json
import lzma
from pathlib import Path

from convscope_report import ReportError
from convscope_report.render import render
from convscope_report.tables import steps as step_table
from convscope_report.verbs import Verb, add_format, write_or_print
from convscope_report.verbs.show import plot_formats

# What table and figure read of a row; of the whole step and of a convolution these are numbers.
NUMBERS_OF_ALL = ("batch", "chains", "threads", "inside_ms")
NUMBERS_OF_STEP = ("convolutions_ms", "convolutions_alone_ms", "inside_over_alone")
OTHERS = (
    "network",
    "choose",
    "device_name",
    "layer",
    "task",
    "algorithm",
    "winner_alone",
    "regret",
    "regret_shown",
    "inside_low_ms",
    "inside_high_ms",
    "alone_ms",
)


def steps_arguments(parser) -> None:
    """Add STEPS..., --format and -o."""
    add_steps(parser)
    add_format(parser)


def add_steps(parser) -> None:
    """Add STEPS."""
    parser.add_argument(
        "steps",
        nargs="+",
        type=Path,
        metavar="STEP",
        help="Folders of `step --out`, their tasks.json, or kept steps.",
    )


def print_steps(options) -> int:
    """Make the table and write it."""
    made = step_table.table([read_step(path) for path in options.steps])
    write_or_print(render([made], options.format), options.out)
    return 0


def plot_arguments(parser) -> None:
    """Add STEPS..., --format and -o."""
    add_steps(parser)
    parser.add_argument("--format", default="png", metavar="FORMAT,...", help="Of png, svg, pdf (png).")
    parser.add_argument(
        "-o", "--out", type=Path, default=Path(), metavar="DIR", help="Folder for the files (.)."
    )


def read_step(path: Path) -> list:
    """Return the rows of a step's folder or file. Raises ReportError where it is none."""
    file = path / "tasks.json" if path.is_dir() else path
    try:
        data = file.read_bytes()
        text = lzma.decompress(data) if file.suffix == ".xz" else data
        rows = json.loads(text)["rows"]
    except OSError as fault:
        raise ReportError(
            f"{file}: cannot be read: {fault.strerror}; name a folder of `step --out`"
        ) from fault
    except (ValueError, lzma.LZMAError, KeyError, TypeError) as fault:
        raise ReportError(f"{file}: no rows of a step: {fault}; name a folder of `step --out`") from fault
    is_whole = isinstance(rows, list) and len(rows) > 1 and all(is_task(row) for row in rows)
    if not is_whole or not has_numbers(rows[-1], NUMBERS_OF_STEP):
        raise ReportError(f"{file}: no rows of a step that was run; name a folder of `step --out`")
    return rows


def is_task(row) -> bool:
    """Say whether a row has what the figure draws, in the types it draws."""
    if not isinstance(row, dict) or not row.keys() >= set(OTHERS) or not has_numbers(row, NUMBERS_OF_ALL):
        return False
    return not row["algorithm"] or has_numbers(row, ("alone_ms",))


def has_numbers(row: dict, names) -> bool:
    """Say whether the row has a number under each name."""
    values = [row.get(name) for name in names]
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def plot(options) -> int:
    """Draw the figures and print the paths of their files."""
    # Imported here: matplotlib takes half a second to load.
    from convscope_report.figures import steps, style

    formats = plot_formats(options)
    made = [steps.step(read_step(path)) for path in options.steps]
    try:
        paths = style.save(made, options.out, formats)
    except OSError as fault:
        raise ReportError(f"-o {options.out}: cannot be written: {fault.strerror}") from fault
    print("\n".join(map(str, paths)))
    return 0


STEPS = Verb(
    "Print training steps: each against its convolutions alone.",
    "  convscope-report steps out/step results/*/steps/*.json.xz --format markdown",
    steps_arguments,
    print_steps,
)
PLOT_STEP = Verb(
    "Draw a training step: its convolutions inside it and alone.",
    "  convscope-report plot-step out/step --format pdf -o figures",
    plot_arguments,
    plot,
)
