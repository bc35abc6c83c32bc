"""Error and time side by side."""

from convscope_report.contexts import in_order, right_contexts, time_cell
from convscope_report.table import Column, Table

QUESTION = "What does speed cost in accuracy?"


def tables(results, options) -> list:
    """Return a table for each circumstances and pass: a row a layer and algorithm, by rank."""
    return [
        one_pass(f"{title}: {name}", circumstances, rows, everything)
        for title, circumstances, name, rows, everything in right_contexts(results)
    ]


def one_pass(title, circumstances, rows, everything) -> Table:
    """Return one table; wrong rows stand below the right ones of their layer, with their time and no rank."""
    columns = [
        Column("layer"),
        Column("algorithm"),
        Column("median", "number", "ms"),
        Column("over the fastest", "ratio"),
        Column("relative L2", "error"),
        Column("largest over largest", "error"),
        Column("gate", "error"),
        Column("share of gate", "percent"),
        Column("integers exact"),
    ]
    table = Table(title, QUESTION, columns, circumstances)
    wrong = everything[everything["outcome"] == "wrong"]
    for layer in in_order(everything["layer"]):
        ranked = rows[rows["layer"] == layer].sort_values("rank")
        for row in ranked.to_dict("records"):
            table.add(layer, row["algorithm"], time_cell(row), row["over_winner"], *errors(row))
        for row in wrong[wrong["layer"] == layer].to_dict("records"):
            table.add(layer, f"{row['algorithm']} (wrong)", row["full_median_ms"], None, *errors(row))
    table.note("relative L2: against f64, over all outputs checked; the gate is on it.")
    table.note("largest over largest: the largest error over the largest expected value.")
    return table


def errors(row) -> tuple:
    """Return the columns of errors of a row; None where a row was not checked to the end."""
    share = None if row["relative_l2"] is None else row["relative_l2"] / row["gate"]
    exact = {None: None, True: "yes", False: "no"}[row["integers_exact"]]
    return row["relative_l2"], row["max_relative"], row["gate"], share, exact
