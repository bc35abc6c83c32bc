"""What the results say, in sentences: winners by layer, and the network's sum."""

from convscope_report.contexts import best, contexts, counts_of, in_order, is_suspect, passes_of
from convscope_report.figures import LABELS, is_library
from convscope_report.html import answer
from convscope_report.table import number_text


def sections(results) -> list:
    """Return [{title, circumstances, passes: [{name, total, layers}]}] for each network and circumstances."""
    made = []
    for title, circumstances, records in contexts(results.records):
        passes = []
        ranked = records[records["rank"].notna()]
        for name in passes_of(ranked):
            part = ranked[ranked["pass"] == name]
            layers = [sentence(layer, part[part["layer"] == layer]) for layer in in_order(part["layer"])]
            whole = total(part, records[records["pass"] == name])
            passes.append({"name": LABELS[name], "total": whole, "layers": layers})
        if passes:
            made.append({"title": title, "circumstances": circumstances, "passes": passes})
    return made


def sentence(layer, records) -> str:
    """Return who wins a layer, how long it takes, and by what factor over a library's or another record.

    The rival is the best of a library where one of ours leads, otherwise the next by rank.
    """
    leader = best(records)
    others = records[records["algorithm"] != leader["algorithm"]]
    tied = others[others["in_doubt"].map(bool)]
    verb = "leads" if len(tied) or leader["rank"] != 1 else "wins"
    words = f"{layer}: {leader['algorithm']} {verb} with {number_text(leader['full_median_ms'])} ms"
    if is_suspect(leader):
        words += f" ({leader['standing']} while measured)"
    library = others[others["is_baseline"].astype(bool)]
    rival = best(library if len(library) and not is_library(leader) else others)
    if rival is None:
        return words + ", alone."
    words += f", {rival['full_median_ms'] / leader['full_median_ms']:.2f}x over {rival['algorithm']}"
    if is_suspect(rival):
        words += f" ({rival['standing']} while measured)"
    if len(tied):
        words += f"; not shown to be faster than {answer.why_not_slower(leader, tied)}"
    return words + "."


def total(ranked, everything) -> str:
    """Return the sum of the layers' best by count, against the best library record of each layer.

    What `everything` has besides without a right record is named.
    """
    whole = answer.sum_of(answer.cells(everything).values())
    number = sum(counts_of(ranked).values())
    return (
        f"Best of each layer: {number_text(whole.ms)} ms over {number} convolutions{answer.against(whole)}."
    )
