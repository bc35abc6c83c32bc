"""The verbs of the command line, and what several of them share: arguments, loading, writing."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from convscope_report import ReportError, results
from convscope_report.render import FORMATS, render
from convscope_report.where import conditions

# The formats of tables, and what the name of a file of each ends in.
ENDINGS = dict(zip(FORMATS, ("txt", "md", "tex", "csv"), strict=True))

PLOT_FORMATS = ("png", "svg", "pdf")


@dataclass(frozen=True)
class Verb:
    """`arguments` adds a verb's own to a parser, `run` does it with the options and returns the exit code."""

    summary: str
    example: str
    arguments: Callable
    run: Callable


def add_where(parser, what: str) -> None:
    """--where; `what` says of which lines it keeps some."""
    parser.add_argument("--where", action="append", default=[], metavar="COLUMN=VALUE,...", help=what)


def add_record_filter(parser) -> None:
    """--where over records."""
    add_where(
        parser,
        "Only records with one of these values in a column of results.csv; may be given several times.",
    )


def add_program(parser) -> None:
    """--convscope."""
    parser.add_argument(
        "--convscope", metavar="PATH", help="The built program, for what it computes (build/convscope)."
    )


def add_results(parser, many: str = "+") -> None:
    """RESULTS..., --where and --convscope."""
    parser.add_argument(
        "results",
        nargs=many,
        metavar="RESULTS",
        help="Result folders, their results.json, or kept runs (results/*/*.json.xz).",
    )
    add_record_filter(parser)
    add_program(parser)


def add_out(parser) -> None:
    """Add -o for text."""
    parser.add_argument("-o", "--out", metavar="FILE", help="Write to this file instead of the terminal.")


def add_format(parser) -> None:
    """--format and -o of tables."""
    parser.add_argument(
        "--format",
        default="terminal",
        metavar="FORMAT,...",
        help=f"Of {', '.join(ENDINGS)} (terminal); with several -o FILE gives FILE.md, FILE.tex and so on.",
    )
    add_out(parser)


def add_files(parser) -> None:
    """Add --format and -o of figures."""
    parser.add_argument("--format", default="png", metavar="FORMAT,...", help="Of png, svg, pdf (png).")
    parser.add_argument(
        "-o", "--out", type=Path, default=Path(), metavar="DIR", help="Folder for the files (.)."
    )


def formats_of(options, allowed) -> list:
    """Return the formats of --format, each of `allowed`; raises ReportError."""
    formats = options.format.split(",")
    for form in formats:
        if form not in allowed:
            raise ReportError(f"--format {form}: found {form!r}; allowed are {', '.join(allowed)}")
    return formats


def table_formats(options) -> list:
    """Return the formats of tables; raises ReportError for several without a file."""
    formats = formats_of(options, ENDINGS)
    if len(formats) > 1 and options.out is None:
        raise ReportError("--format: each of several is a file; name them with -o FILE, without its ending")
    return formats


def write_tables(tables: list, options) -> None:
    """Write or print the tables in the formats of the options."""
    formats = table_formats(options)
    for form in formats:
        out = options.out if len(formats) == 1 else f"{options.out}.{ENDINGS[form]}"
        write_or_print(render(tables, form), out)


def load(options) -> results.Results:
    """Return the results that the options name, no two layers of one name, filtered by --where."""
    loaded = results.load(options.results, options.virtual_time, options.convscope).with_distinct_layers()
    wanted = conditions(options.where, "--where")
    left = loaded.where(**wanted)
    loaded.refuse_values_of_none(wanted)
    return left


def write_or_print(text: str, out: str | None) -> None:
    """Write to the file `out`, or print where there is none."""
    if out is None:
        print(text, end="")
        return
    try:
        Path(out).write_text(text, encoding="utf-8")
    except OSError as fault:
        raise ReportError(f"-o {out}: cannot be written: {fault.strerror}; choose another file") from fault


def write_figures(made: list, out: Path, formats: list) -> int:
    """Write the figures and print the paths of their files."""
    # Imported here: matplotlib takes half a second to load, and only verbs that draw need it.
    from convscope_report.figures import style

    try:
        paths = style.save(made, out, formats)
    except OSError as fault:
        raise ReportError(f"-o {out}: cannot be written: {fault.strerror}") from fault
    print("\n".join(map(str, paths)))
    return 0
