"""Several runs, machines or settings in one report: the same grid with a column each, and what changed.

Each run is ranked alone: all runs ranked together would take those of one machine for repeats of each other.
Between two runs of the same candidates on one machine `compare` decides whether they differ.
"""

from collections import Counter
from dataclasses import dataclass, replace

import pandas as pd

from convscope_report import ReportError, compare
from convscope_report.contexts import CIRCUMSTANCES, contexts, device_text, in_order, words
from convscope_report.figures import LABELS
from convscope_report.html import answer
from convscope_report.results import PASSES, Results, load
from convscope_report.table import bytes_text

MATTERS = 0.05  # as `convscope-report compare` has it without --matters
# Sides stand beside each other where this share of their layers and passes is common to all.
ALIKE = 0.5
NAMES = {
    "batch": "batch {:.0f}",
    "threads": "{:.0f} threads",
    "cache": "{} cache",
    "device_index": "device {:.0f}",
}


@dataclass
class Side:
    """The records of one run under one set of circumstances; `scope` has these by column."""

    run: int
    scope: dict
    circumstances: str
    title: str
    records: object


@dataclass(frozen=True)
class Verdict:
    """What compare() says of a cell's winner against the same algorithm in the run before."""

    word: str
    words: str
    ratio: float | None = None


def each_run(results: Results, options) -> list:
    """Return the Results of each run, ranked alone; indices and layers' names are those in `results`."""
    if len(results.runs) == 1:
        return [results]
    found, start = [], 0
    for number, run in enumerate(results.runs):
        alone = load([run.folder], options.virtual_time, options.convscope)
        records = alone.records.set_axis(range(start, start + len(alone.records)))
        start += len(records)
        kept = results.records[results.records["run"] == number]
        found.append(Results(records.loc[kept.index].assign(layer=kept["layer"]), alone.runs))
    return found


def grids(results: Results, options) -> list:
    """Return the grids of the report, one a network where its runs and circumstances stand side by side."""
    each = each_run(results, options)
    networks = {}
    for run, alone in enumerate(each):
        for title, circumstances, records in contexts(alone.records):
            scope = circumstances.scope
            side = Side(run, scope, str(circumstances), title, records)
            networks.setdefault(scope["network"], []).append(side)
    made = []
    for sides in networks.values():
        if len(sides) > 1 and alike(sides):
            made.append(side_by_side(sorted_by_time(sides, each), each))
        else:
            made += [answer.grid(side.title, side.circumstances, side.records) for side in sides]
    return made


def alike(sides) -> bool:
    """Whether the sides have enough layers and passes in common to share a grid."""
    places = [set(zip(side.records["layer"], side.records["pass"], strict=True)) for side in sides]
    return len(set.intersection(*places)) >= ALIKE * len(set.union(*places))


def sorted_by_time(sides, each) -> list:
    """Return the sides machine by machine, those of one machine by when their runs began."""
    machines = in_order(device_text(side.scope) for side in sides)
    return sorted(
        sides,
        key=lambda side: (machines.index(device_text(side.scope)), each[side.run].runs[0].started),
    )


def side_by_side(sides, each) -> dict:
    """Return the grid of several sides: a line a layer and pass, a column a side."""
    found = [answer.cells(side.records) for side in sides]
    earlier = [before(sides, place) for place in range(len(sides))]
    pairs = {}
    shared = {
        name: value
        for name, value in sides[0].scope.items()
        if all(same(side.scope[name], value) for side in sides)
    }
    title, circumstances = words({"network": sides[0].scope["network"], **shared})
    places = in_order(place for cells in found for place in cells)
    layers = in_order(layer for layer, _ in places)
    lines = []
    for name in PASSES:
        for layer in layers:
            if (layer, name) not in places:
                continue
            cells = [own.get((layer, name)) for own in found]
            lines.append(line(layer, name, cells, sides, earlier, found, each, pairs))
    totals = [total_of(cells, places) for cells in found]
    return {
        "title": title,
        "circumstances": circumstances,
        "sentence": sentence(lines, totals, len({side.run for side in sides})),
        "heads": [
            {"lines": facts, "verdicts": old is not None}
            for facts, old in zip(headings(sides, each), earlier, strict=True)
        ],
        "lines": lines,
        "totals": totals,
        "legend": answer.legend([cell for cells in found for cell in cells.values()], totals),
        "verdicts": any(place is not None for place in earlier),
    }


def total_of(cells: dict, places: list) -> answer.Sum | None:
    """Return the Sum of a side's Cells, None without a winner; what other sides alone have is missing."""
    total = answer.sum_of(cells.values())
    lacking = [f"{layer} {LABELS[name]}" for layer, name in places if (layer, name) not in cells]
    return total and replace(total, missing=[*total.missing, *lacking])


