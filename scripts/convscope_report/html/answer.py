"""The first answer of the report: who wins each layer and pass, by what factor, and what speaks against it.

Who wins, in which order, against which baseline and with what doubt is what the program wrote into the
records (bench/ranking); here it is only put into words and added up.
"""

from collections import Counter
from dataclasses import dataclass, field

from convscope_report.contexts import SUSPECT, counts_of, has_interval, in_order, is_suspect, passes_of
from convscope_report.figures import LABELS, is_library, without_device
from convscope_report.results import dictionaries
from convscope_report.table import number_text

FAILED = ("failed", "crashed", "timeout", "out_of_memory")
# The marks beside a winner, in this order, and what the legend says of each.
SIGNS = {
    "~": "not shown to be the fastest: the 95% interval of another overlaps, or may on a quiet machine, or "
    "one of the two has none",
    "t": "a record here was measured on a throttled device: its time is too long",
    "d": "a record here was disturbed, other programs took the device: its time is too long",
    "w": "a record here was wrong: it failed verification and cannot win",
    "!": "a record here failed: crash, timeout or out of memory",
    "?": "no winner: no record was measured and right; behind a sum: some layer and pass is not in it",
    "-": "records that --where leaves out rank before this one",
}


@dataclass(frozen=True)
class Remark:
    """A mark of SIGNS beside a winner and what it means there; `serious` where it may change who wins."""

    sign: str
    words: str
    serious: bool = False


@dataclass(frozen=True)
class Cell:
    """The winner of one contest; `index` is its record's in the results, None where nothing was right."""

    layer: str
    pass_name: str
    count: int
    algorithm: str = ""
    index: int | None = None
    ms: float | None = None
    over_library: float | None = None
    over_next: float | None = None
    runner_up: str = ""
    is_library: bool = False
    is_suspect: bool = False
    suspects_library: bool = False  # over_library is over a suspect record
    remarks: list = field(default_factory=list)

    @property
    def name(self) -> str:
        """The algorithm without its device, which all of a grid share."""
        return without_device(self.algorithm)

    @property
    def in_doubt(self) -> bool:
        """Whether another one is not shown to be slower."""
        return any(remark.sign == "~" for remark in self.remarks)

    @property
    def words(self) -> str:
        """What a reader wants to know of the cell, a line a fact."""
        lines = [f"{self.layer} {LABELS[self.pass_name]}: {self.algorithm or 'no winner'}"]
        if self.algorithm:
            lines.append(f"median {number_text(self.ms)} ms")
        if self.over_library is not None:
            words = ", itself throttled or disturbed" if self.suspects_library else ""
            lines.append(f"{self.over_library:.2f}x over the best record of a library{words}")
        if self.over_next is not None:
            lines.append(f"{self.over_next:.2f}x over the runner-up, {self.runner_up}")
        return "\n".join([*lines, *(remark.words for remark in self.remarks)])


@dataclass(frozen=True)
class Sum:
    """Times of winners, and of baselines, by how often the network has the layers.

    `library_ms` is None where a layer and pass has no baseline; `missing` names those without a winner.
    """

    ms: float
    library_ms: float | None
    suspect: bool
    missing: list

    @property
    def over_library(self) -> float | None:
        """How much faster the winners are together than the baselines."""
        return self.library_ms / self.ms if self.library_ms is not None and self.ms else None


def cell(records) -> Cell:
    """Return the Cell of all records of one layer and pass under one set of circumstances."""
    first = records.iloc[0]
    place = first["layer"], first["pass"], int(first["count"])
    ranked = records[records["rank"].notna()]
    if ranked.empty:
        return Cell(*place, remarks=[nothing_right(records), *failures(records)])
    ranked = ranked.loc[ranked["rank"].astype(int).sort_values().index]
    leader = ranked.iloc[0]
    next_one = ranked.iloc[1] if len(ranked) > 1 else None
    return Cell(
        *place,
        algorithm=leader["algorithm"],
        index=int(ranked.index[0]),
        ms=leader["full_median_ms"],
        over_library=leader["speed_up"],
        over_next=None if next_one is None else next_one["over_winner"] / leader["over_winner"],
        runner_up="" if next_one is None else without_device(next_one["algorithm"]),
        is_library=is_library(leader),
        is_suspect=is_suspect(leader),
        suspects_library=leader["speed_up"] is not None and bool(leader["baseline_suspect"]),
        remarks=[*left_out(leader), *doubts(leader, ranked), *suspects(leader, ranked), *failures(records)],
    )


