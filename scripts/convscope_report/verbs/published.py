"""The verb `published`: figures that others measured, with their source."""

from convscope_report import published
from convscope_report.render import FORMATS, render
from convscope_report.table import Column, Table
from convscope_report.verbs.common import conditions, write_or_print

SUMMARY = "Print figures that others published, with their source; nothing of it was measured here."
EXAMPLE = """\
  convscope-report published
  convscope-report published shi2016_table7 --where network=AlexNet-S"""


def arguments(parser) -> None:
    """NAME, --where, --format and -o."""
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="Which figures; left out: list those there are."
    )
    parser.add_argument(
        "--where", action="append", default=[], metavar="COLUMN=VALUE,...", help="Only such rows."
    )
    parser.add_argument("--format", choices=FORMATS, default="terminal", help="How to write it (terminal).")
    parser.add_argument("-o", "--out", metavar="FILE", help="Write to this file instead of the terminal.")


def run(options) -> int:
    """Print one file's figures, or the list of files."""
    if options.name is None:
        made = listing()
    else:
        made = published.table(options.name, conditions(options.where, "--where"))
    write_or_print(render([made], options.format), options.out)
    return 0


def listing() -> Table:
    """Return the names with their sources."""
    columns = [Column("name"), Column("what"), Column("source")]
    made = Table("Published figures", published.QUESTION, columns, published=True)
    for name, source in published.sources().items():
        made.add(name, source["title"], source["source"])
    return made
