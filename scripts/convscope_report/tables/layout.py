"""What moving between layouts costs: inside a row, and between layouts of the caller's tensors."""

from convscope_report.contexts import (
    by_place,
    contexts,
    in_order,
    median_cell,
    passes_of,
    ratio,
    right_contexts,
)
from convscope_report.errors import ReportError
from convscope_report.table import Column, Table

INSIDE = "How much of an algorithm's time goes into moving between the caller's layout and its own?"
BETWEEN = "What does the layout of the caller's tensors cost?"


def tables(results, options) -> list:
    """Return tables of the transforms inside rows and, if there are several layouts, of times by layout."""
    made = [
        inside(f"{title}: {name}, layout transforms", circumstances, rows)
        for title, circumstances, name, rows, _ in right_contexts(results)
    ]
    made = [table for table in made if table.rows]
    for title, circumstances, rows in contexts(results.ranked(), ("layout",)):
        if rows["layout"].nunique() > 1:
            made += [
                between(f"{title}: {name} by layout", circumstances, rows[rows["pass"] == name])
                for name in passes_of(rows)
            ]
    if not made:
        raise ReportError(
            "no record moves its tensors to another layout, and all have the same: nothing to compare; "
            "records of libraries do move, and `convscope run --layout nchw,nhwc` measures both"
        )
    return made


def inside(title, circumstances, rows) -> Table:
    """Return the rows that say what their reorders take."""
    columns = [
        Column("layer"),
        Column("algorithm"),
        Column("full", "number", "ms"),
        Column("filters prepared once", "number", "ms"),
        Column("arithmetic alone", "number", "ms"),
        Column("reorders", "number", "ms"),
        Column("reorders / full", "percent"),
    ]
    table = Table(title, INSIDE, columns, circumstances)
    for row in rows[rows["layout_ms"].notna()].to_dict("records"):
        full, moved = row["full_median_ms"], row["layout_ms"]
        table.add(
            row["layer"],
            row["algorithm"],
            median_cell(row),
            row["inference_median_ms"],
            row["kernel_median_ms"],
            moved,
            moved / full,
        )
    table.note(
        "Reorders are timed in a series of their own, inside full; `-`: the same as the total to its left."
    )
    return table


def between(title, circumstances, rows) -> Table:
    """Return medians of full by layout, and each over the first."""
    layouts = in_order(rows["layout"])
    times = [Column(layout, "number", "ms") for layout in layouts]
    ratios = [Column(f"{layout} / {layouts[0]}", "ratio") for layout in layouts[1:]]
    table = Table(title, BETWEEN, [Column("layer"), Column("algorithm"), *times, *ratios], circumstances)
    found = by_place(rows, "layer", "algorithm", "layout")
    for layer, algorithm in in_order(zip(rows["layer"], rows["algorithm"], strict=True)):
        medians = [median_cell(found.get((layer, algorithm, layout))) for layout in layouts]
        over = [ratio(median, medians[0]) for median in medians[1:]]
        table.add(layer, algorithm, *medians, *over)
    table.note("full: what the algorithm's own layout needs of reorders is inside.")
    return table
