"""Time an image over the batch size."""

from convscope_report.contexts import by_place, fastest, in_order, overlaps, right_contexts
from convscope_report.errors import ReportError
from convscope_report.table import Cell, Column, Table

QUESTION = "How does the time an image fall with the batch, and where does the fastest algorithm change?"


def tables(results, options) -> list:
    """Return a table for each circumstances and pass: layers and algorithms down, batch sizes across."""
    made = [
        one_pass(f"{title}: {name} by batch", circumstances, rows)
        for title, circumstances, name, rows, _ in right_contexts(results, ("batch",))
        if rows["batch"].nunique() > 1
    ]
    if not made:
        raise ReportError("all rows have the same batch; run a config with --batch 1,2,4,8,16")
    return made


def one_pass(title, circumstances, rows) -> Table:
    """Return medians of full over the batch; the best algorithm of each layer and batch is marked."""
    batches = sorted(rows["batch"].unique())
    columns = [Column(f"N={batch}", "number", "ms/image") for batch in batches]
    gain = Column(f"N={batches[0]} / N={batches[-1]}", "ratio")
    table = Table(title, QUESTION, [Column("layer"), Column("algorithm"), *columns, gain], circumstances)
    found = by_place(rows, "layer", "batch", "algorithm")
    for layer in in_order(rows["layer"]):
        part = rows[rows["layer"] == layer]
        best = {batch: fastest(part[part["batch"] == batch]) for batch in batches}
        for algorithm in in_order(part["algorithm"]):
            cells = [an_image(found.get((layer, batch, algorithm)), best[batch]) for batch in batches]
            ends = [cells[0], cells[-1]]
            table.add(layer, algorithm, *cells, None if None in ends else ends[0].value / ends[1].value)
    return table


def an_image(row, best):
    """Return the median over the batch, marked if it is the best or ties with it."""
    if row is None:
        return None
    is_best = row["algorithm"] == best["algorithm"]
    return Cell(row["full_median_ms"] / row["batch"], best=is_best, tied=not is_best and overlaps(row, best))
