"""What the results say, in sentences: winners by layer, and the network's sum."""

from convscope_report.contexts import (
    best,
    by_place,
    contexts,
    counts_of,
    in_order,
    is_suspect,
    passes_of,
    shortest,
    sum_by_count,
)
from convscope_report.figures.palette import LABELS, is_library
from convscope_report.table import number_text


def sections(results) -> list:
    """Return [{title, circumstances, passes: [{name, total, layers}]}] for each network and circumstances."""
    made = []
    for title, circumstances, rows in contexts(results.ranked()):
        passes = []
        for name in passes_of(rows):
            part = rows[rows["pass"] == name]
            layers = [sentence(layer, part[part["layer"] == layer]) for layer in in_order(part["layer"])]
            passes.append({"name": LABELS[name], "total": total(part), "layers": layers})
        made.append({"title": title, "circumstances": circumstances, "passes": passes})
    return made


def sentence(layer, rows) -> str:
    """Return who wins a layer, how long it takes, and by what factor over a library's or another row.

    The rival is the best of a library where one of ours leads, otherwise the next by rank.
    """
    leader = best(rows)
    others = rows[rows["algorithm"] != leader["algorithm"]]
    tied = [row["algorithm"] for row in others.to_dict("records") if row["in_doubt"]]
    verb = "leads" if tied or leader["rank"] != 1 else "wins"
    words = f"{layer}: {leader['algorithm']} {verb} with {number_text(leader['full_median_ms'])} ms"
    if is_suspect(leader):
        words += " (throttled while measured, as all others)"
    library = others[others["is_baseline"].astype(bool)]
    rival = best(library if len(library) and not is_library(leader) else others)
    if rival is None:
        return words + ", alone."
    words += f", {rival['full_median_ms'] / leader['full_median_ms']:.2f}x over {rival['algorithm']}"
    if tied:
        words += f"; the intervals overlap, so it is not shown to be faster than {', '.join(tied)}"
    return words + "."


def total(rows) -> str:
    """Return the sum of the layers' best by count, against one algorithm of a library that can do all."""
    counts = counts_of(rows)
    found = by_place(rows, "layer", "algorithm")
    found |= {(layer, None): best(rows[rows["layer"] == layer]) for layer in counts}
    whole = sum_by_count(found, counts, None)
    words = f"Best of each layer: {number_text(whole.value)} ms over {sum(counts.values())} convolutions"
    if whole.suspect:
        words += " (throttled records in it)"
    libraries = {row["algorithm"] for row in rows.to_dict("records") if is_library(row)}
    sums = {name: sum_by_count(found, counts, name) for name in sorted(libraries)}
    rival = shortest(sums.values())
    if rival is None:
        return words + "."
    name = next(name for name, cell in sums.items() if cell is rival)
    return (
        words
        + f", {rival.value / whole.value:.2f}x faster than {name} everywhere ({number_text(rival.value)} ms)."
    )
