"""A training step with and without the backward-data pass of the layers that read the image."""

from convscope_report.contexts import (
    best,
    by_place,
    contexts,
    counts_of,
    in_order,
    median_cell,
    ratio,
    sum_cell,
)
from convscope_report.errors import ReportError
from convscope_report.table import Column, Table

QUESTION = "What does a step cost if the first layer's backward-data, which no training needs, is done too?"


def tables(results, options) -> list:
    """Return a table for each network and circumstances: algorithms down, the best of each layer last."""
    made = []
    for title, circumstances, rows in contexts(results.ranked()):
        table = one_network(title, circumstances, rows)
        made += [table] if table.rows else []
    if not made:
        raise ReportError(
            "no algorithm has all passes of all layers, backward-data of the first layer included; "
            "run the config with --first-backward-data"
        )
    return made


def one_network(title, circumstances, rows) -> Table:
    """Return one table; an algorithm without a row for a layer is named in a footnote."""
    names = [
        "forward",
        "backward data, others",
        "backward data, first",
        "backward filter",
        "step without",
        "step with",
    ]
    columns = [
        Column("algorithm"),
        *(Column(name, "number", "ms") for name in names),
        Column("with / without", "ratio"),
    ]
    table = Table(f"{title}: first layer", QUESTION, columns, circumstances)
    counts = counts_of(rows)
    first = {row["layer"] for row in rows.to_dict("records") if row["first"]}
    if not first:
        return table
    missing = []
    for algorithm in in_order(rows["algorithm"]):
        parts = step(by_place(rows[rows["algorithm"] == algorithm], "layer", "pass"), counts, first)
        if parts is None:
            missing.append(algorithm)
        else:
            table.add(algorithm, *parts)
    winners = [best(part) for _, part in rows.groupby(["layer", "pass"], sort=False)]
    parts = step({(row["layer"], row["pass"]): row for row in winners}, counts, first)
    if parts is not None:
        table.add("best of each layer", *parts)
    table.note(f"First: {', '.join(sorted(first))}. Sums of medians of full, by the layers' counts.")
    if missing:
        table.note(f"Without a record for some layer or pass: {', '.join(missing)}.")
    return table


def step(found: dict, counts: dict, first: set) -> tuple | None:
    """Return forward, backward-data of others and first, backward-filter, both steps and their ratio."""

    def total(*parts):
        return sum_cell(
            [
                (counts[layer], median_cell(found.get((layer, name))))
                for name, layers in parts
                for layer in layers
            ]
        )

    own = set(counts) & first
    forward, weights = ("forward", counts), ("backward_filter", counts)
    others, of_first = ("backward_data", set(counts) - own), ("backward_data", own)
    without, whole = total(forward, others, weights), total(forward, others, weights, of_first)
    if whole is None:
        return None
    return (
        total(forward),
        total(others),
        total(of_first),
        total(weights),
        without,
        whole,
        ratio(whole, without),
    )
