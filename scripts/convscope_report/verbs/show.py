"""The verbs that show what was measured: `table`, `published`, `plot` and `report`."""

from pathlib import Path

from convscope_report import ReportError, operations, published
from convscope_report.contexts import (
    counts_of,
    layers_left_out,
    passes_left_out,
    paths_of,
    right_contexts,
    right_records,
)
from convscope_report.figures import NAMES, figures
from convscope_report.results import CANDIDATE
from convscope_report.tables import (
    OF_STEPS,
    OF_THE_PROGRAM,
    TABLES,
    WITH_OPERATIONS,
    WITHOUT_PATHS,
    WITHOUT_WHERE,
)
from convscope_report.verbs import (
    PLOT_FORMATS,
    Verb,
    add_files,
    add_format,
    add_results,
    add_where,
    formats_of,
    load,
    write_figures,
    write_or_print,
    write_tables,
)
from convscope_report.where import conditions


def table_arguments(parser) -> None:
    """NAME, RESULTS..., --where, --convscope, --format, -o and published figures beside it."""
    parser.add_argument("name", choices=TABLES, metavar="NAME", help="One of: " + ", ".join(TABLES) + ".")
    add_results(parser, "*")
    add_format(parser)
    parser.add_argument(
        "--published",
        action="append",
        default=[],
        metavar="NAME",
        help="Figures that others published beside it (`convscope-report published` lists them).",
    )
    parser.add_argument(
        "--published-where",
        action="append",
        default=[],
        metavar="COLUMN=VALUE,...",
        help="Only such rows of the published figures.",
    )


def table(options) -> int:
    """Make the tables and write them."""
    if options.results and options.name in WITHOUT_PATHS:
        raise ReportError(
            f"{options.results[0]}: table {options.name} shows this machine's, and takes no run"
        )
    if options.where and options.name in WITHOUT_WHERE:
        raise ReportError(f"--where {options.where[0]}: table {options.name} shows no records to choose from")
    if options.name in WITH_OPERATIONS:
        options.results, options.operations = operations.split(options.results)
        if options.operations and not options.results:
            files = ", ".join(map(str, options.operations))
            raise ReportError(f"{files}: holds operations only; name a run beside it, as in out/alexnet")
    if options.name in OF_STEPS:
        options.steps = options.results
    results = None if options.name in OF_THE_PROGRAM else load(options)
    made = TABLES[options.name](results, options)
    if results is not None:
        if results.records.duplicated(CANDIDATE).any():
            repeated = "Some candidates were measured by several of these runs"
            for one in made:
                one.note(f"{repeated}: the middle of their times counts.")
        for sentence in passes_left_out(results):
            made[-1].note(sentence)
    wanted = conditions(options.published_where, "--published-where")
    made += [published.table(name, wanted) for name in options.published]
    write_tables(made, options)
    return 0


def published_arguments(parser) -> None:
    """NAME, --where, --format and -o."""
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="Which figures; left out: list those there are."
    )
    add_where(parser, "Only such rows.")
    add_format(parser)


def published_figures(options) -> int:
    """Print one file's figures, or the list of files."""
    if options.name is None:
        made = published.listing()
    else:
        made = published.table(options.name, conditions(options.where, "--where"))
    write_tables([made], options)
    return 0


def plot_arguments(parser) -> None:
    """NAME, RESULTS..., --format and -o."""
    names = (*NAMES, "all")
    parser.add_argument("name", choices=names, metavar="NAME", help="One of: " + ", ".join(names) + ".")
    add_results(parser)
    add_files(parser)


def plot(options) -> int:
    """Draw the figures and print the paths of their files."""
    formats = formats_of(options, PLOT_FORMATS)
    results = load(options)
    right_records(results)
    made = []
    for name in NAMES if options.name == "all" else (options.name,):
        drawn = figures(name, results)
        if not drawn and options.name != "all":
            raise ReportError(f"{paths_of(results)}: {name}: {why_none(name, results)}")
        made += drawn
    return write_figures(made, options.out, formats)


def why_none(name: str, results) -> str:
    """Return why a figure has nothing to draw, and what would help."""
    if name == "scaling":
        left = [
            sentence
            for *_, right, everything in right_contexts(results)
            for sentence in layers_left_out(counts_of(right), everything)
        ]
        is_swept = any(results.records[column].nunique() > 1 for column in ("threads", "batch"))
        if left and is_swept:
            return " ".join(dict.fromkeys(left))
        alike = "every record has the same threads and batch"
        if is_swept:
            alike = "no right records of one network and machine differ in threads or batch alone"
        return f"{alike}; run with --threads 1,2,4 or --batch 1,4,16, or name several results"
    return "no record of these results was measured and right, with the figures that it draws"


def report_arguments(parser) -> None:
    """RESULTS..., -o, --title and --convscope."""
    add_results(parser)
    parser.add_argument(
        "-o", "--out", type=Path, default=Path("report.html"), metavar="FILE", help="(report.html)"
    )
    parser.add_argument("--title", help="The page's title; made from the results when left out.")


def report(options) -> int:
    """Write the file and print its path."""
    # Imported here: Jinja2 takes a while to load, and only this verb needs it.
    from convscope_report.html.page import page

    results = load(options)
    networks = [name for name in dict.fromkeys(results.records["network"]) if name]
    title = options.title or f"convscope: {', '.join(networks) or 'single problems'}"
    write_or_print(page(results, options, title), options.out)
    print(options.out)
    return 0


TABLE_EXAMPLE = """\
  convscope-report table layers out/alexnet
  convscope-report table layers out/alexnet --where pass=forward --format latex -o layers.tex
  convscope-report table threads out/alexnet --published shi2016_table7 --published-where network=AlexNet-S"""

TABLE = Verb(
    "Print one of the tables of the papers, or of the user's questions, from results.",
    TABLE_EXAMPLE,
    table_arguments,
    table,
)
PUBLISHED = Verb(
    "Print figures that others published, with their source; nothing of it was measured here.",
    """\
  convscope-report published
  convscope-report published shi2016_table7 --where network=AlexNet-S""",
    published_arguments,
    published_figures,
)
PLOT = Verb(
    "Draw one of the figures from results, or all: PNG, SVG, PDF.",
    """\
  convscope-report plot layers out/alexnet -o figures
  convscope-report plot all out/alexnet --where pass=forward --format svg,pdf -o figures""",
    plot_arguments,
    plot,
)
REPORT = Verb(
    "Write one self-contained HTML file: summary, charts, all records, tables, environment.",
    """\
  convscope-report report out/alexnet -o report.html
  convscope-report report results/*/alexnet-forward.json.xz --where pass=forward -o forward.html""",
    report_arguments,
    report,
)
