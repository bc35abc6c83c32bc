"""Tables of docs/experiments that were typed by hand, against the kept runs that they quote.

A comment before such a table names the runs and says of each cell of a line what it is; with as many lines as
the table has, each is for its own, otherwise the one is for all:

    <!-- held against amd-zen4-2-cores/alexnet-1-thread
    | layer pass | full_median_ms of algorithm=winograd.mixed.* | full_median_ms of provider=onednn |
    -->

`layer pass` and `algorithm` choose the records of the line by the cell's own text; a query takes a column of
docs/results_format.md of the fastest record that can win, of those that fit; with `of` the line's algorithm
does not matter. `sum` adds up the fastest of all layers and passes, `in 2` takes the second run. A cell
without a number says that there is nothing; an empty cell of the comment is not looked at.
"""

import fnmatch
import re
from pathlib import Path

import pytest

from convscope_report import operations, results

COMMENT = re.compile(
    r"<!-- held against (?P<runs>[^\n]+)\n(?P<cells>(?:\|.*\n)+)-->\n(?P<after>\n*(?:\|.*\n)*)"
)
QUERY = re.compile(r"(?P<sum>sum )?(?P<column>\w+)(?: of (?P<by>\w+)=(?P<pattern>\S+))?(?: in (?P<run>\d+))?")
NUMBER = re.compile(r"\d+(?:\.(\d+))?")


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def chosen_by(says: list[str], cells: list[str]) -> dict:
    """Return what the cells that choose records choose: column of the records and value."""
    chosen = {}
    for what, cell in zip(says, cells, strict=True):
        if what == "layer pass":
            layer, of_pass = cell.split()
            chosen |= {"layer": layer, "pass": of_pass.replace("-", "_")}
        elif what == "algorithm":
            chosen["algorithm"] = cell.strip("`")
    return chosen


def value_of(query: re.Match, chosen: dict, runs: list[list[dict]]) -> float | None:
    """Return what the query asks of the records that can win; None where there is nothing."""
    by = query["by"] or "algorithm"
    pattern = query["pattern"] or chosen.get("algorithm", "*")
    place = {column: value for column, value in chosen.items() if column != "algorithm"}
    contests: dict = {}
    for record in runs[int(query["run"] or 1) - 1]:
        if place.items() <= record.items():
            contests.setdefault((record["layer"], record["pass"]), []).append(record)
    found = [[one for one in all_of if fnmatch.fnmatchcase(one[by], pattern)] for all_of in contests.values()]
    best = [min(fit, key=lambda one: one["full_median_ms"])[query["column"]] for fit in found if fit]
    if query["sum"]:
        return sum(best) if len(best) == len(contests) else None
    assert len(contests) <= 1, f"{place} and {query[0]!r} are of several layers or passes"
    return best[0] if best else None


def fault_of(cell: str, value: float | None) -> str | None:
    """Return what the cell should say, None where it is right."""
    number = NUMBER.search(cell)
    if number is None or value is None:
        return None if number is None and value is None else f"{cell!r} should be {value}"
    right = f"{value:.{len(number[1] or '')}f}"
    return None if number[0] == right else f"{cell!r} should be {right}"


def faults_of(text: str, records_of) -> list[str]:
    """Return a sentence for each wrong cell of the page; `records_of` gives a run's records that can win."""
    faults = []
    for comment in COMMENT.finditer(text):
        runs = [records_of(run) for run in comment["runs"].split()]
        head, _, *lines = [cells_of(line) for line in comment["after"].strip().splitlines()]
        says = [cells_of(line) for line in comment["cells"].splitlines()]
        for what, cells in zip(says * len(lines) if len(says) == 1 else says, lines, strict=True):
            assert len(head) == len(what), f"{len(what)} cells for a table of {len(head)} columns"
            chosen = chosen_by(what, cells)
            for question, cell in zip(what, cells, strict=True):
                if question in ("", "layer pass", "algorithm"):
                    continue
                query = QUERY.fullmatch(question)
                assert query, f"{question!r} is no query"
                fault = fault_of(cell, value_of(query, chosen, runs))
                if fault:
                    faults.append(f"{' | '.join(cells)}: {fault}")
    return faults


# And how many tables are held.
PAGES = {"fft.md": 2, "gpu_bandwidth.md": 1, "gpu_first_light.md": 4, "implicit_gemm.md": 1, "winograd.md": 1}


