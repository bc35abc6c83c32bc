"""What the tables that the C++ program computes share: asking it, and --where over what it answers."""

from convscope_report import program
from convscope_report.contexts import words
from convscope_report.errors import ReportError
from convscope_report.results import as_text
from convscope_report.table import Cell
from convscope_report.verbs.common import conditions

LATER = ("layer", "pass")


def ask(options, verb: str, *more):
    """Return what `convscope VERB RESULTS... --json` says; the results are read by the program itself."""
    if not options.results:
        raise ReportError("no results given; name one or more result folders, as in out/alexnet")
    return program.ask(options.convscope, verb, *options.results, *more)


def kept(entries: list, options) -> list:
    """Return the entries whose circumstances --where asks for; raises ReportError if none is left."""
    wanted = conditions(options.where, "--where")
    for column in wanted:
        if column not in LATER and any(column not in entry for entry in entries):
            known = ", ".join([name for name, value in entries[0].items() if not isinstance(value, list)])
            raise ReportError(
                f"--where {column}=...: this table can be cut by {known}, {', '.join(LATER)} only"
            )
    left = [
        entry
        for entry in entries
        if all(as_text(entry[column]) in values for column, values in wanted.items() if column not in LATER)
    ]
    if not left:
        raise ReportError("--where leaves nothing: no results of these circumstances")
    return left


def is_kept(row: dict, options) -> bool:
    """Say whether --where asks for the layer and pass of a row."""
    wanted = conditions(options.where, "--where")
    return all(row[column] in wanted[column] for column in LATER if column in wanted)


def title_of(entry: dict) -> tuple:
    """Return title and circumstances of an entry in the words of the other tables."""
    return words({name: value for name, value in entry.items() if not isinstance(value, list)})


def milliseconds(seconds: float | None, throttled: bool = False, **marks) -> Cell | None:
    """Return a time of the program's as a Cell in ms with its marks; None as it is."""
    return None if seconds is None else Cell(1e3 * seconds, suspect=throttled, **marks)


def median_of(record: dict | None, **marks) -> Cell | None:
    """Return the median of a record as the program writes it; None where there is no record."""
    return record and milliseconds(record["median_seconds"], record["throttled"], **marks)
