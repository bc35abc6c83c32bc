"""Scaling over CPU threads; the form of Table 7 of Shi et al., 2016, with speed-up and efficiency."""

from dataclasses import replace

from convscope_report.contexts import (
    best,
    by_place,
    counts_of,
    in_order,
    ratio,
    right_contexts,
    shortest,
    sum_by_count,
)
from convscope_report.errors import ReportError
from convscope_report.table import Column, Table

QUESTION = "What do more threads gain?"


def tables(results, options) -> list:
    """Return a table for each circumstances and pass: algorithms down, thread counts across, network sums."""
    made = [
        one_pass(f"{title}: {name} by threads", circumstances, rows)
        for title, circumstances, name, rows, _ in right_contexts(results, ("threads",))
        if rows["threads"].nunique() > 1
    ]
    if not made:
        raise ReportError("all records have the same number of threads; run a config with --threads 1,2,4")
    return made


def one_pass(title, circumstances, rows) -> Table:
    """Return sums over layers by count; algorithms that lack a layer have no sum and are named."""
    threads = sorted(rows["threads"].unique())
    columns = [Column("algorithm"), *(Column(words(count), "number", "ms") for count in threads)]
    columns += [Column(f"speed-up at {count}", "ratio") for count in threads[1:]]
    columns += [Column(f"efficiency at {count}", "percent") for count in threads[1:]]
    table = Table(title, QUESTION, columns, circumstances)
    counts = counts_of(rows)
    found = by_place(rows, "layer", "threads", "algorithm")
    sums = {
        algorithm: [sum_by_count(found, counts, count, algorithm) for count in threads]
        for algorithm in in_order(rows["algorithm"])
    }
    winners = [best(part) for _, part in rows.groupby(["layer", "threads"], sort=False)]
    chosen = {(row["layer"], row["threads"]): row for row in winners}
    lowest = [shortest(values[place] for values in sums.values()) for place in range(len(threads))]
    for algorithm, values in sums.items():
        if any(value is not None for value in values):
            table.add(algorithm, *marked(values, lowest), *gains(values, threads))
    whole = [sum_by_count(chosen, counts, count) for count in threads]
    table.add("best of each layer", *whole, *gains(whole, threads))
    missing = [algorithm for algorithm, values in sums.items() if all(value is None for value in values)]
    if missing:
        table.note(f"Without a right record for some layer, so without a sum: {', '.join(missing)}.")
    table.note(
        "Sums of medians of full over layers, by count. Efficiency: speed-up over the growth in threads."
    )
    return table


def words(count: int) -> str:
    """Return "1 thread", "2 threads"."""
    return f"{count} thread{'' if count == 1 else 's'}"


def marked(values: list, lowest: list) -> list:
    """Return the sums, the lowest of each thread count marked."""
    return [value and replace(value, best=value is low) for value, low in zip(values, lowest, strict=True)]


def gains(values: list, threads: list) -> list:
    """Return speed-ups over the fewest threads, then efficiencies."""
    speed_ups = [ratio(values[0], value) for value in values[1:]]
    growth = [count / threads[0] for count in threads[1:]]
    efficiencies = [
        gain and replace(gain, value=gain.value / more) for gain, more in zip(speed_ups, growth, strict=True)
    ]
    return [*speed_ups, *efficiencies]
