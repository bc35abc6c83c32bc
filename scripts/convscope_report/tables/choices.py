"""Tables that the program computes from results, by `convscope select` and `convscope policies`."""

from pathlib import Path

from convscope_report import ReportError, program
from convscope_report.contexts import ratio, sum_cell, words
from convscope_report.results import CIRCUMSTANCES, as_text, refuse_virtual_time
from convscope_report.run_files import once
from convscope_report.table import Cell, Column, Table, bytes_text
from convscope_report.where import conditions

SELECTION = "What does the library's own choice of algorithm cost against the best right record?"
SELECTION_SUMS = "What does it cost over all layers, and how often is it the best?"
POLICIES = "What would a step's convolutions cost under the choices of each framework?"
WORKSPACE = "Which algorithm wins under which workspace cap, and how much workspace is enough?"
WORKSPACE_SUMS = "How much workspace does the whole network need to be fast?"
FRONT = "Which records does no other beat in both time and workspace?"

# What --where can ask of an entry's parts; all other columns are circumstances of the entry.
LATER = ("layer", "pass")
# Of a policy's sums, by heading.
STEP_SUMS = {
    "forward": "forward",
    "backward": "backward_without_first_backward_data",
    "step": "step_without_first_backward_data",
    "backward all": "backward",
    "step all": "step",
}
NOTHING = "--where leaves nothing: no results of these circumstances, layers and passes"


def ask(options, verb: str, *more):
    """Return what `convscope VERB RESULTS... --json` says; the results are read by the program itself."""
    if not options.results:
        raise ReportError("no results given; name one or more result folders, as in out/alexnet")
    return program.ask(options.convscope, verb, *once(map(Path, options.results)), *more)


def kept(entries: list, options, later: tuple = LATER) -> list:
    """Return the entries whose circumstances --where asks for; raises ReportError if none is left.

    Also where one is of a stand-in for a GPU and --virtual-time is not given. `later` are the columns of an
    entry's parts that --where may ask for, which are looked at later.
    """
    if not options.virtual_time:
        for entry in entries:
            refuse_virtual_time([entry.get("device_name")], ", ".join(map(str, options.results)))
    wanted = conditions(options.where, "--where")
    for column in wanted:
        if column not in later and any(column not in entry for entry in entries):
            known = [name for name, value in entries[0].items() if not isinstance(value, list)]
            names = ", ".join(dict.fromkeys((*known, *later)))
            raise ReportError(f"--where {column}=...: this table can be cut by {names} only")
    if not entries:
        files = ", ".join(map(str, options.results))
        raise ReportError(f"{files}: no records: the run had no candidates; name another folder")
    left = [
        entry
        for entry in entries
        if all(as_text(entry[column]) in values for column, values in wanted.items() if column not in later)
    ]
    if not left:
        raise ReportError(NOTHING)
    return left


def is_kept(part: dict, options) -> bool:
    """Say whether --where asks for the layer and pass of a part of an entry."""
    wanted = conditions(options.where, "--where")
    return all(part[column] in wanted[column] for column in LATER if column in wanted)


def title_of(entry: dict) -> tuple:
    """Return title and circumstances of an entry in the words of the other tables."""
    return words({name: value for name, value in entry.items() if not isinstance(value, list)})


def milliseconds(seconds: float | None, suspect: bool = False, **marks) -> Cell | None:
    """Return a time of the program's as a Cell in ms with its marks; None as it is."""
    return None if seconds is None else Cell(1e3 * seconds, suspect=suspect, **marks)


def median_of(record: dict | None, **marks) -> Cell | None:
    """Return the median of a record as the program writes it; None where there is no record."""
    return record and milliseconds(record["median_seconds"], record["suspect"], **marks)


def selection(results, options) -> list:
    """Return for each network and circumstances the choices by layer and pass, and their sums."""
    made = []
    networks = kept(ask(options, "select")["networks"], options)
    if not any(is_kept(oracle, options) for network in networks for oracle in network["oracles"]):
        raise ReportError(NOTHING)
    for network in networks:
        title, circumstances = title_of(network)
        made += [choosers(title, circumstances, network, options), sums(title, circumstances, network)]
    return made


