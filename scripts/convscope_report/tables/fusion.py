"""Tables of forward with an epilogue, applied as the sums are stored or in a pass over the output."""

from convscope_report import ReportError
from convscope_report.contexts import (
    best,
    by_place,
    counts_of,
    layers_left_out,
    median_cell,
    paths_of,
    ratio,
    right_contexts,
    sum_cell,
)
from convscope_report.results import dictionaries
from convscope_report.table import Column, Table

BEST = "What does fusing the epilogue into the convolution gain, with the best algorithm for each?"
SAME = "What does fusing gain with the same algorithm, and what would the pass cost at the speed of a copy?"

SEPARATE = ".separate."
FLOAT_BYTES = 4
NARROW_MATH = ("bf16", "fp16")  # whose tensors are of 2 bytes a number


def fusion(results, options) -> list:
    """Return for each circumstances a table of the best of each form, and one of algorithms with both."""
    made = []
    for title, circumstances, records, everything in right_contexts(results):
        if circumstances.scope["epilogue"] == "none":
            continue
        separate = records["algorithm"].str.contains(SEPARATE, regex=False)
        made.append(best_of_each(title, circumstances, records, separate, everything))
        made.append(of_the_same(title, circumstances, records[~separate], records[separate]))
    if not made:
        raise ReportError(
            f"{paths_of(results)}: no right record has an epilogue; "
            "`convscope run --pass forward --epilogue bias+relu` measures both forms"
        )
    return [table for table in made if table.rows]


def best_of_each(title, circumstances, records, separate, everything) -> Table:
    """Return a row a layer: the fastest fused, the fastest separate, and the fastest of a library.

    `separate` says of each record whether it is of that form; `everything` has the records
    that are not right, too.
    """
    columns = [Column("layer"), Column("fused by"), Column("fused", "number", "ms"), Column("separate by")]
    columns += [Column("separate", "number", "ms"), Column("separate / fused", "ratio"), Column("shown")]
    columns += [Column("library", "number", "ms"), Column("library / fused", "ratio")]
    table = Table(f"{title}, epilogue fused and apart", BEST, columns, circumstances)
    parts = records[~separate], records[separate], records[records["family"] == "library"]
    sums = {"fused": [], "separate": [], "library": []}
    counts = counts_of(records)
    for layer, count in counts.items():
        one, other, library = (best(part[part["layer"] == layer]) for part in parts)
        times = [median_cell(record) for record in (one, other, library)]
        for summed, cell in zip(sums.values(), times, strict=True):
            summed.append((count, cell))
        names = ["" if record is None else record["algorithm"] for record in (one, other)]
        table.add(layer, names[0], times[0], names[1], times[1], ratio(times[1], times[0]),
                  shown(one, other), times[2], ratio(times[2], times[0]))  # fmt: skip
    missing = layers_left_out(counts, everything)
    totals = [None if missing else sum_cell(summed) for summed in sums.values()]
    table.add("sum by count", "", totals[0], "", totals[1], ratio(totals[1], totals[0]), "", totals[2],
              ratio(totals[2], totals[0]))  # fmt: skip
    for sentence in missing:
        table.note(sentence)
    table.note("library: the fastest of a library's rows, in whichever form.")
    table.note("shown: the 95% intervals of the two do not overlap.")
    table.note("separate: the convolution, then one pass of bias and ReLU over its output.")
    return table


def of_the_same(title, circumstances, fused, separate) -> Table:
    """Return a row for each layer and algorithm that was measured in both forms."""
    columns = [Column("layer"), Column("algorithm"), Column("fused", "number", "ms")]
    columns += [Column("separate", "number", "ms"), Column("separate / fused", "ratio"), Column("shown")]
    columns += [Column("pass", "number", "ms"), Column("pass as a copy", "number", "ms")]
    table = Table(f"{title}, each algorithm in both forms", SAME, columns, circumstances)
    found = by_place(separate, "layer", "algorithm")
    for record in dictionaries(fused):
        stem, device = record["algorithm"].rsplit(".", 1)
        other = found.get((record["layer"], f"{stem}{SEPARATE}{device}"))
        if other is None:
            continue
        times = [median_cell(record), median_cell(other)]
        more = other["full_median_ms"] - record["full_median_ms"]
        table.add(record["layer"], record["algorithm"], *times, ratio(times[1], times[0]),
                  shown(record, other), more, copy_ms(record))  # fmt: skip
    table.note(
        "pass: the difference of the two medians; below zero where it is less than their spread, or, where "
        "shown says yes, where a library has another implementation for the fused form."
    )
    table.note("pass as a copy: the output's bytes read and written at the measured speed of a copy.")
    return table


def shown(one, other) -> str:
    """Return whether the intervals of two records are apart; empty where there is none."""
    if one is None or other is None:
        return ""
    ends = [record["full_ci_low_ms"] for record in (one, other)] + [
        record["full_ci_high_ms"] for record in (one, other)
    ]
    if any(end is None or end != end for end in ends):
        return ""
    return "yes" if ends[0] > ends[3] or ends[1] > ends[2] else "no"


def element_bytes(math: str) -> int:
    """Return the bytes of a number of a tensor in a math mode."""
    return FLOAT_BYTES // 2 if math in NARROW_MATH else FLOAT_BYTES


def pass_bytes(record) -> float:
    """Return the bytes that a pass over the output reads and writes."""
    numbers = record["batch"] * record["out_channels"] * record["output_h"] * record["output_w"]
    return 2 * element_bytes(record["math"]) * numbers


def copy_ms(record) -> float | None:
    """Return the milliseconds that reading and writing the output takes at the ceiling of copies."""
    rate = record["ceiling_copy_gbs"]
    return 1e-6 * pass_bytes(record) / rate if rate else None
