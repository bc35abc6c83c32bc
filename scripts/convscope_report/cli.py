"""The command line: the table of verbs, and what a user sees of an error."""

import argparse
import contextlib
import sys

from convscope_report import ReportError
from convscope_report.output import Output
from convscope_report.verbs.compare import COMPARE
from convscope_report.verbs.compare_programs import COMPARE_PROGRAMS
from convscope_report.verbs.export import EXPORT
from convscope_report.verbs.import_config import IMPORT
from convscope_report.verbs.keep import INDEX, KEEP
from convscope_report.verbs.save import RUNS, SAVE
from convscope_report.verbs.show import PLOT, PUBLISHED, REPORT, TABLE
from convscope_report.verbs.steps import PLOT_STEP, PLOT_TIMELINE, STEPS

VERBS = {
    "table": TABLE,
    "published": PUBLISHED,
    "compare": COMPARE,
    "compare-programs": COMPARE_PROGRAMS,
    "plot": PLOT,
    "report": REPORT,
    "steps": STEPS,
    "plot-step": PLOT_STEP,
    "plot-timeline": PLOT_TIMELINE,
    "import": IMPORT,
    "export": EXPORT,
    "keep": KEEP,
    "index": INDEX,
    "save": SAVE,
    "runs": RUNS,
}

DESCRIPTION = """\
Tables, figures and comparisons from the results of `convscope run`. Only compare-programs measures."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs."""
    example = "convscope-report table layers out/alexnet"
    parser = argparse.ArgumentParser(
        "convscope-report",
        description=DESCRIPTION,
        epilog=f"Example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--virtual-time",
        action="store_true",
        help="read also results of a stand-in for a GPU, whose times mean nothing: for rehearsals",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, verb in VERBS.items():
        one = verbs.add_parser(
            name,
            help=verb.summary,
            description=verb.summary,
            epilog=f"Examples:\n{verb.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        verb.arguments(one)
        one.set_defaults(run=verb.run)
    return parser


def main(argv: list) -> int:
    """Run a verb; exit code 2 with one message where the user can do something about it."""
    with contextlib.redirect_stdout(Output(sys.stdout)):
        try:
            try:
                return run_verb(argv)
            finally:  # also after --help, which ends by SystemExit
                sys.stdout.flush()
        except ReportError as fault:
            print(f"convscope-report: {fault}", file=sys.stderr)
            return 2
        except BrokenPipeError:  # the reader of a pipe has seen enough
            return 0
        except OSError as fault:  # a full disk, a folder that is a file
            place = f"{fault.filename}: " if fault.filename else ""
            print(f"convscope-report: {place}{fault.strerror or fault}", file=sys.stderr)
            return 2


def run_verb(argv: list) -> int:
    """Parse the arguments and do what they say; return the exit code."""
    parser = build_parser()
    options, behind = parser.parse_known_args(argv)
    # Where results may be left out, argparse takes those behind a flag for arguments that it does not know.
    named = getattr(options, "results", None)
    if behind and (not isinstance(named, list) or any(word.startswith("-") for word in behind)):
        parser.error(f"unrecognized arguments: {' '.join(behind)}")
    if behind:
        named += behind
    return options.run(options)
