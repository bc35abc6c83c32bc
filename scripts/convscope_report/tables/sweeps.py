"""Tables of the same layers under several circumstances: layouts, batch sizes, threads, machines."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd

from convscope_report import ReportError
from convscope_report.contexts import (
    best_by,
    by_place,
    contexts,
    counts_of,
    device_text,
    in_order,
    layers_left_out,
    median_cell,
    passes_of,
    paths_of,
    ratio,
    right_contexts,
    right_records,
    shortest,
    sum_by_count,
    time_cell,
)
from convscope_report.results import dictionaries
from convscope_report.table import Column, Table, counted

INSIDE = "How much of an algorithm's time goes into moving between the caller's layout and its own?"
BETWEEN = "What does the layout of the caller's tensors cost?"
BATCH = "How does the time an image fall with the batch, and where does the fastest algorithm change?"
THREADS = "What do more threads gain?"
MACHINES = (
    "How fast is the best algorithm on each machine, in time, in its clock cycles and against its own peak?"
)
WINNERS = "Which algorithm wins where, and where does the winner change?"
RANKS = "Do the machines put the algorithms in the same order?"

OF_A_MACHINE = ("device", "device_index", "device_name", "machine_class", "threads")


def layout(results, options) -> list:
    """Return tables of the transforms inside records and, of several layouts, of times by layout."""
    made = [
        inside(f"{title}, layout transforms", circumstances, records)
        for title, circumstances, records, _ in right_contexts(results)
    ]
    made = [table for table in made if table.rows]
    for title, circumstances, records in contexts(results.ranked(), ("layout",)):
        if records["layout"].nunique() > 1:
            made += [
                between(f"{title}: {name} by layout", circumstances, records[records["pass"] == name])
                for name in passes_of(records)
            ]
    if not made:
        raise ReportError(
            f"{paths_of(results)}: no record moves its tensors to another layout, and all have the same: "
            "nothing to compare; records of libraries do move, and `convscope run --layout nchw,nhwc` "
            "measures both"
        )
    return made


def inside(title, circumstances, records) -> Table:
    """Return the records that say what their reorders take."""
    times = ("full", "filters prepared once", "arithmetic alone", "reorders")
    columns = [Column("layer"), Column("algorithm"), *(Column(name, "number", "ms") for name in times)]
    columns += [Column("reorders / full", "percent")]
    table = Table(title, INSIDE, columns, circumstances)
    for record in dictionaries(records[records["layout_ms"].notna()]):
        others = [record[f"{name}_ms"] for name in ("inference_median", "kernel_median", "layout")]
        share = record["layout_ms"] / record["full_median_ms"]
        table.add(record["layer"], record["algorithm"], median_cell(record), *others, share)
    table.note(
        "Reorders are timed in a series of their own, inside full; `-`: the same as the total to its left."
    )
    return table


def between(title, circumstances, records) -> Table:
    """Return medians of full by layout, and each over the first."""
    layouts = in_order(records["layout"])
    times = [Column(layout, "number", "ms") for layout in layouts]
    ratios = [Column(f"{layout} / {layouts[0]}", "ratio") for layout in layouts[1:]]
    table = Table(title, BETWEEN, [Column("layer"), Column("algorithm"), *times, *ratios], circumstances)
    found = by_place(records, "layer", "algorithm", "layout")
    for layer, algorithm in in_order(zip(records["layer"], records["algorithm"], strict=True)):
        medians = [median_cell(found.get((layer, algorithm, layout))) for layout in layouts]
        table.add(layer, algorithm, *medians, *(ratio(median, medians[0]) for median in medians[1:]))
    table.note("full: what the algorithm's own layout needs of reorders is inside.")
    return table


def swept(results, column: str, one_pass, values: str, advice: str) -> list:
    """Return one_pass(title, circumstances, right records, all records) where a column has several values."""
    made = [
        one_pass(f"{title} by {column}", circumstances, records, everything)
        for title, circumstances, records, everything in right_contexts(results, (column,))
        if records[column].nunique() > 1
    ]
    if not made:
        alike = f"all records have the same {values}"
        if results.records[column].nunique() > 1:
            alike = f"no right records of one network and machine differ in their {values} alone"
        raise ReportError(f"{paths_of(results)}: {alike}; {advice}")
    return made


def batch(results, options) -> list:
    """Return a table for each circumstances and pass: layers and algorithms down, batch sizes across."""
    return swept(results, "batch", by_batch, "batch", "run a config with --batch 1,2,4,8,16")


def by_batch(title, circumstances, records, everything) -> Table:
    """Return the time an image over the batch; the best algorithm of each layer and batch is marked."""
    batches = sorted(records["batch"].unique())
    columns = [Column(f"N={batch}", "number", "ms/image") for batch in batches]
    gain = Column(f"N={batches[0]} / N={batches[-1]}", "ratio")
    table = Table(title, BATCH, [Column("layer"), Column("algorithm"), *columns, gain], circumstances)
    found = by_place(records, "layer", "batch", "algorithm")
    for layer in in_order(records["layer"]):
        for algorithm in in_order(records["algorithm"][records["layer"] == layer]):
            of_batches = [found.get((layer, batch, algorithm)) for batch in batches]
            cells = [one and time_cell(one, one["full_median_ms"] / one["batch"]) for one in of_batches]
            table.add(layer, algorithm, *cells, ratio(cells[0], cells[-1]))
    return table


def threads(results, options) -> list:
    """Return a table for each circumstances and pass: algorithms down, thread counts across, network sums.

    The form is that of Table 7 of Shi et al., 2016, with speed-up and efficiency.
    """
    advice = "run a config with --threads 1,2,4"
    return swept(results, "threads", by_threads, "number of threads", advice)


def by_threads(title, circumstances, records, everything) -> Table:
    """Return sums over layers by count; algorithms that lack a layer have no sum and are named."""
    threads = sorted(records["threads"].unique())
    names = [counted(count, "thread") for count in threads]
    columns = [Column("algorithm"), *(Column(name, "number", "ms") for name in names)]
    columns += [Column(f"speed-up at {count}", "ratio") for count in threads[1:]]
    columns += [Column(f"efficiency at {count}", "percent") for count in threads[1:]]
    table = Table(title, THREADS, columns, circumstances)
    counts, every = counts_of(records), counts_of(everything)
    found = by_place(records, "layer", "threads", "algorithm")
    sums = {
        algorithm: [sum_by_count(found, every, count, algorithm) for count in threads]
        for algorithm in in_order(records["algorithm"])
    }
    lowest = [shortest(cells) for cells in zip(*sums.values(), strict=True)]
    missing = [algorithm for algorithm, cells in sums.items() if not any(cells)]
    for algorithm, cells in sums.items():
        if algorithm not in missing:
            marked = [
                cell and replace(cell, best=cell is low) for cell, low in zip(cells, lowest, strict=True)
            ]
            table.add(algorithm, *marked, *gains(cells, threads))
    winners = best_by(records, "layer", "threads")
    whole = [sum_by_count(winners, every, count) for count in threads]
    table.add("best of each layer", *whole, *gains(whole, threads))
    if missing:
        table.note(f"Without a right record for some layer, so without a sum: {', '.join(missing)}.")
    for sentence in layers_left_out(counts, everything):
        table.note(sentence)
    table.note(
        "Sums of medians of full over layers, by count. Efficiency: speed-up over the growth in threads."
    )
    return table


def gains(sums: list, threads: list) -> list:
    """Return speed-ups over the fewest threads, then efficiencies."""
    speed_ups = [ratio(sums[0], cell) for cell in sums[1:]]
    growth = [count / threads[0] for count in threads[1:]]
    return speed_ups + [
        gain and replace(gain, value=gain.value / more) for gain, more in zip(speed_ups, growth, strict=True)
    ]


def machines(results, options) -> list:
    """Return for each network, circumstances and pass: times, map of winners, rank correlations."""
    made = []
    for title, circumstances, records in contexts(right_records(results), OF_A_MACHINE):
        records = records.assign(
            machine=[machine(record) for record in dictionaries(records)],
            method=[algorithm.rsplit(".", 1)[0] for algorithm in records["algorithm"]],
        )
        if records["machine"].nunique() < 2:
            continue
        for name in passes_of(records):
            part = records[records["pass"] == name]
            heading = f"{title}: {name}"
            made += [function(heading, circumstances, part) for function in (times, winners, ranks)]
            versions = sorted({int(version) for version in part["protocol"].dropna()})
            if len(versions) > 1:
                made[-3].note(
                    f"Measured by versions {', '.join(map(str, versions))} of the protocol, whose times are "
                    "not quite alike (docs/measuring.md)."
                )
    if not made:
        raise ReportError(
            f"{paths_of(results)}: {of_machines(results)}; name the result folders of two or more that ran "
            "the same config with the same batch, math mode and cap"
        )
    return made


def of_machines(results) -> str:
    """Return why there is nothing to set side by side."""
    if len({machine(record) for record in dictionaries(right_records(results))}) < 2:
        return "all records are of one machine"
    return "no right records of two machines are alike in all else"


def machine(record) -> str:
    """Return the machine's name; a CPU's with its threads."""
    if record["device"] != "cpu":
        return device_text(record)
    return f"{device_text(record)}, {counted(record['threads'], 'thread')}"


def times(title, circumstances, records) -> Table:
    """Return a row a layer and machine, for the winner there."""
    columns = [Column("layer"), Column("machine"), Column("best algorithm")]
    columns += [Column("median", "number", "ms"), Column("clock", "count", "MHz")]
    columns += [Column("cycles", "number", "10^6")]
    columns += [Column(name, "tenths", "GFLOP/s") for name in ("nominal", "own peak")]
    columns += [Column("nominal / own peak", "percent")]
    table = Table(f"{title}, machines", MACHINES, columns, circumstances)
    won = best_by(records, "layer", "machine")
    for layer in in_order(records["layer"]):
        here = {name: won[layer, name] for name in in_order(records["machine"]) if (layer, name) in won}
        medians = {name: median_cell(record) for name, record in here.items()}
        lowest = shortest(medians.values())
        for name, record in here.items():
            median, clock, rate = record["full_median_ms"], record["clock_mhz"], record["gflops_nominal"]
            # A GPU without tensor cores has a measured rate of 0 for them.
            peak = record["ceiling_gflops"] or None
            cycles = None if clock is None else median * clock / 1e3
            share = None if peak is None else rate / peak
            cell = replace(medians[name], best=medians[name] is lowest)
            table.add(layer, name, record["algorithm"], cell, clock, cycles, rate, peak, share)
    table.note("cycles: median times clock while measured. own peak: the measured multiply-add rate.")
    table.note(
        "nominal: the direct method's operations over the time, so a fast algorithm can exceed the peak."
    )
    return table


def winners(title, circumstances, records) -> Table:
    """Return the map of winners: layers down, machines across."""
    names = in_order(records["machine"])
    columns = [Column("layer"), *(Column(name) for name in names), Column("winner changes")]
    table = Table(f"{title}, winners", WINNERS, columns, circumstances)
    won = best_by(records, "layer", "machine")
    for layer in in_order(records["layer"]):
        methods = [won[layer, name]["method"] if (layer, name) in won else None for name in names]
        known = {method for method in methods if method is not None}
        table.add(layer, *methods, "yes" if len(known) > 1 else "no")
    table.note("Without the ending .cpu or .cuda: the same method is one winner, though its code differs.")
    return table


def ranks(title, circumstances, records) -> Table:
    """Return Spearman's rank correlation of the methods that two machines have in common, layer by layer."""
    columns = [Column("layer"), Column("machine"), Column("other machine")]
    columns += [Column("methods in common", "count"), Column("rank correlation", "number")]
    table = Table(f"{title}, order of algorithms", RANKS, columns, circumstances)
    found = by_place(records, "layer", "machine", "method")
    for layer in in_order(records["layer"]):
        for one, other in combinations(in_order(records["machine"]), 2):
            common = [
                method
                for method in in_order(records["method"])
                if {(layer, one, method), (layer, other, method)} <= found.keys()
            ]
            correlation = None
            if len(common) >= 3:
                sides = [
                    pd.Series([found[layer, name, method]["full_median_ms"] for method in common]).rank()
                    for name in (one, other)
                ]
                correlation = float(np.corrcoef(*sides)[0, 1])
            table.add(layer, one, other, len(common), correlation)
    table.note("Spearman's: 1 the same order, -1 the reverse; - with fewer than three methods in common.")
    return table
