"""Arguments that several verbs share, and writing what they made."""

from pathlib import Path

from convscope_report import results
from convscope_report.errors import ReportError

WHERE_HELP = "Only records with one of these values in a column of results.csv; may be given several times."


def add_results(parser, many: str = "+") -> None:
    """RESULTS... and --where."""
    parser.add_argument(
        "results", nargs=many, metavar="RESULTS", help="Result folders, or their results.json."
    )
    parser.add_argument("--where", action="append", default=[], metavar="COLUMN=VALUE,...", help=WHERE_HELP)
    add_program(parser)


def add_program(parser) -> None:
    """--convscope."""
    parser.add_argument(
        "--convscope", metavar="PATH", help="The built program, for what it computes (build/convscope)."
    )


def load(options) -> results.Results:
    """Return the results that the options name, filtered by --where."""
    return results.load(options.results, options.virtual_time, options.convscope).where(
        **conditions(options.where, "--where")
    )


def conditions(texts: list, flag: str) -> dict:
    """Return the values wanted by column from texts such as pass=forward or batch=1,16."""
    wanted = {}
    for text in texts:
        column, sign, values = text.partition("=")
        if not sign or not column or not values:
            raise ReportError(
                f"{flag} {text}: expected COLUMN=VALUE, as in {flag} pass=forward or {flag} batch=1,16"
            )
        wanted.setdefault(column, []).extend(values.split(","))
    return wanted


def write_or_print(text: str, out: str | None) -> None:
    """Write to the file `out`, or prints where there is none."""
    if out is None:
        print(text, end="")
        return
    try:
        Path(out).write_text(text, encoding="utf-8")
    except OSError as fault:
        raise ReportError(f"-o {out}: cannot be written: {fault.strerror}; choose another file") from fault
