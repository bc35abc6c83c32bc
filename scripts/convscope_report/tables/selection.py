"""What a library chose, by Get, Find or otherwise, against the best right row, from `convscope select`."""

from convscope_report.program_tables import ask, is_kept, kept, median_of, milliseconds, title_of
from convscope_report.table import Column, Table

NEEDS_RESULTS = False
QUESTION = "What does the library's own choice of algorithm cost against the best right record?"
SUMS = "What does it cost over all layers, and how often is it the best?"


def tables(results, options) -> list:
    """Return for each network and circumstances the choices by layer and pass, and their sums."""
    made = []
    for network in kept(ask(options, "select")["networks"], options):
        title, circumstances = title_of(network)
        made += [choices(title, circumstances, network, options), sums(title, circumstances, network)]
    return made


def choices(title, circumstances, network, options) -> Table:
    """Return a row a chooser, layer and pass: what it took, its regret, its rank, how stable it was."""
    columns = [
        Column("layer"),
        Column("pass"),
        Column("chooser"),
        Column("chose"),
        Column("median", "number", "ms"),
        Column("oracle"),
        Column("oracle median", "number", "ms"),
        Column("regret", "percent"),
        Column("in library", "percent"),
        Column("rank", "count"),
        Column("agreement", "percent"),
        Column("slowest / fastest - 1", "percent"),
    ]
    table = Table(f"{title}: selection", QUESTION, columns, circumstances)
    table.best_means = "rank 1: the oracle, or the same implementation measured twice"
    table.tied_means = "its 95% interval overlaps the oracle's"
    oracles = {(entry["layer"], entry["pass"]): entry["oracle"] for entry in network["oracles"]}
    for chooser in network["choosers"]:
        for judgement in filter(lambda row: is_kept(row, options), chooser["judgements"]):
            place = judgement["layer"], judgement["pass"]
            oracle, choice = oracles.get(place), judgement["choice"]
            best = [oracle and oracle["algorithm"], median_of(oracle)]
            if judgement["missing"] is not None:
                table.add(*place, chooser["algorithm"], judgement["missing"], None, *best, *[None] * 5)
                continue
            median = median_of(
                choice,
                best=judgement["rank"] == 1,
                tied=judgement["rank"] != 1 and bool(judgement["tie"]),
            )
            repeated = judgement["repeats"] > 1
            table.add(
                *place,
                chooser["algorithm"],
                choice["implementation"] or None,
                median,
                *best,
                judgement["regret"],
                judgement["regret_in_library"],
                judgement["rank"],
                judgement["agreement"] if repeated else None,
                judgement["spread"] if repeated else None,
            )
    if not network["choosers"]:
        table.note("No record is a library's own choice (cudnn.get, cudnn.find, ..., onednn.auto).")
    table.note("regret: median over the oracle's - 1; in library: over the best record of the same library.")
    table.note("agreement: share of repeats that took the most frequent implementation; - without repeats.")
    return table


def sums(title, circumstances, network) -> Table:
    """Return a row a chooser and pass: sums over layers by count, and the shares of ranks."""
    columns = [
        Column("chooser"),
        Column("pass"),
        Column("layers", "count"),
        Column("its sum", "number", "ms"),
        Column("oracle's", "number", "ms"),
        Column("regret", "percent"),
        Column("in library", "percent"),
        Column("top-1", "percent"),
        Column("top-3", "percent"),
    ]
    table = Table(f"{title}: selection, sums over layers", SUMS, columns, circumstances)
    for chooser in network["choosers"]:
        for name, score in chooser["scores"].items():
            if score["judged"]:
                table.add(
                    chooser["algorithm"],
                    "all passes" if name == "all" else name,
                    score["judged"],
                    milliseconds(score["seconds"], score["throttled"]),
                    milliseconds(score["oracle_seconds"]),
                    score["regret"],
                    score["regret_in_library"],
                    score["top1_rate"],
                    score["top3_rate"],
                )
            if score["missing"]:
                table.note(
                    f"{chooser['algorithm']} {name}: {score['missing']} without a right record, in no sum."
                )
    return table
