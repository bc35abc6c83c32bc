"""What the results say, in sentences: winners by layer, and the network's sum."""

from convscope_report.contexts import contexts, fastest, in_order, overlaps, passes_of
from convscope_report.figures.palette import LABELS, is_library
from convscope_report.table import number_text


def sections(results) -> list:
    """Return [{title, circumstances, passes: [{name, total, layers}]}] for each network and circumstances."""
    made = []
    for title, circumstances, rows in contexts(results.right()):
        passes = []
        for name in passes_of(rows):
            part = rows[rows["pass"] == name]
            layers = [sentence(layer, part[part["layer"] == layer]) for layer in in_order(part["layer"])]
            passes.append({"name": LABELS[name], "total": total(part), "layers": layers})
        made.append({"title": title, "circumstances": circumstances, "passes": passes})
    return made


def sentence(layer, rows) -> str:
    """Return who wins a layer, how long it takes, and by what factor over a library's or another row."""
    best = fastest(rows)
    others = rows[rows["algorithm"] != best["algorithm"]]
    tied = [row["algorithm"] for row in others.to_dict("records") if overlaps(row, best)]
    verb = "leads" if tied else "wins"
    words = f"{layer}: {best['algorithm']} {verb} with {number_text(best['full_median_ms'])} ms"
    library = others[of_library(others)]
    rival = fastest(library if len(library) and not is_library(best) else others)
    if rival is None:
        return words + ", alone."
    words += f", {rival['full_median_ms'] / best['full_median_ms']:.2f}x over {rival['algorithm']}"
    if tied:
        words += f"; the intervals overlap, so it is not shown to be faster than {', '.join(tied)}"
    return words + "."


def of_library(rows):
    """Return which rows are convolutions of a library, as a list of Booleans."""
    return [is_library(row) for row in rows.to_dict("records")]


def total(rows) -> str:
    """Return the sum of the layers' best by count, against one algorithm of a library that can do all."""
    layers = in_order(rows["layer"])
    best = [fastest(rows[rows["layer"] == layer]) for layer in layers]
    count = {row["layer"]: float(row["count"]) for row in best}
    ours = sum(count[row["layer"]] * row["full_median_ms"] for row in best)
    words = f"Best of each layer: {number_text(ours)} ms over {sum(count.values()):.0f} convolutions"
    rivals = []
    for name, own in rows[of_library(rows)].groupby("algorithm"):
        if len(own) == len(layers):
            rivals.append(
                (sum(count[row["layer"]] * row["full_median_ms"] for row in own.to_dict("records")), name)
            )
    if not rivals:
        return words + "."
    time, name = min(rivals)
    return words + f", {time / ours:.2f}x faster than {name} everywhere ({number_text(time)} ms)."
