"""The verbs of runs by name: `save` gives one a name, `runs` lists them or says where one is."""

from pathlib import Path

from convscope_report import kept, run_files, saved
from convscope_report.verbs import Verb


def save_arguments(parser) -> None:
    """RUN, --name, --program and --check."""
    parser.add_argument("results", metavar="RUN", help="A result folder, or its results.json.")
    parser.add_argument("--name", required=True, metavar="NAME", help="What later commands call the run.")
    parser.add_argument(
        "--program",
        metavar="PATH",
        type=Path,
        help="The program that made it, to keep a copy of.",
    )
    parser.add_argument(
        "--check", action="store_true", help="Write nothing; only say whether the name can be taken."
    )


def save(options) -> int:
    """Save the run and say where."""
    if options.check:
        saved.free_file(options.name)
        return 0
    print(f"saved as {options.name}: {saved.save(Path(options.results), options.name, options.program)}")
    return 0


def runs_arguments(parser) -> None:
    """RUN."""
    parser.add_argument(
        "run_name", nargs="?", metavar="RUN", help="A name, or a path; say whether it is a run, and where."
    )


def runs(options) -> int:
    """Print a line a run, its name first, or the file of one, which is read."""
    if options.run_name is not None:
        path = saved.find(options.run_name)
        run_files.read_json(run_files.locate(path))
        print(path)
        return 0
    for name in saved.names():
        print(name, saved.FOLDER / f"{name}{kept.SUFFIX}")
    for file in kept.files(kept.FOLDER):
        print(kept.name_of(file), file)
    return 0


SAVE = Verb(
    "Save a run under a name, in out/saved, to compare later ones with.",
    """\
  convscope-report save out/alexnet --name before
  convscope-report compare before out/after""",
    save_arguments,
    save,
)
RUNS = Verb(
    "List the runs that have a name, saved ones and those of results/, or say where one of them is.",
    """\
  convscope-report runs
  convscope-report runs before""",
    runs_arguments,
    runs,
)