def choosers(title, circumstances, network, options) -> Table:
    """Return a row a chooser, layer and pass: what it took, its regret, its rank, how stable it was."""
    columns = [Column(name) for name in ("layer", "pass", "chooser", "chose")]
    columns += [Column("median", "number", "ms"), Column("oracle"), Column("oracle median", "number", "ms")]
    columns += [Column("regret", "percent"), Column("in library", "percent"), Column("rank", "count")]
    columns += [Column("agreement", "percent"), Column("slowest / fastest - 1", "percent")]
    table = Table(f"{title}: selection", SELECTION, columns, circumstances)
    table.best_means = "rank 1: the oracle, or the same implementation measured twice"
    table.tied_means = (
        "not shown to be slower than the oracle: their 95% intervals overlap, or may on a quiet machine, or "
        "one has none"
    )
    # Layers of one name may be of several problems.
    oracles = {(entry["layer"], entry["problem"]): entry["oracle"] for entry in network["oracles"]}
    for chooser in network["choosers"]:
        for judgement in filter(lambda part: is_kept(part, options), chooser["judgements"]):
            place = judgement["layer"], judgement["pass"]
            oracle, choice = oracles[judgement["layer"], judgement["problem"]], judgement["choice"]
            best = [oracle and oracle["algorithm"], median_of(oracle)]
            if judgement["missing"] is not None:
                table.add(*place, chooser["algorithm"], judgement["missing"], None, *best, *[None] * 5)
                continue
            is_first = judgement["rank"] == 1
            median = median_of(choice, best=is_first, tied=not is_first and bool(judgement["tie"]))
            chose = [chooser["algorithm"], choice["implementation"] or None, median]
            figures = [judgement[name] for name in ("regret", "regret_in_library", "rank")]
            repeated = judgement["repeats"] > 1
            stable = [judgement[name] if repeated else None for name in ("agreement", "spread")]
            table.add(*place, *chose, *best, *figures, *stable)
    if not network["choosers"]:
        table.note("No record is a library's own choice (cudnn.get, cudnn.find, ..., onednn.auto).")
    table.note("regret: median over the oracle's - 1; in library: over the best record of the same library.")
    table.note("agreement: share of repeats that took the most frequent implementation; - without repeats.")
    return table


def sums(title, circumstances, network) -> Table:
    """Return a row a chooser and pass: sums over layers by count, and the shares of ranks."""
    columns = [Column("chooser"), Column("pass"), Column("layers", "count")]
    columns += [Column(name, "number", "ms") for name in ("its sum", "oracle's")]
    columns += [Column(name, "percent") for name in ("regret", "in library", "top-1", "top-3")]
    table = Table(f"{title}: selection, sums over layers", SELECTION_SUMS, columns, circumstances)
    for chooser in network["choosers"]:
        for name, score in chooser["scores"].items():
            if score["judged"]:
                place = chooser["algorithm"], "all passes" if name == "all" else name, score["judged"]
                times = (
                    milliseconds(score["seconds"], score["suspect"]),
                    milliseconds(score["oracle_seconds"], score["suspect"]),
                )
                rates = (score[rate] for rate in ("regret", "regret_in_library", "top1_rate", "top3_rate"))
                table.add(*place, *times, *rates)
            if score["missing"]:
                table.note(
                    f"{chooser['algorithm']} {name}: {score['missing']} without a right record, in no sum."
                )
    return table


def policies(results, options) -> list:
    """Return a table for each network and circumstances: a step under each framework's policy.

    The question of Kim et al.'s comparison of frameworks, as policy emulation on one library: no framework
    runs.
    """
    folder = program.ROOT / "configs" / "policies"
    return [steps(entry) for entry in kept(ask(options, "policies", "--policy", folder), options, ())]


