"""Theoretical against executed operations; the question of slide 34 of Kim et al., ISPASS 2017."""

from convscope_report.contexts import Circumstances, by_place, contexts, counts_of, in_order, passes_of
from convscope_report.errors import ReportError
from convscope_report.table import Column, Table

QUESTION = "How many operations does each algorithm really do, against the direct method's count?"
ANYWHERE = ("math", "layout", "device_index", "device_name", "threads", "cache", "workspace_cap_bytes")


def tables(results, options) -> list:
    """Return a table for each network, batch, device and pass: algorithms down, layers across, in Gop."""
    counted = results.rows[results.rows["flops_executed"].notna()]
    if counted.empty:
        raise ReportError(
            "no record says how many operations its algorithm does; records of our own algorithms do"
        )
    return [
        one_pass(
            f"{title}: {name}",
            Circumstances(f"device {rows['device'].iloc[0]}", where.of_pass(name).scope),
            rows[rows["pass"] == name],
        )
        for title, where, rows in contexts(counted, ANYWHERE)
        for name in passes_of(rows)
    ]


def one_pass(title, circumstances, rows) -> Table:
    """Return the direct method's counts, then what each algorithm executes, and its share of them."""
    counts = counts_of(rows)
    columns = [Column(layer, "number", "Gop") for layer in counts]
    ratio = Column("executed / nominal", "ratio")
    table = Table(title, QUESTION, [Column("operations"), *columns, ratio], circumstances)
    found = by_place(rows, "layer", "algorithm")
    any_row = by_place(rows, "layer")
    nominal = {layer: any_row[(layer,)]["flops_nominal"] for layer in counts}
    effective = {layer: any_row[(layer,)]["flops_effective"] for layer in counts}
    table.add("nominal: direct method", *(value / 1e9 for value in nominal.values()), 1.0)
    table.add(
        "without taps on padding", *giga(effective), weighted(effective, counts) / weighted(nominal, counts)
    )
    for algorithm in in_order(rows["algorithm"]):
        executed = {
            layer: found[layer, algorithm]["flops_executed"]
            for layer in counts
            if (layer, algorithm) in found
        }
        cells = [executed[layer] / 1e9 if layer in executed else None for layer in counts]
        here = {layer: nominal[layer] for layer in executed}
        table.add(algorithm, *cells, weighted(executed, counts) / weighted(here, counts))
    table.note(
        "Executed: products and transforms, the waste of partial tiles included, as each algorithm says of "
        "itself; libraries that do not say are left out."
    )
    table.note("executed / nominal: over the layers that the algorithm has, by their counts in the network.")
    return table


def giga(values: dict):
    """Yield the values in units of 1e9."""
    return (value / 1e9 for value in values.values())


def weighted(values: dict, counts: dict) -> float:
    """Sum the values by the layers' counts."""
    return sum(counts[layer] * value for layer, value in values.items())
