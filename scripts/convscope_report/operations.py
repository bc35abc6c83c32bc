"""Results of `convscope operations`: rows of what stands between convolutions (docs/operation_format.md)."""

from pathlib import Path

from convscope_report import ReportError
from convscope_report.results import as_text, refuse_virtual_time
from convscope_report.run_files import is_number, rows_document

FILE = "operations.json"
TEXTS = ("network", "device_name", "layer", "operation", "provider", "outcome")
NUMBERS = ("batch", "threads", "bytes")
# Of a row that was measured; bandwidth_share is a share of the measured copy bandwidth.
MEASURED = ("median_ms", "gbs", "bandwidth_share", "copy_gbs")
# Columns of records that a row has by another name.
NAMES = {"pass": "direction"}


def split(paths: list) -> tuple[list, list]:
    """Return the paths that are runs, and the files of those that `operations --out` wrote.

    The latter are folders with an operations.json, and files of such a name, compressed ones as well.
    """
    runs, files = [], []
    for path in map(Path, paths):
        if path.is_dir() and (path / FILE).is_file():
            files.append(path / FILE)
        elif path.is_file() and path.name.startswith("operations"):
            files.append(path)
        else:
            runs.append(path)
    return runs, files


def load(files: list, wanted: dict, virtual_time: bool = False) -> list:
    """Return the measured rows of all files; `wanted` has values by column, unknown columns keep all.

    Each has besides `hardware`, what the file says of its device (cores, sizes of caches); it is empty
    where that is nothing. Raises ReportError where a file holds no such rows, or without `virtual_time` those
    of a stand-in for a GPU.
    """
    rows = []
    for file in files:
        own = read(file)
        if not virtual_time:
            refuse_virtual_time((row["device_name"] for row in own), file)
        rows += [row for row in own if row["outcome"] == "measured"]
    for column, values in wanted.items():
        name = NAMES.get(column, column)
        rows = [row for row in rows if name not in row or as_text(row[name]) in values]
    return rows


def read(file: Path) -> list:
    """Return the rows of one file, checked, each with the `hardware` of its device."""
    again = "name a folder that `convscope operations --out` wrote"
    document = rows_document(file, "rows of operations", again)
    try:
        rows, environment = document["rows"], document["environment"]
        hardware = environment["device"]
    except (KeyError, TypeError) as fault:
        raise ReportError(f"{file}: no rows of operations: {fault}; {again}") from fault
    if not isinstance(rows, list) or not rows or not isinstance(hardware, dict):
        raise ReportError(f"{file}: no rows of operations; {again}")
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            raise ReportError(f"{file}: row {place} is no object; {again}")
        check(row, f"{file}: row {place}", again)
    return [{**row, "hardware": hardware_of(row, environment)} for row in rows]


def hardware_of(row: dict, environment: dict) -> dict:
    """Return what a file says of the device of a row, of each GPU by its index; nothing where it does not."""
    if not is_of_gpu(row):
        return environment["device"]
    others = environment.get("other_gpus")
    gpus = [environment.get("gpu"), *(others if isinstance(others, list) else [])]
    index = device_of(row)[1]
    return next((gpu for gpu in gpus if isinstance(gpu, dict) and gpu.get("index", 0) == index), {})


def device_of(row: dict) -> tuple:
    """Return kind and index of the device that a row names: of cuda:1 they are cuda and 1."""
    kind, _, index = str(row.get("device", "cpu")).partition(":")
    return kind, int(index) if index.isdecimal() else 0


def is_of_gpu(row: dict) -> bool:
    """Whether a row ran on a GPU."""
    return device_of(row)[0] == "cuda"


def check(row: dict, where: str, again: str) -> None:
    """Raise ReportError where a row lacks what the tables read, or has it in another kind."""
    for name in TEXTS:
        if not isinstance(row.get(name), str):
            raise ReportError(f"{where}: {name} is {row.get(name)!r}, where a text is expected; {again}")
    for name in NUMBERS + MEASURED * (row["outcome"] == "measured"):
        value = row.get(name)
        if not is_number(value) or value == 0:
            raise ReportError(f"{where}: {name} is {value!r}, where a number above 0 is expected; {again}")