def left_out(leader) -> list:
    """Say where the first of the records shown is not the winner of the contest."""
    if leader["rank"] == 1:
        return []
    words = f"It ranks {leader['rank']}: records that --where leaves out are before it."
    return [Remark("-", words, serious=True)]


def nothing_right(records) -> Remark:
    """Say why a contest has no winner."""
    outcomes = ", ".join(f"{count} {what}" for what, count in records["outcome"].value_counts().items())
    return Remark("?", f"No record was measured and right: {outcomes}.", serious=True)


def doubts(leader, ranked) -> list:
    """Say which records are not shown to be slower than the leader."""
    others = ranked[ranked["in_doubt"].map(bool)]
    others = others[others["algorithm"] != leader["algorithm"]]
    if others.empty:
        return []
    return [Remark("~", f"Not shown to be faster than {why_not_slower(leader, others)}.")]


def why_not_slower(leader, tied) -> str:
    """Return the names of records in doubt, and why they are: "direct: the 95% intervals overlap"."""
    known = [has_interval(leader) and has_interval(record) for record in dictionaries(tied)]
    why = []
    if any(known):
        why.append("the 95% intervals overlap")
        if tied[known]["standing"].isin(SUSPECT).any():
            why.append("or may on a quiet machine")
    if not all(known):
        why.append(f"{'or ' if why else ''}too few samples give no 95% interval")
    return f"{names_of(tied)}: {', '.join(why)}"


def suspects(leader, ranked) -> list:
    """Say which times are too long because of the machine's state, and whether that may change who wins."""
    said = []
    for standing, sign in SUSPECT.items():
        part = ranked[ranked["standing"] == standing]
        if part.empty:
            continue
        may_win = part[part["in_doubt"].map(bool)]
        words = f"{names_of(part)}: {standing} while measured, so too long a time."
        if not may_win.empty:
            words += f" On a quiet machine perhaps the fastest: {names_of(may_win)}."
        said.append(Remark(sign, words, not may_win.empty))
    return said


def names_of(records) -> str:
    """Return the algorithms of records, without their device."""
    return ", ".join(without_device(name) for name in records["algorithm"])


def failures(records) -> list:
    """Name the records that were wrong, or ended in a failure, each with its reason."""
    said = []
    for sign, outcomes in (("w", ("wrong",)), ("!", FAILED)):
        part = records[records["outcome"].isin(outcomes)]
        for record in [] if part.empty else dictionaries(part):
            why = record["note"] or record["reason"] or record["outcome"]
            if record["outcome"] == "wrong" and record["relative_l2"] is not None:
                why = f"relative error {record['relative_l2']:.1e}, allowed {record['gate']:.1e}"
            said.append(Remark(sign, f"{without_device(record['algorithm'])}: {record['outcome']} ({why})."))
    return said


def cells(records) -> dict:
    """Return {(layer, pass): Cell} of the records of one set of circumstances, in the network's order."""
    parts = dict(list(records.groupby(["layer", "pass"], sort=False)))
    layers, passes = in_order(records["layer"]), passes_of(records)
    return {
        (layer, name): cell(parts[layer, name])
        for layer in layers
        for name in passes
        if (layer, name) in parts
    }


