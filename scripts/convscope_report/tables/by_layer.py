"""Tables of algorithms and layers under one set of circumstances: times, operations, errors, passes."""

import numpy as np

from convscope_report import ReportError
from convscope_report.contexts import (
    CIRCUMSTANCES,
    Circumstances,
    best_by,
    by_place,
    contexts,
    counts_of,
    in_order,
    layers_left_out,
    median_cell,
    pass_contexts,
    paths_of,
    ratio,
    refusals,
    right_contexts,
    right_records,
    sum_by_count,
    sum_cell,
    time_cell,
)
from convscope_report.results import dictionaries
from convscope_report.table import Cell, Column, Table

LAYERS = "Which algorithm is fastest on which layer, and what does the network cost with each of them?"
OPCOUNTS = "How many operations does each algorithm really do, against the direct method's count?"
ACCURACY = "What does speed cost in accuracy?"
SYMMETRY = "How much slower than forward is {words} with the same algorithm?"
FIRST = "What does a step cost if the first layer's backward-data, which no training needs, is done too?"

# Circumstances that change few counts of operations: vectors of other lanes, threads and caps can. Where two
# of them tell counts apart the later one does it in the heading: best the name of the machine.
FEW = [name for name in reversed(CIRCUMSTANCES) if name not in ("network", "batch", "device")]
ANYWHERE = (*(name for name in FEW if name != "device_name"), "device_name")
ADVICE = "run the config with --first-backward-data"
BACKWARD = {"backward_data": "backward-data", "backward_filter": "backward-filter"}


def layers(results, options) -> list:
    """Return a table for each network, circumstances and pass: algorithms down, layers across, medians.

    The form is that of convnet-benchmarks' layer table.
    """
    return [times(*part) for part in right_contexts(results)]


def times(title, circumstances, records, everything) -> Table:
    """Return the table of one pass; the last row takes the best of each layer.

    A row has a sum where it has every layer, also those of which no record is right.
    """
    counts, whole = counts_of(records), counts_of(everything)
    # A heading says how often the network has the layer if more than once.
    headings = [layer if count == 1 else f"{layer} x{count}" for layer, count in counts.items()]
    columns = [Column("algorithm"), *(Column(name, "number", "ms") for name in (*headings, "sum by count"))]
    table = Table(title, LAYERS, columns, circumstances)
    winners = best_by(records, "layer")
    found = by_place(records, "layer", "algorithm")
    lines = []
    for algorithm in in_order(records["algorithm"]):
        total = sum_by_count(found, whole, algorithm)
        lines.append([algorithm, *(time_cell(found.get((layer, algorithm))) for layer in counts), total])
    # Those that have every layer first, the fastest first.
    for line in sorted(lines, key=lambda line: (line[-1] is None, (line[-1] and line[-1].value) or 0)):
        table.add(*line)
    medians = [median_cell(winners.get((layer,))) for layer in counts]
    table.add("best of each layer", *medians, sum_by_count(winners, whole))
    for sentence in [*layers_left_out(counts, everything), *refusals(everything)]:
        table.note(sentence)
    return table


def opcounts(results, options) -> list:
    """Return a table for each network, batch, device and pass: algorithms down, layers across, in Gop.

    Theoretical against executed operations: the question of slide 34 of Kim et al., ISPASS 2017. Where an
    algorithm does other operations under other circumstances, as on other machines, each of those that tell
    its counts apart has its table.
    """
    counted = results.records[results.records["flops_executed"].notna()]
    if counted.empty:
        raise ReportError(
            f"{paths_of(results)}: no record says how many operations its algorithm does; records of our own "
            "algorithms do"
        )
    made = []
    for title, _, name, records in pass_contexts(counted, ANYWHERE):
        needed = telling(records)
        for _, own, part in contexts(records, [column for column in ANYWHERE if column not in needed]):
            device = [] if "device_name" in needed else [f"device {part['device'].iloc[0]}"]
            text = ", ".join(filter(None, (*device, own)))
            made.append(operations(f"{title}: {name}", Circumstances(text, own.of_pass(name).scope), part))
    return made


