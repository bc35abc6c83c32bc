"""Time per layer and algorithm, a table a pass; the form is that of convnet-benchmarks' layer table."""

from convscope_report.contexts import contexts, fastest, in_order, overlaps, passes_of, refusals
from convscope_report.table import Cell, Column, Table

QUESTION = "Which algorithm is fastest on which layer, and what does the network cost with each of them?"


def tables(results, options) -> list:
    """Return a table for each network, circumstances and pass: algorithms down, layers across, medians."""
    right = results.right()
    made = []
    for title, circumstances, rows in contexts(right):
        for name in passes_of(rows):
            part = rows[rows["pass"] == name]
            everything = results.rows.loc[results.rows["pass"] == name]
            made.append(one_pass(f"{title}: {name}", circumstances, part, same_context(everything, part)))
    return made


def same_context(everything, part):
    """Of all rows, refused ones included, those of the networks, batches and devices that the part has."""
    columns = ["network", "batch", "math", "layout", "device", "device_name", "threads", "cache"]
    keys = set(part[columns].itertuples(index=False, name=None))
    return everything[[key in keys for key in everything[columns].itertuples(index=False, name=None)]]


def one_pass(title, circumstances, rows, everything) -> Table:
    """Return the table of one pass; the last row takes the best of each layer."""
    layers = in_order(rows["layer"])
    counts = {layer: int(rows[rows["layer"] == layer]["count"].iloc[0]) for layer in layers}
    columns = [
        Column("algorithm"),
        *(Column(heading(layer, counts[layer]), "number", "ms") for layer in layers),
    ]
    table = Table(title, QUESTION, [*columns, Column("sum by count", "number", "ms")], circumstances)
    best = {layer: fastest(rows[rows["layer"] == layer]) for layer in layers}
    found = {(row["algorithm"], row["layer"]): row for row in rows.to_dict("records")}
    lines = []
    for algorithm in in_order(rows["algorithm"]):
        cells, total = [], 0.0
        for layer in layers:
            row = found.get((algorithm, layer))
            cells.append(time_cell(row, best[layer]))
            total = None if row is None or total is None else total + counts[layer] * row["full_median_ms"]
        lines.append((total is None, total or 0, algorithm, cells, total))
    for _, _, algorithm, cells, total in sorted(lines, key=lambda line: line[:3]):
        table.add(algorithm, *cells, total)
    table.add(
        "best of each layer",
        *(best[layer]["full_median_ms"] for layer in layers),
        sum(counts[layer] * best[layer]["full_median_ms"] for layer in layers),
    )
    for sentence in refusals(everything):
        table.note(sentence)
    return table


def heading(layer: str, count: int) -> str:
    """Return the layer's name, and how often the network has it if more than once."""
    return layer if count == 1 else f"{layer} x{count}"


def time_cell(row, best):
    """Return the median, marked if it is the best of its layer or ties with it."""
    if row is None:
        return None
    if row["algorithm"] == best["algorithm"]:
        return Cell(row["full_median_ms"], best=True)
    return Cell(row["full_median_ms"], tied=overlaps(row, best))
