"""The verb `plot`: one of the figures, or all of them, as PNG, SVG or PDF."""

from pathlib import Path

from convscope_report.errors import ReportError
from convscope_report.figures import NAMES, module_of
from convscope_report.verbs.common import add_results, load

SUMMARY = "Draw one of the figures from results, or all: PNG, SVG, PDF."
EXAMPLE = """\
  convscope-report plot layers out/alexnet -o figures
  convscope-report plot all out/alexnet --where pass=forward --format svg,pdf -o figures"""
FORMATS = ("png", "svg", "pdf")


def arguments(parser) -> None:
    """NAME, RESULTS..., --format and -o."""
    names = (*NAMES, "all")
    parser.add_argument("name", choices=names, metavar="NAME", help="One of: " + ", ".join(names) + ".")
    add_results(parser)
    parser.add_argument("--format", default="png", metavar="FORMAT,...", help="Of png, svg, pdf (png).")
    parser.add_argument(
        "-o", "--out", type=Path, default=Path(), metavar="DIR", help="Folder for the files (.)."
    )


def run(options) -> int:
    """Draw the figures and print the paths of their files."""
    # Imported here: matplotlib takes half a second to load, and only this verb needs it.
    from convscope_report.figures import style

    formats = options.format.split(",")
    for form in formats:
        if form not in FORMATS:
            raise ReportError(f"--format {form}: found {form!r}; allowed are {', '.join(FORMATS)}")
    results = load(options)
    names = NAMES if options.name == "all" else (options.name,)
    made = []
    for name in names:
        figures = module_of(name).figures(results)
        if not figures and options.name != "all":
            raise ReportError(f"{name}: {why_none(name)}")
        made += figures
    if not made:
        raise ReportError("no figure: no record of these results was measured and right")
    try:
        paths = style.save(made, options.out, formats)
    except OSError as fault:
        raise ReportError(f"-o {options.out}: cannot be written: {fault.strerror}") from fault
    print("\n".join(map(str, paths)))
    return 0


def why_none(name: str) -> str:
    """Return why a figure has nothing to draw, and what would help."""
    if name == "scaling":
        return (
            "every record has the same threads and batch; run with --threads 1,2,4 or --batch 1,4,16, "
            "or name several results"
        )
    return "no record of these results was measured and right, with the figures that it draws"