def telling(records) -> list:
    """Return the fewest of ANYWHERE that tell the counts of an algorithm on a layer apart, as all of them do.

    With what tells machines apart stands their name, without which nobody knows them.
    """

    def counts(columns) -> list:
        places = records.groupby(["layer", "algorithm", *columns], dropna=False)["flops_executed"]
        return list(places.transform("nunique"))

    needed, fewest = list(ANYWHERE), counts(ANYWHERE)
    for column in ANYWHERE:
        fewer = [other for other in needed if other != column]
        if counts(fewer) == fewest:
            needed = fewer
    unnamed = {"machine_class", "device_index"} & set(needed) and "device_name" not in needed
    return [*needed, "device_name"] if unnamed else needed


def operations(title, circumstances, records) -> Table:
    """Return the direct method's counts, then what each algorithm executes, and its share of them."""
    counts = counts_of(records)
    columns = [Column("operations"), *(Column(layer, "number", "Gop") for layer in counts)]
    table = Table(title, OPCOUNTS, [*columns, Column("executed / nominal", "ratio")], circumstances)
    found = by_place(records, "layer", "algorithm")
    of_layer = by_place(records, "layer")
    nominal = {layer: of_layer[layer,]["flops_nominal"] for layer in counts}

    def add(name: str, values: dict) -> None:
        share = weighted(values, counts) / weighted({layer: nominal[layer] for layer in values}, counts)
        table.add(name, *(values[layer] / 1e9 if layer in values else None for layer in counts), share)

    add("nominal: direct method", nominal)
    add("without taps on padding", {layer: of_layer[layer,]["flops_effective"] for layer in counts})
    for algorithm in in_order(records["algorithm"]):
        own = {layer: found.get((layer, algorithm)) for layer in counts}
        add(algorithm, {layer: record["flops_executed"] for layer, record in own.items() if record})
    table.note(
        "Executed: products and transforms, the waste of partial tiles included, as each algorithm says of "
        "itself; libraries that do not say are left out."
    )
    table.note("executed / nominal: over the layers that the algorithm has, by their counts in the network.")
    different = records.groupby(["layer", "algorithm"])["flops_executed"].nunique()
    names = in_order(algorithm for _, algorithm in different[different > 1].index)
    if names:
        table.note(
            f"Records under the same circumstances differ, as of two programs; the last is shown: "
            f"{', '.join(names)}."
        )
    return table


def weighted(values: dict, counts: dict) -> float:
    """Sum the values by the layers' counts."""
    return sum(counts[layer] * value for layer, value in values.items())


def accuracy(results, options) -> list:
    """Return a table for each circumstances and pass: a row a layer and algorithm, by rank."""
    return [errors_and_times(*part) for part in right_contexts(results)]


def errors_and_times(title, circumstances, records, everything) -> Table:
    """Return one table; wrong records stand below the right ones of their layer, without rank."""
    columns = [Column("layer"), Column("algorithm"), Column("median", "number", "ms")]
    columns += [Column("over the fastest", "ratio")]
    columns += [Column(name, "error") for name in ("relative L2", "largest over largest", "gate")]
    columns += [Column("share of gate", "percent"), Column("integers exact")]
    table = Table(title, ACCURACY, columns, circumstances)
    wrong = everything[everything["outcome"] == "wrong"]
    for layer in in_order(everything["layer"]):
        ranked = records[records["layer"] == layer].sort_values("rank")
        for record in dictionaries(ranked):
            table.add(layer, record["algorithm"], time_cell(record), record["over_winner"], *errors(record))
        for record in dictionaries(wrong[wrong["layer"] == layer]):
            table.add(
                layer, f"{record['algorithm']} (wrong)", record["full_median_ms"], None, *errors(record)
            )
    table.note("relative L2: against f64, over all outputs checked; the gate is on it.")
    table.note("largest over largest: the largest error over the largest expected value.")
    return table


