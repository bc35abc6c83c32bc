"""The verbs `steps`, `plot-step` and `plot-timeline`: of what `convscope step --out` left."""

from pathlib import Path

from convscope_report import ReportError
from convscope_report import steps as many_gpus
from convscope_report.results import refuse_virtual_time
from convscope_report.run_files import is_number, rows_document
from convscope_report.tables import steps as step_table
from convscope_report.verbs import (
    PLOT_FORMATS,
    Verb,
    add_files,
    add_format,
    add_where,
    formats_of,
    write_figures,
    write_tables,
)
from convscope_report.where import conditions

AGAIN = "name a folder of `step --out`"
# What table and figure read of a row; of the whole step and of a convolution these are numbers.
NUMBERS_OF_ALL = ("batch", "chains", "inside_ms")
NUMBERS_OF_STEP = ("convolutions_ms", "convolutions_alone_ms", "inside_over_alone")
OPTIONAL = ("threads", "regret", "inside_low_ms", "inside_high_ms")  # numbers or null
OTHERS = (
    "network",
    "choose",
    "threads",
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
# Of a figure of timelines.
MOST_PANELS = 8


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
    made = step_table.table([read_step(path, options.virtual_time) for path in options.steps])
    write_tables([made], options)
    return 0


def plot_arguments(parser) -> None:
    """Add STEPS..., --format and -o."""
    add_steps(parser)
    add_files(parser)


def read_step(path: Path, virtual_time: bool) -> list:
    """Return the rows of a step's folder or file.

    Raises ReportError where it is none, or without `virtual_time` of a stand-in for a GPU.
    """
    file = path / "tasks.json" if path.is_dir() else path
    if path.is_dir() and not file.is_file() and (path / "steps.json").is_file():
        raise ReportError(
            f"{path}: it holds steps on several GPUs (steps.json), and none that was run on one device; "
            "`convscope-report plot-timeline` and `table step-scaling` read them"
        )
    rows = rows_document(file, "rows of a step", AGAIN).get("rows")
    is_whole = isinstance(rows, list) and len(rows) > 1 and all(is_task(row) for row in rows)
    if not is_whole or not has_numbers(rows[-1], NUMBERS_OF_STEP):
        raise ReportError(f"{file}: no rows of a step that was run; {AGAIN}")
    if not any(row["algorithm"] for row in rows):
        raise ReportError(f"{file}: no rows of a step with a convolution; {AGAIN}")
    if not virtual_time:
        refuse_virtual_time((row["device_name"] for row in rows), file)
    return rows


def is_task(row) -> bool:
    """Say whether a row has what the figure draws, in the types it draws."""
    if not isinstance(row, dict) or not row.keys() >= set(OTHERS) or not has_numbers(row, NUMBERS_OF_ALL):
        return False
    # A GPU has no threads of OpenMP.
    if any(row.get(name) is not None and not is_number(row[name]) for name in OPTIONAL):
        return False
    return not row["algorithm"] or has_numbers(row, ("alone_ms",))


def has_numbers(row: dict, names) -> bool:
    """Say whether the row has a number under each name."""
    return all(is_number(row.get(name)) for name in names)


def plot(options) -> int:
    """Draw the figures and print the paths of their files."""
    # Imported here: matplotlib takes half a second to load.
    from convscope_report.figures import steps

    formats = formats_of(options, PLOT_FORMATS)
    rows = [read_step(path, options.virtual_time) for path in options.steps]
    return write_figures([steps.step(one) for one in rows], options.out, formats)


def timeline_arguments(parser) -> None:
    """Add STEPS, --where, --slide-27, --format and -o."""
    parser.add_argument(
        "steps", type=Path, metavar="STEPS", help="A folder of `step --out` with its --trace as trace.json."
    )
    add_where(parser, "Only steps with one of these values in a column of steps.csv.")
    parser.add_argument(
        "--slide-27",
        action="store_true",
        help="Above them the two times of slide 27 of Kim et al. 2017, on as many GPUs.",
    )
    add_files(parser)


def plot_timeline(options) -> int:
    """Draw the schedules of the steps, a panel each."""
    # Imported here: matplotlib takes half a second to load.
    from convscope_report.figures import timeline

    formats = formats_of(options, PLOT_FORMATS)
    file = options.steps / "trace.json"
    rows, schedules = many_gpus.read(options.steps, options.virtual_time), many_gpus.read_trace(file)
    if len(rows) != len(schedules):
        raise ReportError(
            f"{file}: {len(schedules)} schedules for {len(rows)} steps of steps.json: of another run; "
            "write both by one `convscope step --out FOLDER --trace FOLDER/trace.json`"
        )
    wanted = conditions(options.where, "--where")
    kept = [(rows[place], schedules[place]) for place in many_gpus.chosen(rows, wanted)]
    if not 0 < len(kept) <= MOST_PANELS:
        raise ReportError(
            f"{options.steps}: {len(kept)} steps to draw, where 1 to {MOST_PANELS} are expected; "
            "choose some by --where, as in --where batch=16 --where gpus=4"
        )
    caption = "; ".join(dict.fromkeys(many_gpus.words(row) for row, _ in kept))
    published = ()
    error = many_gpus.error_words([row for row, _ in kept])
    caption += f"\n{error}" if error else ""
    if options.slide_27:
        published = tuple(timeline.of_slide(gpus) for gpus in sorted({row["gpus"] for row, _ in kept}))
        caption += f"\n{timeline.SOURCE}"
    drawn = timeline.timeline([schedule for _, schedule in kept], caption, published)
    return write_figures([drawn], options.out, formats)


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
PLOT_TIMELINE = Verb(
    "Draw when each GPU of a data-parallel step computes and when it communicates.",
    "  convscope-report plot-timeline out/step --where batch=16 --where gpus=4 -o figures",
    timeline_arguments,
    plot_timeline,
)
