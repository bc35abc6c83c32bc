"""What the results say, in sentences: winners by layer, and the network's sum."""

from convscope_report.contexts import (
    best,
    best_by,
    by_place,
    contexts,
    counts_of,
    in_order,
    is_suspect,
    passes_of,
    shortest,
    sum_by_count,
)
from convscope_report.figures import LABELS, is_library
from convscope_report.table import number_text


def sections(results) -> list:
    """Return [{title, circumstances, passes: [{name, total, layers}]}] for each network and circumstances."""
    made = []
    for title, circumstances, records in contexts(results.ranked()):
        passes = []
        for name in passes_of(records):
            part = records[records["pass"] == name]
            layers = [sentence(layer, part[part["layer"] == layer]) for layer in in_order(part["layer"])]
            passes.append({"name": LABELS[name], "total": total(part), "layers": layers})
        made.append({"title": title, "circumstances": circumstances, "passes": passes})
    return made


def sentence(layer, records) -> str:
    """Return who wins a layer, how long it takes, and by what factor over a library's or another record.

    The rival is the best of a library where one of ours leads, otherwise the next by rank.
    """
    leader = best(records)
    others = records[records["algorithm"] != leader["algorithm"]]
    tied = [record["algorithm"] for record in others.to_dict("records") if record["in_doubt"]]
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


def total(records) -> str:
    """Return the sum of the layers' best by count, against one algorithm of a library that can do all."""
    counts = counts_of(records)
    whole = sum_by_count(best_by(records, "layer"), counts)
    words = f"Best of each layer: {number_text(whole.value)} ms over {sum(counts.values())} convolutions"
    if whole.suspect:
        words += " (throttled records in it)"
    found = by_place(records, "layer", "algorithm")
    libraries = {record["algorithm"] for record in records.to_dict("records") if is_library(record)}
    sums = {name: sum_by_count(found, counts, name) for name in sorted(libraries)}
    rival = shortest(sums.values())
    if rival is None:
        return words + "."
    name = next(name for name, cell in sums.items() if cell is rival)
    over = f"{rival.value / whole.value:.2f}x faster than {name} everywhere"
    return f"{words}, {over} ({number_text(rival.value)} ms)."
