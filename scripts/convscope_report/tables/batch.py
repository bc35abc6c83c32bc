"""Time an image over the batch size."""

from convscope_report.contexts import by_place, in_order, ratio, right_contexts, time_cell
from convscope_report.errors import ReportError
from convscope_report.table import Column, Table

QUESTION = "How does the time an image fall with the batch, and where does the fastest algorithm change?"


def tables(results, options) -> list:
    """Return a table for each circumstances and pass: layers and algorithms down, batch sizes across."""
    made = [
        one_pass(f"{title}: {name} by batch", circumstances, rows)
        for title, circumstances, name, rows, _ in right_contexts(results, ("batch",))
        if rows["batch"].nunique() > 1
    ]
    if not made:
        raise ReportError("all records have the same batch; run a config with --batch 1,2,4,8,16")
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
        for algorithm in in_order(part["algorithm"]):
            cells = [an_image(found.get((layer, batch, algorithm))) for batch in batches]
            table.add(layer, algorithm, *cells, ratio(cells[0], cells[-1]))
    return table


def an_image(row):
    """Return the median over the batch with its marks."""
    return None if row is None else time_cell(row, row["full_median_ms"] / row["batch"])
