"""The verb `report`: one HTML file with everything about results."""

from pathlib import Path

from convscope_report.errors import ReportError
from convscope_report.verbs.common import add_results, load

SUMMARY = "Write one self-contained HTML file: summary, charts, all records, tables, environment."
EXAMPLE = """\
  convscope-report report out/alexnet -o report.html
  convscope-report report results/*/2026-11-21-alexnet --where pass=forward -o forward.html"""


def arguments(parser) -> None:
    """RESULTS..., -o, --title and --convscope."""
    add_results(parser)
    parser.add_argument(
        "-o", "--out", type=Path, default=Path("report.html"), metavar="FILE", help="(report.html)"
    )
    parser.add_argument("--title", help="The page's title; made from the results when left out.")


def run(options) -> int:
    """Write the file and print its path."""
    # Imported here: Jinja2 takes a while to load, and only this verb needs it.
    from convscope_report.html.page import page

    results = load(options)
    networks = [name for name in dict.fromkeys(results.rows["network"]) if name]
    title = options.title or f"convscope: {', '.join(networks) or 'single problems'}"
    document = page(results, options, title)
    try:
        options.out.write_text(document, encoding="utf-8")
    except OSError as fault:
        raise ReportError(
            f"-o {options.out}: cannot be written: {fault.strerror}; choose another file"
        ) from fault
    print(options.out)
    return 0
