"""The verb `table`: one of TABLES, to the terminal, Markdown, LaTeX or CSV."""

from convscope_report import published
from convscope_report.contexts import passes_left_out
from convscope_report.render import FORMATS, render
from convscope_report.results import CANDIDATE
from convscope_report.tables import TABLES
from convscope_report.verbs.common import add_results, conditions, load, write_or_print

SUMMARY = "Print one of the tables of the papers, or of the user's questions, from results."
EXAMPLE = """\
  convscope-report table layers out/alexnet
  convscope-report table layers out/alexnet --where pass=forward --format latex -o layers.tex
  convscope-report table threads out/alexnet --published shi2016_table7 --published-where network=AlexNet-S"""


def arguments(parser) -> None:
    """NAME, RESULTS..., --where, --format, -o and --convscope."""
    parser.add_argument("name", choices=TABLES, metavar="NAME", help="One of: " + ", ".join(TABLES) + ".")
    add_results(parser, "*")
    parser.add_argument("--format", choices=FORMATS, default="terminal", help="How to write it (terminal).")
    parser.add_argument("-o", "--out", metavar="FILE", help="Write to this file instead of the terminal.")
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


def run(options) -> int:
    """Make the tables and write them."""
    module = TABLES[options.name]
    results = load(options) if getattr(module, "NEEDS_RESULTS", True) else None
    made = module.tables(results, options)
    if results is not None and results.rows.duplicated(CANDIDATE).any():
        for table in made:
            table.note(
                "Some candidates were measured by several of these runs: the middle of their times counts."
            )
    if results is not None:
        for sentence in passes_left_out(results):
            made[-1].note(sentence)
    wanted = conditions(options.published_where, "--published-where")
    made += [published.table(name, wanted) for name in options.published]
    write_or_print(render(made, options.format), options.out)
    return 0