def sum_of(found) -> Sum | None:
    """Return the Sum of Cells, None where none has a winner."""
    found = list(found)
    won = [one for one in found if one.ms is not None]
    if not won:
        return None
    missing = [f"{one.layer} {LABELS[one.pass_name]}" for one in found if one.ms is None]
    library = None
    if all(one.over_library is not None for one in won):
        library = sum(one.count * one.ms * one.over_library for one in won)
    total = sum(one.count * one.ms for one in won)
    suspect = any(one.is_suspect or one.suspects_library for one in won)
    return Sum(total, library, suspect, missing)


def sentence(found) -> str:
    """Return as one sentence who won how many of the Cells, and their sum against the best library."""
    found = list(found)
    won = [one for one in found if one.algorithm]
    total = sum_of(found)
    if total is None:
        return "No record was measured and right, so nobody wins."
    doubted = sum(one.in_doubt for one in won)
    if len(found) == 1:
        verb = "leads, in doubt (~)" if doubted else "wins"
        words = f"{found[0].name} {verb} with {number_text(total.ms)} ms{against(total)}."
        return f"On {found[0].layer}, {words}" if found[0].layer else words
    several = len({one.pass_name for one in found}) > 1
    words = f"Of {len(found)} {'layers and passes' if several else 'layers'} {tally(won)}"
    if doubted:
        words += f", {doubted} of them in doubt (~)"
    return f"{words}; the best of each takes {number_text(total.ms)} ms{against(total)}."


def against(total: Sum) -> str:
    """Return what a sum is beside that of a library, and what is wrong with it, behind the sum itself."""
    words = ", with no library's record in each to compare with"
    if total.over_library is not None:
        library = f"the best library record of each ({number_text(total.library_ms)} ms)"
        words = f", {versus(total.over_library)} {library}"
    if total.suspect:
        words += "; throttled or disturbed records are in the sum"
    if total.missing:
        words += f"; {', '.join(total.missing)} is without a winner and not in it"
    return words


def tally(won) -> str:
    """Return who won how many: our own algorithms first, the names by their number."""
    ours = Counter(one.name for one in won if not one.is_library)
    theirs = Counter(one.name for one in won if one.is_library)
    parts = [
        f"{who} {sum(names.values())} ({listed(names)})"
        for who, names in (("our algorithms win", ours), ("libraries win", theirs))
        if names
    ]
    return " and ".join(parts)


def listed(names: Counter, most: int = 3) -> str:
    """Return names with their numbers, the most frequent first; of many the rest as a number."""
    common = names.most_common()
    shown = common[:most] if len(common) > most + 1 else common
    parts = [f"{name} {number}" for name, number in shown]
    if len(shown) < len(common):
        parts.append(f"others {sum(number for _, number in common[len(shown) :])}")
    return ", ".join(parts)


def versus(factor: float) -> str:
    """Return a factor in words: of 1.00x neither is faster."""
    if f"{factor:.2f}" == "1.00":
        return "as fast as"
    return f"{factor:.2f}x faster than" if factor > 1 else f"{1 / factor:.2f}x slower than"


def legend(found, totals) -> list:
    """Return (sign, meaning) of the marks that the Cells and their Sums have."""
    used = {remark.sign for one in found for remark in one.remarks}
    used |= {"?" for total in totals if total and total.missing}
    return [(sign, words) for sign, words in SIGNS.items() if sign in used]


def grid(title: str, circumstances: str, records) -> dict:
    """Return the grid of layers by passes of the records of one set of circumstances, for the template."""
    found = cells(records)
    passes = passes_of(records)
    counts = counts_of(records)
    totals = [sum_of(one for one in found.values() if one.pass_name == name) for name in passes]
    return {
        "title": title,
        "circumstances": circumstances,
        "sentence": sentence(found.values()),
        "heads": [{"lines": [LABELS[name]]} for name in passes],
        "lines": [
            {
                "layer": layer,
                "count": count,
                "pass": "",
                "cells": [found.get((layer, name)) for name in passes],
            }
            for layer, count in counts.items()
        ],
        "totals": totals,
        "legend": legend(found.values(), totals),
        "verdicts": False,
    }
