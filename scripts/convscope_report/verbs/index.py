"""The verb `index`: results/index.csv and results/README.md from the runs that are kept."""

from pathlib import Path

from convscope_report import kept

SUMMARY = (
    "Write results/index.csv and results/README.md from the kept runs, or check that they are up to date."
)
EXAMPLE = """\
  convscope-report index
  convscope-report index --check"""


def arguments(parser) -> None:
    """--check and --folder."""
    parser.add_argument(
        "--check", action="store_true", help="Write nothing; exit with 1 where they are stale."
    )
    parser.add_argument(
        "--folder", type=Path, default=kept.FOLDER, help="In place of the repository's results/."
    )


def run(options) -> int:
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