def line(layer, name, cells, sides, earlier, found, each, pairs) -> dict:
    """Return one line: the Cells of a layer and pass, each with its Verdict where there is a run before."""
    made = {"layer": layer, "pass": LABELS[name], "cells": cells, "verdicts": []}
    made["count"] = next(cell.count for cell in cells if cell)
    for place, cell in enumerate(cells):
        old = earlier[place]
        verdict = None
        if cell and cell.algorithm and old is not None:
            was = found[old].get((layer, name))
            verdict = verdict_of(cell, was, sides[place], compared(sides[old], sides[place], each, pairs))
        made["verdicts"].append(verdict)
    return made


def before(sides, place: int) -> int | None:
    """Return the place of the run before this one on the same machine under the same circumstances."""
    for old in reversed(range(place)):
        equal = all(same(sides[old].scope[name], value) for name, value in sides[place].scope.items())
        if equal and sides[old].run != sides[place].run:
            return old
    return None


def same(a, b) -> bool:
    """Whether two values of circumstances are equal; two unknown ones are."""
    return not compare.differ(a, b)


def compared(old: Side, new: Side, each, pairs: dict):
    """Return what compare() finds between the runs of two sides by candidate, or the reason why nothing."""
    key = old.run, new.run
    if key not in pairs:
        try:
            found, *_ = compare.compare(each[old.run], each[new.run], MATTERS)
            pairs[key] = {compare.key(made.place, compare.CANDIDATE): made for made in found}
        except ReportError as fault:
            pairs[key] = str(fault)
    return pairs[key]


def verdict_of(cell, was, side: Side, found) -> Verdict:
    """Return the Verdict on a winner, and whether another one had won before."""
    changed = (
        f"The winner was {was.name} before. " if was and was.algorithm not in ("", cell.algorithm) else ""
    )
    if isinstance(found, str):
        return Verdict("NOT COMPARED", f"{changed}{found}.")
    record = side.records.loc[cell.index]
    made = found.get(compare.key(record, compare.CANDIDATE))
    if made is None:
        return Verdict("NEW", f"{changed}The run before has no time of {cell.name} here.")
    text = f"{changed}Against {cell.name} in the run before: {made.verdict}"
    if made.ratio is not None:
        text += f", {made.ratio:.3f}x its time (99% interval {made.low:.3f} to {made.high:.3f})"
    return Verdict(made.verdict, "; ".join([text, *made.remarks]) + ".", made.ratio)


def headings(sides, each) -> list:
    """Return for each side what tells it from the others, a line a fact."""
    varying = [
        name
        for name in CIRCUMSTANCES
        if name not in ("network", "device")
        and not all(same(side.scope[name], sides[0].scope[name]) for side in sides)
    ]
    runs = [each[side.run].runs[0] for side in sides]
    commits = [str((run.environment.get("program") or {}).get("commit") or "")[:8] for run in runs]
    libraries = [run.environment.get("libraries") or {} for run in runs]
    other = sorted(
        name for name in set().union(*libraries) if len({str(own.get(name)) for own in libraries}) > 1
    )
    several = len({side.run for side in sides}) > 1
    made = []
    for side, run, commit, own in zip(sides, runs, commits, libraries, strict=True):
        facts = [fact(name, side.scope[name]) for name in varying]
        if several:
            facts.append(run.started.replace("T", " ").removesuffix("Z")[:16] or run.folder.name)
        if several and len(set(commits)) > 1 and commit:
            facts.append(commit)
        facts += [f"{name} {own[name]}" for name in other if own.get(name)]
        made.append(facts)
    return made


def fact(name: str, value) -> str:
    """Return the value of a circumstance for a heading."""
    if name == "workspace_cap_bytes":
        return "any workspace" if pd.isna(value) else f"up to {bytes_text(value)}"
    return NAMES.get(name, "{}").format(value)


def sentence(lines, totals, runs: int) -> str:
    """Return on how many lines the sides agree about the winner, and the range of their sums' factors.

    A sum that lacks a layer and pass is none of the network.
    """
    whole = [line for line in lines if all(cell and cell.algorithm for cell in line["cells"])]
    agreed = sum(len({cell.algorithm for cell in line["cells"]}) == 1 for line in whole)
    what = f"{runs} runs" if runs > 1 else f"{len(totals)} settings"
    text = f"{what}: the same algorithm wins in all of them in {agreed} of {len(whole)} layers and passes"
    sums = [total for total in totals if total and not total.missing]
    factors = [total.over_library for total in sums if total.over_library is not None]
    if factors:
        low, high = (f"{value:.2f}x" for value in (min(factors), max(factors)))
        span = low if low == high else f"{low} to {high}"
        text += f"; summed over the network, the best library record takes {span} as long as the best of each"
    counts = Counter(verdict.word for line in lines for verdict in line["verdicts"] if verdict)
    if counts:
        said = ", ".join(f"{number} {word}" for word, number in counts.most_common())
        text += f"; winners against the run before on the same machine: {said}"
    return f"{text}."
