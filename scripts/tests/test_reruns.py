"""A row runs again from its own rerun line, in an empty folder, and comes to the same verdict."""

import csv
import json
import shlex
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

import pytest
from cli_support import LAYER, QUICK, run

ROWS = 30
FAULTS = ["segfault.plan", "segfault.verify", "segfault.measure", "throw.plan", "throw.measure",
          "infinity.verify", "infinity.measure"]  # fmt: skip
# What must be the same besides the outcome, as the columns of results.csv say it.
SAME = [
    "problem", "algorithm", "device", "threads", "cache", "workspace_cap_bytes", "seed", "knobs",
    "implementation", "workspace_bytes", "integers_exact", "checked_outputs", "total_outputs", "gate",
]  # fmt: skip


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def spread(of: list[dict[str, str]], count: int) -> list[dict[str, str]]:
    """As many rows, from the first to the last and as far apart as they can be."""
    return [of[i * (len(of) - 1) // (count - 1)] for i in range(count)]


def run_again(row: dict[str, str], folder: Path, program: Path) -> dict[str, str]:
    """The one row that the row's own line gives in an empty folder."""
    folder.mkdir()
    words = shlex.split(row["rerun"])
    # A program of another name is not named by its path: its users have convscope.
    assert words[0] == (str(program) if program.name == "convscope" else "convscope")
    done = run(program, *words[1:], cwd=folder)
    right = row["outcome"] in ("measured", "verified_only")
    assert done.returncode == (0 if right else 1), (row["rerun"], done.stdout, done.stderr)
    (out,) = (folder / "out").iterdir()
    (again,) = rows(out)
    return again


def check(row: dict[str, str], again: dict[str, str]) -> None:
    said = row["rerun"]
    assert again["outcome"] == row["outcome"], said
    if row["outcome"] != "measured":  # of one that is, the reason says how quiet the machine was
        assert (again["reason"], again["note"]) == (row["reason"], row["note"]), said
    assert {name: again[name] for name in SAME} == {name: row[name] for name in SAME}, said
    if row["relative_l2"]:
        assert float(again["relative_l2"]) == pytest.approx(float(row["relative_l2"]), rel=0.01), said
    assert again["rerun"] == said, "and its line is the same"
    # How long is the machine's affair; that it was timed is not.
    assert bool(again["full_median_ms"]) == bool(row["full_median_ms"]), said


def check_all(chosen: list[dict[str, str]], folder: Path, program: Path) -> None:
    """Several at a time: most of it is waiting for ceilings, and nothing depends on speed."""
    with ThreadPoolExecutor(4) as pool:
        folders = [folder / str(number) for number in range(len(chosen))]
        for row, again in zip(chosen, pool.map(run_again, chosen, folders, repeat(program)), strict=True):
            check(row, again)


def test_thirty_rows_spread_over_a_run_come_to_the_same_verdict_alone(
    convscope: Path, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    done = run(
        convscope, "run", "smoke", "--layer", "3x3", "--pass", "forward,backward_filter",
        "--threads", "1,2", "--cache", "hot,cold", "--workspace-cap", "40KiB,inf", "--seed", "7",
        "--time-limit", "0.005", "--out", whole,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    all_rows = rows(whole)
    right = [row for row in all_rows if row["outcome"] == "measured"]
    refused = [row for row in all_rows if row["outcome"] in ("unsupported", "over_workspace")]
    assert len(right) + len(refused) == len(all_rows)
    chosen = spread(right, 2 * ROWS // 3) + spread(refused, ROWS // 3)
    assert Counter(row["outcome"] for row in chosen).keys() == {"measured", "unsupported", "over_workspace"}
    check_all(chosen, tmp_path, convscope)


def test_a_row_that_failed_fails_alone_in_the_same_way(faulty: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.json").write_text(json.dumps({"name": "tiny", "layers": [LAYER | {"name": "conv"}]}))
    broken = [f"faulty.{fault}.cpu" for fault in FAULTS]
    words = ["run", tmp_path / "tiny.json", "--pass", "forward", "--algorithm", ",".join(broken), *QUICK]
    done = run(faulty, *words, "--out", tmp_path / "whole")
    assert done.returncode == 1, done.stderr
    failed = rows(tmp_path / "whole")
    assert {row["outcome"] for row in failed} == {"crashed", "failed", "wrong"}
    check_all(failed, tmp_path, faulty)
