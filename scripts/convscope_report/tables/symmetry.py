"""Whether the passes back cost what the forward pass costs, algorithm by algorithm."""

from scipy.stats import gmean

from convscope_report.contexts import by_place, contexts, counts_of, in_order, median_cell, ratio
from convscope_report.errors import ReportError
from convscope_report.table import Cell, Column, Table

QUESTION = "How much slower than forward is {words} with the same algorithm?"
BACKWARD = {"backward_data": "backward-data", "backward_filter": "backward-filter"}


def tables(results, options) -> list:
    """Return a table for each circumstances and backward pass: algorithms down, layers across."""
    made = []
    for title, circumstances, rows in contexts(results.ranked()):
        for name, words in BACKWARD.items():
            table = over_forward(f"{title}: {words} over forward", circumstances, rows, name)
            made += [table] if table.rows else []
    if not made:
        raise ReportError(
            "no algorithm has both a forward and a backward record; run a config without --pass"
        )
    return made


def over_forward(title, circumstances, rows, name) -> Table:
    """Return the ratios of medians of full: the pass named over forward."""
    found = by_place(rows, "layer", "pass", "algorithm")
    counts = counts_of(rows[rows["pass"] == name])
    columns = [
        Column("algorithm"),
        *(Column(layer, "ratio") for layer in counts),
        Column("geometric mean", "ratio"),
    ]
    table = Table(title, QUESTION.format(words=BACKWARD[name]), columns, circumstances)
    for algorithm in in_order(rows["algorithm"]):
        pairs = [
            (found.get((layer, name, algorithm)), found.get((layer, "forward", algorithm)))
            for layer in counts
        ]
        ratios = [ratio(median_cell(back), median_cell(forth)) for back, forth in pairs]
        known = [cell for cell in ratios if cell is not None]
        if known:
            mean = float(gmean([cell.value for cell in known]))
            table.add(algorithm, *ratios, Cell(mean, suspect=any(cell.suspect for cell in known)))
    return table
