"""The winner under each workspace cap, and the front of time and workspace, from `convscope select`."""

from convscope_report.contexts import ratio, sum_cell
from convscope_report.program_tables import ask, is_kept, kept, median_of, title_of
from convscope_report.table import Column, Table, bytes_text

NEEDS_RESULTS = False
QUESTION = "Which algorithm wins under which workspace cap, and how much workspace is enough?"
TOTAL = "How much workspace does the whole network need to be fast?"
FRONT = "Which records does no other beat in both time and workspace?"


def tables(results, options) -> list:
    """Return for each network and circumstances: winners by cap, their sum by cap, the Pareto fronts."""
    answer = ask(options, "select")
    counts = {
        (network["network"], oracle["layer"]): oracle["count"]
        for network in answer["networks"]
        for oracle in network["oracles"]
    }
    groups = {}
    for curve in kept(answer["workspace_curves"], options):
        if is_kept(curve, options):
            shared = {name: value for name, value in curve.items() if name not in OF_A_CURVE}
            groups.setdefault(title_of(shared), []).append(curve)
    made = []
    for (title, circumstances), curves in groups.items():
        made.append(winners(title, circumstances, curves))
        made.append(totals(title, circumstances, curves, counts))
        made.append(fronts(title, circumstances, curves))
    return made


OF_A_CURVE = ("layer", "pass", "points", "pareto_front", "knee_bytes", "has_knee")


def cap_text(cap: int | None) -> str:
    """Return a cap as a reader sees it."""
    return "any" if cap is None else bytes_text(cap)


def winners(title, circumstances, curves) -> Table:
    """Return a row a layer, pass and cap; caps with the winner of the one before are left out."""
    columns = [
        Column("layer"),
        Column("pass"),
        Column("workspace up to"),
        Column("winner"),
        Column("median", "number", "ms"),
        Column("its workspace", "bytes"),
        Column("measured"),
    ]
    table = Table(f"{title}: workspace", QUESTION, columns, circumstances)
    table.best_means = "knee: the first cap whose winner is within 5% of the best under any"
    for curve in curves:
        last = object()
        for point in curve["points"]:
            cap, winner = point["workspace_cap_bytes"], point["winner"]
            name = winner and (winner["algorithm"], winner["median_seconds"])
            knee = curve["has_knee"] and cap == curve["knee_bytes"]
            if name == last and not knee:
                continue
            last = name
            place = [curve["layer"], curve["pass"], cap_text(cap)]
            if winner is None:
                table.add(*place, "no right record fits", None, None, None)
            else:
                median = median_of(winner, best=knee)
                table.add(*place, winner["algorithm"], median, winner["workspace_bytes"], point["measured"])
    table.note("Caps with the winner of the one before are left out.")
    return table


def totals(title, circumstances, curves, counts) -> Table:
    """Return a row a cap: the winners' sum over layers and passes by count."""
    columns = [Column("workspace up to"), Column("sum", "number", "ms"), Column("against any", "ratio")]
    table = Table(f"{title}: workspace, all layers and passes", TOTAL, columns, circumstances)
    sums = {}
    for curve in curves:
        count = counts[curve["network"], curve["layer"]]
        for point in curve["points"]:
            sums.setdefault(point["workspace_cap_bytes"], []).append((count, median_of(point["winner"])))
    whole = {cap: sum_cell(parts) for cap, parts in sums.items()}
    for cap, total in whole.items():
        table.add(cap_text(cap), total, ratio(total, whole.get(None)))
    table.note("- where no right record of some layer or pass fits.")
    return table


def fronts(title, circumstances, curves) -> Table:
    """Return the Pareto fronts, smallest workspace first."""
    columns = [
        Column("layer"),
        Column("pass"),
        Column("algorithm"),
        Column("median", "number", "ms"),
        Column("workspace", "bytes"),
    ]
    table = Table(f"{title}: time against workspace", FRONT, columns, circumstances)
    for curve in curves:
        for row in curve["pareto_front"]:
            table.add(curve["layer"], curve["pass"], row["algorithm"], median_of(row), row["workspace_bytes"])
    return table
