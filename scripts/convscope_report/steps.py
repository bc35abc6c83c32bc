"""Steps on many GPUs that `convscope step --out` left: steps.json (docs/step_format.md) and their trace."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from convscope_report import ReportError
from convscope_report.results import as_text, refuse_virtual_time
from convscope_report.run_files import is_number, rows_document
from convscope_report.where import no_column

AGAIN = "name a folder that `convscope step --out` wrote"
ERROR_PAGE = "docs/experiments/networks.md"
TEXTS = ("network", "reduce", "overlap", "compress", "basis", "outcome")
NUMBERS = ("batch", "gpus")
# Of the records of `step --rows` that a row's compute is from; steps of several kinds may be in one folder.
OF_RECORDS = (
    "device",
    "device_name",
    "machine_class",
    "math",
    "layout",
    "threads",
    "cache",
    "workspace_cap_bytes",
    "choose",
)
# Of a row that has a time.
TIMES = ("step_ms", "compute_ms", "comm_alone_ms")


def read(path: Path, virtual_time: bool = False) -> list:
    """Return the rows of a folder's steps.json, or of such a file, that have a time.

    Raises ReportError where it is none.
    """
    rows = read_all(path, virtual_time)
    timed = [row for row in rows if row["outcome"] == "good"]
    if not timed:
        outcomes = ", ".join(
            f"{count} {what}" for what, count in Counter(row["outcome"] for row in rows).items()
        )
        raise ReportError(f"{path}: no step has a time: {outcomes}; the column reason says why")
    return timed


def read_all(path: Path, virtual_time: bool = False) -> list:
    """Return these rows and those without a time.

    Raises ReportError where it is no such folder or file, or without `virtual_time` of a stand-in for a GPU.
    """
    file = path / "steps.json" if path.is_dir() else path
    if path.is_dir() and not file.is_file() and (path / "tasks.json").is_file():
        raise ReportError(
            f"{path}: it holds a step that was run on one device (tasks.json), and none on several; "
            "`convscope-report steps` and `plot-step` read it"
        )
    rows = rows_document(file, "rows of steps", AGAIN).get("rows")
    if not isinstance(rows, list) or not all(map(is_row, rows)):
        raise ReportError(f"{file}: no rows of steps; {AGAIN}")
    if not rows:
        raise ReportError(f"{file}: it holds no steps; {AGAIN}")
    if not virtual_time:
        refuse_virtual_time((row.get("device_name") for row in rows), file)
    return rows


def chosen(rows: list, wanted: dict) -> list:
    """Return the places of the rows whose columns have one of the wanted values.

    Raises ReportError for a column that no row has.
    """
    for column in wanted:
        if rows and not any(column in row for row in rows):
            raise no_column(column, list(rows[0]))
    return [
        place
        for place, row in enumerate(rows)
        if all(as_text(row.get(column)) in values for column, values in wanted.items())
    ]


def is_row(row) -> bool:
    """Say whether a row has what tables and figures read, in its types."""
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in TEXTS):
        return False
    return all(is_number(row.get(name)) for name in NUMBERS + TIMES * (row["outcome"] == "good"))


def differing(rows: list) -> list:
    """Return the columns in which the records differ that the rows' compute is from."""
    known = {name: {as_text(row[name]) for row in rows if name in row} for name in OF_RECORDS}
    return [name for name, values in known.items() if len(values) > 1]


def words(row: dict, number="{:.3g}".format) -> str:
    """Return what a row rests on: machine, basis and link, whose bandwidth is as `number` writes it."""
    link = f"link {number(row['link_gbs'])} GB/s" if is_number(row.get("link_gbs")) else "simulated network"
    machine = row.get("device_name") or "unknown device"
    besides = ", with what stands between the convolutions" if is_number(row.get("operations_ms")) else ""
    return f"{row['basis']}: compute from rows of {machine}{besides}, {link}"


def error_words(rows: list, what: str = "steps") -> str | None:
    """Return how far the model is from what was measured, as modelled rows say; None where they do not."""
    for row in rows:
        errors = row.get("model_error_median"), row.get("model_error_largest")
        if all(map(is_number, errors)):
            median, largest = (f"{100 * error:.0f}%" for error in errors)
            return f"model's error on {what}: median {median}, largest {largest} ({ERROR_PAGE})"
    return None


@dataclass(frozen=True)
class Span:
    """A bar of a schedule: its name, whether it is communication, from and how long in ms."""

    name: str
    is_communication: bool
    start: float
    length: float


def read_trace(file: Path) -> list:
    """Return (title, spans) of each schedule in a file of `step --trace`, in its order.

    Raises ReportError where it holds none.
    """
    events = rows_document(file, "trace", AGAIN).get("traceEvents")
    try:
        names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
        spans = {process: [] for process in names}
        for event in events:
            if event["ph"] == "X":
                times = (event["ts"], event["dur"])
                if not all(map(is_number, times)):
                    raise ValueError(f"{event['name']} has no times")
                spans[event["pid"]].append(
                    Span(str(event["name"]), event["cat"] == "communication", *(time / 1e3 for time in times))
                )
    except (KeyError, TypeError, ValueError) as fault:
        raise ReportError(
            f"{file}: no trace of `convscope step --trace`: {fault} is missing or of another kind"
        ) from fault
    if not spans or not all(spans.values()):
        raise ReportError(f"{file}: a trace without a schedule; {AGAIN} with --trace FOLDER/trace.json")
    return [(str(names[process]), parts) for process, parts in spans.items()]
