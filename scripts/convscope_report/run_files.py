"""Files of runs: which file a path means, and its document, checked where the package reads it.

A run is a folder that `convscope run` wrote, or its results.json, or a kept run: a results.json compressed.
"""

import json
import lzma
import math
import sys
from pathlib import Path

from convscope_report import ReportError

# Where runs have names, that of a file without its suffix: kept ones MACHINE/NAME, saved ones NAME.
KEPT_FOLDER, SAVED_FOLDER = (Path(__file__).resolve().parents[2] / name for name in ("results", "out/saved"))
SUFFIX = ".json.xz"
SCHEMA_VERSIONS = (1, 2, 3)
JOURNAL_OF_ROWS = b'{"schema_version"'  # a run's begins with its kind
GZIP_MAGIC = b"\x1f\x8b"  # RFC 1952, section 2.3.1
XZ_MAGIC = b"\xfd7zXZ\0"  # the .xz file format, section 2.1.1.1


def without_foreign(paths: list) -> list:
    """Return the paths but for folders without a run, as out/* has; those are named on standard error.

    Where no folder has a run all are returned, for locate() to refuse.
    """
    foreign = [path for path in paths if path.is_dir() and not holds_a_run(path)]
    if len(foreign) == len(paths):
        return paths
    for path in foreign:
        print(f"convscope-report: {path} is left out: no results.json in this folder", file=sys.stderr)
    return [path for path in paths if path not in foreign]


def holds_a_run(folder: Path) -> bool:
    """Whether `convscope run` or `verify` wrote this folder, to its end or not."""
    return (folder / "results.json").is_file() or (
        (folder / "journal.jsonl").is_file() and not journal_is_of_rows(folder)
    )


def journal_is_of_rows(folder: Path) -> bool:
    """Whether the folder's journal is one of step, operations or allreduce, which --resume does not take."""
    with (folder / "journal.jsonl").open("rb") as journal:
        return journal.read(len(JOURNAL_OF_ROWS)) == JOURNAL_OF_ROWS


def once(files) -> list:
    """Return the files without those named before: a run would be taken for a repeat of itself."""
    return list({file.resolve(): file for file in files}.values())


def locate(path: Path) -> Path:
    """Return the results.json that is meant by a folder or a file."""
    if path.is_dir():
        file = path / "results.json"
        if not file.is_file() and not holds_a_run(path):
            refuse_folder(path)
        if not file.is_file():
            raise ReportError(
                f"{path}: the run was interrupted before it wrote results.json; "
                f"`convscope run --resume {path}` finishes it"
            )
        return file
    if not path.is_file():
        meant = [file for file in named(path) if file.is_file()]
        instead = f"did you mean {meant[0]}?" if meant else "name a result folder, as in out/alexnet"
        raise ReportError(f"{path}: no such file or folder; {instead}")
    return path


def refuse_folder(path: Path) -> None:
    """Raise ReportError that says what a folder without a run holds."""
    for name, column in FILES_OF_ROWS.items():
        if (path / name).is_file():
            what, reader = ROWS[column]
            raise ReportError(f"{path}: it holds no run but rows of {what}: {reader}")
    if (path / "journal.jsonl").is_file():
        raise ReportError(
            f"{path}: it holds no run: `convscope step`, `operations` or `allreduce` was interrupted in it; "
            "begin it again with another --out"
        )
    runs = sorted(own.name for own in path.glob(f"*{SUFFIX}"))
    others = f"of the kept runs in it: {', '.join(runs)}" if runs else "that `convscope run --out` made"
    raise ReportError(f"{path}: no results.json in this folder; name one {others}")


def named(path: Path) -> list:
    """Return the files that a name may mean, as `compare` takes it: of a kept run, or of a saved one."""
    return [Path(f"{folder / path}{SUFFIX}") for folder in (Path(), KEPT_FOLDER, SAVED_FOLDER)]


# What other files hold that `convscope ... --out` writes, by a column that only their rows have, and who
# reads them.
ROWS = {
    "operation": (
        "operations",
        "`convscope-report table why-gpu RUN OPERATIONS` reads them beside a run, from their folder or a "
        "file whose name begins with operations",
    ),
    "task": ("a training step's tasks", "`convscope-report steps` and `plot-step` read them"),
    "step_ms": ("training steps on several GPUs", "`convscope-report table step-scaling` reads them"),
    "reduce": (
        "allreduce",
        "no verb of convscope-report reads them; `convscope list columns allreduce` says what they are",
    ),
}
# The files of these rows that --out leaves, by name.
FILES_OF_ROWS = {
    "operations.json": "operation",
    "tasks.json": "task",
    "steps.json": "step_ms",
    "allreduce.json": "reduce",
}


def refuse_rows(document: dict, file: Path) -> None:
    """Raise ReportError where the document is no run, but another of the program's files with rows."""
    rows = document.get("rows")
    if "records" in document or not isinstance(rows, list) or not rows or not isinstance(rows[0], dict):
        return
    for column, (what, reader) in ROWS.items():
        if column in rows[0]:
            raise ReportError(f"{file}: it holds no run but rows of {what}: {reader}")


