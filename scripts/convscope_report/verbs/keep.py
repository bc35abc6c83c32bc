"""The verb `keep`: a run into results/, compressed, and the index written anew."""

from pathlib import Path

from convscope_report import kept

SUMMARY = "Keep a run: its results.json, compressed, under results/, and results/index.csv anew."
EXAMPLE = """\
  convscope-report keep out/alexnet --machine amd-zen4-2-cores
  convscope-report keep out/1 --machine nvidia-h200 --name alexnet-cudnn"""


def arguments(parser) -> None:
    """RUN, --machine, --name and --folder."""
    parser.add_argument("results", metavar="RUN", help="A result folder, or its results.json.")
    parser.add_argument(
        "--machine", required=True, metavar="NAME", help="The folder of its machine in results/."
    )
    parser.add_argument("--name", metavar="NAME", help="The run's name; that of its folder when left out.")
    parser.add_argument(
        "--folder", type=Path, default=kept.FOLDER, help="In place of the repository's results/."
    )


def run(options) -> int:
    """Keep the run and say where."""
    name = options.name or Path(options.results).resolve().name
    file = kept.keep(Path(options.results), options.machine, name, options.folder)
    print(f"{file}: {file.stat().st_size:,} bytes")
    return 0