def errors(record) -> tuple:
    """Return the columns of errors of a record; None where it was not checked to the end."""
    share = None if record["relative_l2"] is None else record["relative_l2"] / record["gate"]
    exact = {None: None, True: "yes", False: "no"}[record["integers_exact"]]
    return record["relative_l2"], record["max_relative"], record["gate"], share, exact


def symmetry(results, options) -> list:
    """Return a table for each circumstances and backward pass: algorithms down, layers across.

    Whether the passes back cost what the forward pass costs.
    """
    made = [
        over_forward(f"{title}: {BACKWARD[name]} over forward", circumstances, records, name)
        for title, circumstances, records in contexts(right_records(results))
        for name in BACKWARD
    ]
    made = [table for table in made if table.rows]
    if not made:
        raise ReportError(
            f"{paths_of(results)}: no algorithm has both a forward and a backward record; run a config "
            "without --pass"
        )
    return made


def over_forward(title, circumstances, records, name) -> Table:
    """Return the ratios of medians of full: the pass named over forward."""
    found = by_place(records, "layer", "pass", "algorithm")
    counts = counts_of(records[records["pass"] == name])
    columns = [Column("algorithm"), *(Column(layer, "ratio") for layer in (*counts, "geometric mean"))]
    table = Table(title, SYMMETRY.format(words=BACKWARD[name]), columns, circumstances)
    for algorithm in in_order(records["algorithm"]):
        medians = [
            [median_cell(found.get((layer, way, algorithm))) for way in (name, "forward")] for layer in counts
        ]
        ratios = [ratio(back, forth) for back, forth in medians]
        known = [cell for cell in ratios if cell is not None]
        if known:
            mean = float(np.exp(np.mean(np.log([cell.value for cell in known]))))
            table.add(algorithm, *ratios, Cell(mean, suspect=any(cell.suspect for cell in known)))
    return table


def first_layer(results, options) -> list:
    """Return a table for each network and circumstances: algorithms down, the best of each layer last.

    A training step with and without the backward-data pass of the layers that read the image.
    """
    right = right_records(results)
    made, missing = [], {}
    for title, circumstances, part in contexts(results.records):
        own = right.loc[right.index.intersection(part.index)]
        made.append(steps(title, circumstances, own, counts_of(part)))
        found = set(zip(own["layer"], own["pass"], strict=True))
        lacking = [place for place in zip(part["layer"], part["pass"], strict=True) if place not in found]
        missing |= {f"{layer} {name}": None for layer, name in lacking}
    made = [table for table in made if table.rows]
    if not made:
        raise ReportError(
            f"{paths_of(results)}: no algorithm has all passes of all layers, backward-data of the first "
            "layer included; " + (f"no right record: {', '.join(missing)}" if missing else ADVICE)
        )
    return made


def steps(title, circumstances, records, counts) -> Table:
    """Return one table of right records; an algorithm without one for a layer is named in a footnote.

    `counts` has every layer, also those without a right record.
    """
    parts = ("forward", "backward data, others", "backward data, first", "backward filter")
    columns = [Column(name, "number", "ms") for name in (*parts, "step without", "step with")]
    columns = [Column("algorithm"), *columns, Column("with / without", "ratio")]
    table = Table(f"{title}: first layer", FIRST, columns, circumstances)
    first = set(records["layer"][records["first"].astype(bool)])
    if not first:
        return table
    missing = []
    for algorithm in in_order(records["algorithm"]):
        found = by_place(records[records["algorithm"] == algorithm], "layer", "pass")
        if cells := step(found, counts, first):
            table.add(algorithm, *cells)
        else:
            missing.append(algorithm)
    if cells := step(best_by(records, "layer", "pass"), counts, first):
        table.add("best of each layer", *cells)
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

    own, others = ([layer for layer in counts if (layer in first) == wanted] for wanted in (True, False))
    parts = [
        ("forward", counts),
        ("backward_data", others),
        ("backward_data", own),
        ("backward_filter", counts),
    ]
    without, whole = total(parts[0], parts[1], parts[3]), total(parts[0], parts[1], parts[3], parts[2])
    return whole and (*map(total, parts), without, whole, ratio(whole, without))