def read_json(file: Path) -> dict:
    """Return the document of a results.json, its outline checked."""
    try:
        text = content_of(file).decode("utf-8")
    except (lzma.LZMAError, EOFError) as fault:
        raise ReportError(f"{file}: the compressed file is damaged: {fault}; copy it again") from fault
    except (OSError, UnicodeDecodeError) as fault:
        raise ReportError(f"{file}: cannot be read as text: {fault}; name a results.json") from fault
    if not text.strip():
        raise ReportError(f"{file}: the file is empty; run the benchmark again, or name another folder")
    try:
        document = json.loads(text)
    except json.JSONDecodeError as fault:
        ended = fault.pos >= len(text.rstrip()) - 1 or "Unterminated" in fault.msg
        what = "the file ends too early: it was cut off" if ended else "this is not JSON"
        raise ReportError(
            f"{file}, line {fault.lineno}, column {fault.colno}: {what} ({fault.msg}); "
            "copy it again from where it was made, or name a results.json"
        ) from fault
    except ValueError as fault:  # a whole number of thousands of digits
        raise ReportError(f"{file}: this is not JSON of convscope: {fault}; name a results.json") from fault
    except RecursionError as fault:
        raise ReportError(
            f"{file}: nested too deeply to be a result file of convscope; "
            "name a folder that `convscope run --out` made"
        ) from fault
    if not isinstance(document, dict) or "schema_version" not in document:
        raise ReportError(
            f"{file}: no schema_version: this is not a result file of convscope; "
            "name a folder that `convscope run --out` made"
        )
    version = document["schema_version"]
    if type(version) is not int or version not in SCHEMA_VERSIONS:  # 3.0 and true are equal to some
        known = ", ".join(map(str, SCHEMA_VERSIONS))
        raise ReportError(
            f"{file}: schema_version is {json.dumps(version)}; this program reads {known}; "
            "use the convscope-report that came with the program that wrote it"
        )
    refuse_rows(document, file)
    for name in ("argv", "config", "environment", "ceilings", "records"):
        if not isinstance(document.get(name), dict if name == "environment" else list):
            raise ReportError(
                f"{file}: {name} is missing or of another kind; the file is damaged: copy it again"
            )
    check_environment(document["environment"], file)
    if not document["records"]:
        if document["environment"].get("complete") is False:
            again = f"`convscope run --resume {file.parent}` finishes it"
            raise ReportError(f"{file}: the run was interrupted before its first record; {again}")
        raise ReportError(f"{file}: it holds no records: the run had no candidates; name another folder")
    return document


def finished(source: Path) -> tuple[Path, dict]:
    """Return the results.json of a run and its document; raise ReportError where the run is unfinished."""
    file = locate(source)
    document = read_json(file)
    if not document["environment"].get("complete"):
        raise ReportError(
            f"{source}: the run is unfinished; `convscope run --resume {source}` goes on with it"
        )
    return file, document


def check_environment(environment: dict, file: Path) -> None:
    """Raise ReportError where a part of the environment that the package reads is of another kind."""
    resolution = environment.get("resolution", [])
    is_resolution = isinstance(resolution, list) and all(
        isinstance(entry, dict) and is_number(entry.get("between_runs")) for entry in resolution
    )
    for name in ("program", "libraries"):
        if not isinstance(environment.get(name) or {}, dict):
            raise ReportError(f"{file}: /environment/{name} is no object; the file is damaged: copy it again")
    if not is_resolution:
        raise ReportError(
            f"{file}: /environment/resolution is no list of objects with a share between_runs, as 0.05 is "
            "one; the file is damaged: copy it again"
        )


def is_number(value) -> bool:
    """Say whether a value is a number from 0."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def is_numeric(value) -> bool:
    """Whether the value reads as a finite number, true or false."""
    text = str(value).lower()
    try:
        return math.isfinite(float({"true": "1", "false": "0"}.get(text, text)))
    except ValueError:
        return False


def rows_document(file: Path, what: str, again: str) -> dict:
    """Return the object in a JSON file, compressed or not.

    Errors, which are ReportErrors, say `what` it should hold and what to do: `again`.
    """
    try:
        found = json.loads(content_of(file))
    except OSError as fault:
        raise ReportError(f"{file}: cannot be read: {fault.strerror}; {again}") from fault
    except (ValueError, lzma.LZMAError, EOFError, RecursionError) as fault:
        raise ReportError(f"{file}: no {what}: {fault}; {again}") from fault
    if not isinstance(found, dict):
        raise ReportError(f"{file}: no {what}; {again}")
    return found


def is_kept(file: Path) -> bool:
    """Whether this is a run as results/ keeps it: its results.json, compressed, and nothing else.

    A damaged one is known by its name, one that was renamed by its first bytes.
    """
    with file.open("rb") as stream:
        return file.suffix == ".xz" or stream.read(len(XZ_MAGIC)) == XZ_MAGIC


def content_of(file: Path) -> bytes:
    """Return the bytes of a results.json, unpacked where it is a kept run.

    Raises ReportError where it is compressed by gzip, as the program refuses it.
    """
    content = file.read_bytes()
    if content.startswith(GZIP_MAGIC):
        raise ReportError(
            f"{file}: it is compressed by gzip, where only xz is read: unpack it with gunzip; "
            "xz -T0 compresses it again"
        )
    return lzma.decompress(content) if is_kept(file) else content
