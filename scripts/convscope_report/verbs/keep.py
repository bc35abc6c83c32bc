"""The verbs of results/: `keep` puts a run into it, `index` writes its index."""

from pathlib import Path

from convscope_report import kept
from convscope_report.verbs import Verb


def add_folder(parser) -> None:
    """--folder."""
    parser.add_argument(
        "--folder", type=Path, default=kept.FOLDER, help="In place of the repository's results/."
    )


def keep_arguments(parser) -> None:
    """RUN, --machine, --name and --folder."""
    parser.add_argument("results", metavar="RUN", help="A result folder, or its results.json.")
    parser.add_argument(
        "--machine", required=True, metavar="NAME", help="The folder of its machine in results/."
    )
    parser.add_argument("--name", metavar="NAME", help="The run's name; that of its folder when left out.")
    add_folder(parser)


def keep(options) -> int:
    """Keep the run and say where."""
    name = Path(options.results).resolve().name if options.name is None else options.name
    file = kept.keep(Path(options.results), options.machine, name, options.folder)
    print(f"{file}: {file.stat().st_size:,} bytes")
    return 0


def index_arguments(parser) -> None:
    """--check and --folder."""
    parser.add_argument(
        "--check", action="store_true", help="Write nothing; exit with 1 where they are stale."
    )
    add_folder(parser)


def index(options) -> int:
    """Write, or say what is stale."""
    entries = [kept.entry_of(file) for file in kept.files(options.folder)]
    if not options.check:
        kept.write_index(options.folder, entries)
        return 0
    stale = [name for name, text in kept.index(entries).items() if text_of(options.folder / name) != text]
    for name in stale:
        print(f"{options.folder / name} is stale: run `convscope-report index`")
    return 1 if stale else 0


def text_of(file: Path) -> str | None:
    """Return the file's text; None where there is none."""
    return file.read_text(encoding="utf-8") if file.is_file() else None


KEEP = Verb(
    "Keep a run: its results.json, compressed, under results/, and results/index.csv anew.",
    """\
  convscope-report keep out/alexnet --machine amd-zen4-2-cores
  convscope-report keep out/1 --machine nvidia-h200 --name alexnet-cudnn""",
    keep_arguments,
    keep,
)
INDEX = Verb(
    "Write results/index.csv and results/README.md from the kept runs, or check that they are up to date.",
    """\
  convscope-report index
  convscope-report index --check""",
    index_arguments,
    index,
)
