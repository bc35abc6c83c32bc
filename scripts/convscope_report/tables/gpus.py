"""The same layers over several machines: GPUs, or CPUs, or both."""

from dataclasses import replace
from itertools import combinations

from scipy.stats import spearmanr

from convscope_report.contexts import (
    best,
    by_place,
    contexts,
    device_text,
    in_order,
    median_cell,
    passes_of,
    shortest,
)
from convscope_report.errors import ReportError
from convscope_report.table import Column, Table

VARYING = ("device", "device_index", "device_name", "threads")
TIMES = (
    "How fast is the best algorithm on each machine, in time, in its clock cycles and against its own peak?"
)
WINNERS = "Which algorithm wins where, and where does the winner change?"
RANKS = "Do the machines put the algorithms in the same order?"


def tables(results, options) -> list:
    """Return for each network, circumstances and pass: times, map of winners, rank correlations."""
    made = []
    for title, circumstances, rows in contexts(results.ranked(), VARYING):
        rows = rows.assign(
            machine=[machine(row) for row in rows.to_dict("records")],
            method=[algorithm.rsplit(".", 1)[0] for algorithm in rows["algorithm"]],
        )
        if rows["machine"].nunique() < 2:
            continue
        for name in passes_of(rows):
            part = rows[rows["pass"] == name]
            heading = f"{title}: {name}"
            made += [function(heading, circumstances, part) for function in (times, winners, ranks)]
    if not made:
        raise ReportError(
            "all records are of one machine; name the result folders of two or more that ran the same config "
            "with the same batch, math mode and cap"
        )
    return made


def machine(row) -> str:
    """Return the machine's name; a CPU's with its threads."""
    return device_text(row) + (f", {row['threads']} threads" if row["device"] == "cpu" else "")


def best_of(rows) -> dict:
    """Return the best row by layer and machine."""
    return {place: best(part) for place, part in rows.groupby(["layer", "machine"], sort=False)}


def times(title, circumstances, rows) -> Table:
    """Return a row a layer and machine, for the winner there."""
    columns = [
        Column("layer"),
        Column("machine"),
        Column("best algorithm"),
        Column("median", "number", "ms"),
        Column("clock", "count", "MHz"),
        Column("cycles", "number", "10^6"),
        Column("nominal", "tenths", "GFLOP/s"),
        Column("own peak", "tenths", "GFLOP/s"),
        Column("nominal / own peak", "percent"),
    ]
    table = Table(f"{title}, machines", TIMES, columns, circumstances)
    won = best_of(rows)
    for layer in in_order(rows["layer"]):
        here = {name: won[layer, name] for name in in_order(rows["machine"]) if (layer, name) in won}
        medians = {name: median_cell(row) for name, row in here.items()}
        lowest = shortest(medians.values())
        for name, row in here.items():
            median, clock, rate = row["full_median_ms"], row["clock_mhz"], row["gflops_nominal"]
            peak = (
                row["ceiling_gflops"] or None
            )  # a GPU without tensor cores has a measured rate of 0 for them
            cycles = None if clock is None else median * clock / 1e3
            share = None if peak is None else rate / peak
            cell = replace(medians[name], best=medians[name] is lowest)
            table.add(layer, name, row["algorithm"], cell, clock, cycles, rate, peak, share)
    table.note("cycles: median times clock while measured. own peak: the measured multiply-add rate.")
    table.note(
        "nominal: the direct method's operations over the time, so a fast algorithm can exceed the peak."
    )
    return table


def winners(title, circumstances, rows) -> Table:
    """Return the map of winners: layers down, machines across."""
    names = in_order(rows["machine"])
    columns = [Column("layer"), *(Column(name) for name in names), Column("winner changes")]
    table = Table(f"{title}, winners", WINNERS, columns, circumstances)
    won = best_of(rows)
    for layer in in_order(rows["layer"]):
        methods = [won[layer, name]["method"] if (layer, name) in won else None for name in names]
        known = {method for method in methods if method is not None}
        table.add(layer, *methods, "yes" if len(known) > 1 else "no")
    table.note("Without the ending .cpu or .cuda: the same method is one winner, though its code differs.")
    return table


def ranks(title, circumstances, rows) -> Table:
    """Return Spearman's rank correlation of the methods that two machines have in common, layer by layer."""
    columns = [Column("layer"), Column("machine"), Column("other machine")]
    columns += [Column("methods in common", "count"), Column("rank correlation", "number")]
    table = Table(f"{title}, order of algorithms", RANKS, columns, circumstances)
    found = by_place(rows, "layer", "machine", "method")
    for layer in in_order(rows["layer"]):
        for one, other in combinations(in_order(rows["machine"]), 2):
            common = [
                method
                for method in in_order(rows["method"])
                if {(layer, one, method), (layer, other, method)} <= found.keys()
            ]
            correlation = None
            if len(common) >= 3:
                pairs = [
                    [found[layer, name, method]["full_median_ms"] for method in common]
                    for name in (one, other)
                ]
                correlation = float(spearmanr(*pairs).statistic)
            table.add(layer, one, other, len(common), correlation)
    table.note("Spearman's: 1 the same order, -1 the reverse; - with fewer than three methods in common.")
    return table
