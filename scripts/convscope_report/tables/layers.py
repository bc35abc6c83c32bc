"""Time per layer and algorithm, a table a pass; the form is that of convnet-benchmarks' layer table."""

from convscope_report.contexts import (
    best,
    by_place,
    counts_of,
    in_order,
    median_cell,
    refusals,
    right_contexts,
    sum_by_count,
    sum_cell,
    time_cell,
)
from convscope_report.table import Column, Table

QUESTION = "Which algorithm is fastest on which layer, and what does the network cost with each of them?"


def tables(results, options) -> list:
    """Return a table for each network, circumstances and pass: algorithms down, layers across, medians."""
    return [
        one_pass(f"{title}: {name}", circumstances, rows, everything)
        for title, circumstances, name, rows, everything in right_contexts(results)
    ]


def one_pass(title, circumstances, rows, everything) -> Table:
    """Return the table of one pass; the last row takes the best of each layer."""
    counts = counts_of(rows)
    columns = [Column("algorithm"), *(layer_column(layer, count) for layer, count in counts.items())]
    table = Table(title, QUESTION, [*columns, Column("sum by count", "number", "ms")], circumstances)
    winners = {layer: best(rows[rows["layer"] == layer]) for layer in counts}
    found = by_place(rows, "layer", "algorithm")
    lines = []
    for algorithm in in_order(rows["algorithm"]):
        total = sum_by_count(found, counts, algorithm)
        cells = [time_cell(found.get((layer, algorithm))) for layer in counts]
        lines.append([algorithm, *cells, total])
    # Those that have every layer first, the fastest first.
    for line in sorted(lines, key=lambda line: (line[-1] is None, (line[-1] and line[-1].value) or 0)):
        table.add(*line)
    table.add(
        "best of each layer",
        *map(median_cell, winners.values()),
        sum_cell([(counts[layer], median_cell(row)) for layer, row in winners.items()]),
    )
    for sentence in refusals(everything):
        table.note(sentence)
    return table


def layer_column(layer: str, count: int, unit: str = "ms") -> Column:
    """Return a layer's column; its heading says how often the network has the layer if more than once."""
    return Column(layer if count == 1 else f"{layer} x{count}", "number", unit)