def steps(entry) -> Table:
    """Return a row a policy; those that these results have no record for are named in a footnote."""
    title, circumstances = title_of(entry)
    columns = [Column("policy"), Column("policy emulation on")]
    columns += [Column(name, "number", "ms") for name in STEP_SUMS]
    columns += [Column("options alone", "ratio"), Column("records at its cap")]
    table = Table(f"{title}: policies", POLICIES, columns, circumstances)
    absent = []
    for policy in entry["policies"]:
        step = policy["step"]
        if step["rows"] == 0:
            absent.append(policy["policy"])
            continue
        table.add(
            policy["policy"] + (" (default)" if policy["default"] else ""),
            policy["label"].removeprefix("policy emulation on "),
            *(milliseconds(policy[name]["seconds"], policy[name]["suspect"]) for name in STEP_SUMS.values()),
            policy["speed_up_over_default"],
            f"{step['rows'] - step['rows_of_other_caps']} of {step['rows']}",
        )
        for sentence in policy["step_without_first_backward_data"]["missing"]:
            table.note(f"{policy['policy']}: no sum with {sentence}.")
    table.note(
        "Policy emulation: records of this run that each policy would take; never the framework itself."
    )
    table.note(
        'backward and step leave out backward-data of layers that read the image; "all" has it, if measured.'
    )
    table.note("options alone: the framework's default over this policy.")
    if absent:
        table.note(f"No record here for any layer: {', '.join(absent)}.")
    return table


def workspace(results, options) -> list:
    """Return for each network and circumstances: winners by cap, their sum by cap, the Pareto fronts."""
    groups = {}
    for curve in kept(ask(options, "select")["workspace_curves"], options):
        if "count" not in curve:
            raise program.too_old(options.convscope, "counts of layers")
        if is_kept(curve, options):
            shared = ((name, curve[name]) for name in CIRCUMSTANCES if name in curve)  # without the cap
            groups.setdefault(tuple(shared), []).append(curve)
    if not groups:
        raise ReportError(NOTHING)
    made = []
    for shared, curves in groups.items():
        title, circumstances = title_of(dict(shared))
        made += [winners(title, circumstances, curves), totals(title, circumstances, curves)]
        made.append(fronts(title, circumstances, curves))
    return made


def cap_text(cap: int | None) -> str:
    """Return a cap as a reader sees it."""
    return "any" if cap is None else bytes_text(cap)


def winners(title, circumstances, curves) -> Table:
    """Return a row a layer, pass and cap; caps with the winner of the one before are left out."""
    columns = [Column(name) for name in ("layer", "pass", "workspace up to", "winner")]
    columns += [Column("median", "number", "ms"), Column("its workspace", "bytes"), Column("measured")]
    table = Table(f"{title}: workspace", WORKSPACE, columns, circumstances)
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


def totals(title, circumstances, curves) -> Table:
    """Return a row a cap: the winners' sum over layers and passes by count."""
    columns = [Column("workspace up to"), Column("sum", "number", "ms"), Column("against any", "ratio")]
    table = Table(f"{title}: workspace, all layers and passes", WORKSPACE_SUMS, columns, circumstances)
    sums = {}
    for curve in curves:
        for point in curve["points"]:
            part = curve["count"], median_of(point["winner"])
            sums.setdefault(point["workspace_cap_bytes"], []).append(part)
    whole = {cap: sum_cell(parts) for cap, parts in sums.items()}
    for cap, total in whole.items():
        table.add(cap_text(cap), total, ratio(total, whole.get(None)))
    table.note("- where no right record of some layer or pass fits.")
    return table


def fronts(title, circumstances, curves) -> Table:
    """Return the Pareto fronts, smallest workspace first."""
    columns = [Column("layer"), Column("pass"), Column("algorithm")]
    columns += [Column("median", "number", "ms"), Column("workspace", "bytes")]
    table = Table(f"{title}: time against workspace", FRONT, columns, circumstances)
    for curve in curves:
        for record in curve["pareto_front"]:
            place = curve["layer"], curve["pass"], record["algorithm"]
            table.add(*place, median_of(record), record["workspace_bytes"])
    return table