@pytest.mark.parametrize("page", PAGES)
def test_the_numbers_of_a_page_are_those_of_its_runs(root: Path, page: str) -> None:
    def records_of(run: str) -> list[dict]:
        return results.dictionaries(results.load([root / "results" / f"{run}.json.xz"]).ranked())

    text = (root / "docs/experiments" / page).read_text()
    assert len(COMMENT.findall(text)) == text.count("<!-- held against") == PAGES[page]
    assert faults_of(text, records_of) == []


def test_no_other_page_holds_a_table(root: Path) -> None:
    holding = {page.name for page in root.glob("docs/**/*.md") if "<!-- held against" in page.read_text()}
    assert holding == set(PAGES)


def record(layer: str, algorithm: str, milliseconds: float, product: float | None = None) -> dict:
    return {
        "layer": layer,
        "pass": "forward",
        "algorithm": algorithm,
        "provider": "ours" if algorithm.startswith("a") else "theirs",
        "full_median_ms": milliseconds,
        "product_ms": product,
    }


RUNS = {
    "one": [record("l1", "a.x", 2.04, 1.5), record("l1", "b.y", 1.0), record("l2", "a.x", 3.0)],
    "two": [record("l1", "a.x", 5.0), record("l1", "a.z", 4.5)],
}
PAGE = """<!-- held against one two
| layer pass | algorithm | full_median_ms | product_ms | | full_median_ms of provider=ours in 2 |
-->

| layer, pass | algorithm | all | product | note | again |
|---|---|---|---|---|---|
| l1 forward | `a.x` | 2.0 | 1.50 (75%) | 9 | 4.5 ms |
| l2 forward | `a.x` | 3.00 | - | 9 | |
"""
SUMS = """<!-- held against one two
| | sum full_median_ms of provider=ours | sum full_median_ms of provider=ours in 2 |
| | sum full_median_ms of provider=theirs | sum full_median_ms of provider=theirs in 2 |
-->
| | one | two |
|---|---|---|
| ours | 5.04 ms | 4.5 ms |
| theirs | | |
"""


def test_right_tables_pass() -> None:
    assert faults_of(PAGE, RUNS.get) == []
    assert faults_of(SUMS, RUNS.get) == []


@pytest.mark.parametrize(
    ("page", "right", "wrong", "says"),
    [
        (PAGE, "2.0 |", "2.1 |", "'2.1' should be 2.0"),
        (PAGE, "1.50 (75%)", "1.51 (75%)", "should be 1.50"),
        (PAGE, "| - |", "| 1.5 |", "'1.5' should be None"),
        (PAGE, "`a.x` | 3.00", "`a.x` | ", "'' should be 3.0"),
        (SUMS, "5.04 ms", "5.05 ms", "should be 5.04"),
        (SUMS, "| theirs | |", "| theirs | 1.0 |", "'1.0' should be None"),
    ],
)
def test_a_wrong_cell_is_named_with_what_it_should_be(page: str, right: str, wrong: str, says: str) -> None:
    assert right in page
    (fault,) = faults_of(page.replace(right, wrong, 1), RUNS.get)
    assert says in fault


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("product_ms |", "product ms |"),
        ("| l1 forward", "| l1 x forward"),
        ("| note |", "|"),
        ("one two", "one"),
    ],
)
def test_a_comment_that_does_not_fit_its_table_is_refused(right: str, wrong: str) -> None:
    assert right in PAGE
    with pytest.raises((AssertionError, ValueError, IndexError)):
        faults_of(PAGE.replace(right, wrong, 1), RUNS.get)


def test_the_operations_of_the_page_on_bandwidth_are_those_of_its_files(root: Path) -> None:
    def rows_of(machine: str) -> dict:
        file = root / "results" / machine / "operations" / "operations-alexnet.json.xz"
        rows = operations.load([file], {"layer": ["conv1"]})
        return {(row["operation"], row["direction"], row["provider"]): row["median_ms"] for row in rows}

    text = (root / "docs/experiments/gpu_bandwidth.md").read_text()
    _, *lines = text.partition("| operation |")[2].partition("\n\n")[0].splitlines()[1:]
    measured = [rows_of("nvidia-h100-80gb-hbm3"), rows_of("nvidia-h200")]
    for line in lines:
        name, *cells = cells_of(line)
        direction = "backward" if name.endswith(" backward") else "forward"
        operation = name.removesuffix(" backward").partition(" ")[0]
        expected = [
            f"{machine[operation, direction, provider]:.3f}"
            for machine in measured
            for provider in ("convscope", "cudnn")
        ]
        assert cells == expected, name
    assert len(lines) == 7
