"""The verb `compare-programs`: two programs measured in turn until it is known which is faster."""

import shlex
import sys
from pathlib import Path

from convscope_report import ReportError, results, rounds, saved
from convscope_report.verbs import Verb, add_format, add_program, table_formats, write_tables
from convscope_report.verbs.compare import add_judgement, exit_code, verdicts

INTERRUPTED = 130
MATTERS = 2  # percent; finer than of two runs, for rounds can tell
REFUSED = ("--out", "--resume", "--dry-run", "--shard", "--record", "--help", "-h")


def arguments(parser) -> None:
    """Take BEFORE, AFTER, --folder, --minutes and after -- the arguments of `convscope run`."""
    what = "a program, as in build/convscope, or the name of a run that was saved with its program"
    parser.add_argument("before", metavar="BEFORE", help=f"The program to compare against: {what}.")
    parser.add_argument("after", metavar="AFTER", help="The program to judge, likewise.")
    parser.add_argument(
        "run_arguments",
        nargs="+",
        metavar="ARGUMENTS",
        help="After --: a config and flags of `convscope run`, of both programs.",
    )
    parser.add_argument("--folder", required=True, metavar="DIR", help="Keep the rounds here, or go on.")
    parser.add_argument(
        "--minutes",
        type=float,
        default=20.0,
        metavar="M",
        help="Begin no round after so many minutes (20); two are measured in any case.",
    )
    add_judgement(parser, MATTERS)
    add_format(parser)
    add_program(parser)


def run(options) -> int:
    """Measure, print the table of verdicts; exit code 1 where --fail-on says so, 130 when interrupted."""
    table_formats(options)  # before minutes are spent
    for word in options.run_arguments:
        if word.partition("=")[0] in REFUSED:
            raise ReportError(f"{word}: not for both programs' runs; leave it out")
    programs = saved.program(options.before), saved.program(options.after)
    made = rounds.Rounds(Path(options.folder), programs, rounds.with_sampling(options.run_arguments))
    made.begin()
    try:
        number, judged = rounds.settle(made, options.matters / 100, options.minutes * 60, load(options), say)
    except KeyboardInterrupt:
        say(f"interrupted; go on with: {command(options)}")
        return INTERRUPTED
    more = f"More rounds make it narrower: {command(options)}"
    table = verdicts(f"A {options.before}, B {options.after}, in turn", number, *judged, more)
    write_tables([table], options)
    return exit_code(options.fail_on, judged[0])


def load(options):
    """Return the function that reads the folders of one program's runs in a round."""
    return lambda folders: results.load(folders, options.virtual_time, options.convscope)


def command(options) -> str:
    """Return the command that goes on with these rounds for as long again."""
    words = [options.before, options.after, "--folder", options.folder, "--minutes", f"{options.minutes:g}"]
    words += ["--matters", f"{options.matters:g}", "--", *options.run_arguments]
    return "scripts/convscope-report compare-programs " + shlex.join(words)


def say(sentence: str) -> None:
    """Tell how far it is, on standard error."""
    print(f"convscope-report: {sentence}", file=sys.stderr)


COMPARE_PROGRAMS = Verb(
    "Measure two programs in turn, round after round, until each record is FASTER, SLOWER or SAME.",
    """\
  convscope-report compare-programs before build/convscope --folder out/turns -- alexnet --layer conv2
  convscope-report compare-programs OLD/convscope NEW/convscope --folder out/turns -- vgg_16""",
    arguments,
    run,
)
