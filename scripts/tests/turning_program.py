"""A program in the place of convscope, for tests of compare-programs: STATE PROGRAM run CONFIG FLAGS.

Writes the forward records of same_a's layers b and c that the flags leave, each time of another length. STATE
is a folder: `calls` lists what was run by which program; behaviour.json says what it is like: "noise", of a
layer the spread of the logarithm of a time between two processes (its samples are alike), "slower", how many
times as long SLOWED takes in "after", and "fails", the number of the call that fails.
"""

import csv
import json
import random
import sys
from pathlib import Path

from report_support import recorded, scale, write_results

SLOWED = ("b", "winograd.mixed.cpu")


def main(state: Path, program: str, arguments: list) -> int:
    """Do one run."""
    with (state / "calls").open("a+") as calls:
        calls.write(f"{program} {' '.join(arguments[:-2])}\n")
        calls.seek(0)
        number = len(calls.readlines())
    behaviour = json.loads((state / "behaviour.json").read_text())
    if number == behaviour.get("fails"):
        print("convscope: it fails here", file=sys.stderr)
        return 2
    flags = dict(zip(arguments[2::2], arguments[3::2], strict=True))
    document = json.loads((recorded("same_a") / "results.json").read_text())
    with (recorded("same_a") / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    drawn = random.Random(number)
    kept = []
    for record, row in zip(document["records"], rows, strict=True):
        if row["layer"] not in flags.get("--layer", "b,c").split(",") or row["pass"] != "forward":
            continue
        is_slowed = (row["layer"], row["algorithm"]) == SLOWED and program == "after"
        factor = drawn.lognormvariate(0, behaviour["noise"][row["layer"]])
        factor *= behaviour.get("slower", 1) if is_slowed else 1
        for series in (record["time"] or {}).values():
            if isinstance(series, dict) and "samples_seconds" in series:
                series["samples_seconds"] = [
                    series["median_seconds"] * (1 + share / 1e4) for share in range(-10, 11)
                ]
        scale(record, row, factor)
        kept.append((record, row))
    document["records"] = [record for record, _ in kept]
    folder = Path(flags["--out"])
    folder.mkdir()
    write_results(folder, document, [row for _, row in kept])
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]).stem, sys.argv[3:]))
