"""Records split by circumstances, so that a table never mixes what cannot be compared; and their cells."""

import pandas as pd

from convscope_report import ReportError
from convscope_report.results import CIRCUMSTANCES, PASSES, dictionaries
from convscope_report.table import Cell, bytes_text, counted

# Standings of ranked records whose time is to be marked, and the letter that marks it.
SUSPECT = {"throttled": "t", "disturbed": "d"}


class Circumstances(str):
    """The circumstances of a table's records in words; `scope` has their values by column, for filters."""

    scope: dict

    def __new__(cls, text: str, scope: dict):
        """Make the words; a str, since that is what tables and figures do with them."""
        made = super().__new__(cls, text)
        made.scope = scope
        return made

    def of_pass(self, name: str) -> "Circumstances":
        """Return the same words for the records of one pass."""
        return Circumstances(self, {**self.scope, "pass": name})


def contexts(records, varying=()):
    """Yield (title, circumstances, records) of each set of circumstances, `varying` left out of it."""
    fixed = [name for name in CIRCUMSTANCES if name not in varying]
    for values, part in records.groupby(fixed, sort=False, dropna=False):
        yield (*words(dict(zip(fixed, values, strict=True))), part)


def pass_contexts(records, varying=()):
    """Yield (title, circumstances, pass, records) of each set of circumstances and each pass."""
    for title, circumstances, part in contexts(records, varying):
        for name in passes_of(part):
            yield title, circumstances, name, part[part["pass"] == name]


def paths_of(results) -> str:
    """Return the runs as a message names them."""
    return ", ".join(str(run.folder) for run in results.runs)


def right_records(results):
    """Return the ranked records; raises ReportError where no record was measured and is right."""
    right = results.ranked()
    if right.empty:
        raise ReportError(
            f"{paths_of(results)}: none of the records was measured and is right, so there is nothing to "
            "compare; `convscope run` measures, `verify` and an emulator do not"
        )
    return right


def right_contexts(results, varying=()):
    """Yield (title, circumstances, right records, all records) of each set of circumstances and each pass.

    The title ends with the pass. Raises ReportError where no record was measured and is right.
    """
    right = right_records(results)
    for title, circumstances, name, everything in pass_contexts(results.records, varying):
        part = right.loc[right.index.intersection(everything.index)]
        if not part.empty:
            yield f"{title}: {name}", circumstances.of_pass(name), part, everything


def passes_left_out(results) -> list:
    """One sentence for each set of circumstances and pass without a record that was measured and is right."""
    right = results.ranked()
    said = []
    for title, circumstances, name, here in pass_contexts(results.records):
        if right.index.intersection(here.index).empty:
            outcomes = ", ".join(f"{count} {what}" for what, count in here["outcome"].value_counts().items())
            said.append(f"Not in any ranking: {title}: {name} ({circumstances}): {outcomes}, none right.")
    return said


def words(fixed: dict) -> tuple:
    """Title and circumstances in the words that the program prints."""
    title = fixed["network"] or "single problem"
    if "batch" in fixed:
        title += f", batch {fixed['batch']:.0f}"
    parts = []
    if "math" in fixed:
        parts.append(f"{fixed['math']} {fixed.get('layout', '')}".strip())
    elif "layout" in fixed:
        parts.append(fixed["layout"])
    if fixed.get("epilogue", "none") != "none":
        parts.append(f"with {fixed['epilogue']}")
    if "threads" in fixed and fixed.get("device", "cpu") == "cpu":
        parts.append(counted(fixed["threads"], "thread"))
    if "cache" in fixed:
        parts.append(f"{fixed['cache']} cache")
    if "workspace_cap_bytes" in fixed:
        cap = fixed["workspace_cap_bytes"]
        unlimited = cap is None or cap != cap
        parts.append("any workspace" if unlimited else f"workspace up to {bytes_text(cap)}")
    if "device_name" in fixed:
        parts.append(device_text(fixed))
    return title, Circumstances(", ".join(parts), fixed)


def device_text(record) -> str:
    """Return the device's own name, its class where known, and its number where it is not the first."""
    known = record.get("machine_class")
    index = int(record.get("device_index") or 0)
    more = [known] * isinstance(known, str) + [f"{record['device']}:{index}"] * (index > 0)
    return record["device_name"] + (f" ({', '.join(more)})" if more else "")


def passes_of(records) -> list:
    """Return the passes that the records have, forward first."""
    return [name for name in PASSES if (records["pass"] == name).any()]


def in_order(values) -> list:
    """Distinct values in the order of their first appearance."""
    return list(dict.fromkeys(values))


def best(records):
    """Return the record of the first rank among those of one contest; None where there is none."""
    return None if records.empty else records.loc[records["rank"].astype(int).idxmin()]


def best_by(records, *columns) -> dict:
    """Return the best record of each combination of values that the columns have."""
    return {place: best(part) for place, part in records.groupby(list(columns), sort=False)}


def is_suspect(record) -> bool:
    """Whether the time of a ranked record is to be marked: the device was throttled, or disturbed."""
    return record["standing"] in SUSPECT


def has_interval(record) -> bool:
    """Whether there are samples enough for a 95% interval of the median."""
    return not pd.isna(record["full_ci_low_ms"])


def time_cell(record, value: float | None = None):
    """Return the median of a ranked record, or `value` in its place, with its marks; None of no record."""
    if record is None:
        return None
    time = record["full_median_ms"] if value is None else value
    return Cell(time, record["rank"] == 1, bool(record["in_doubt"]), is_suspect(record))


def median_cell(record):
    """Return the median of a ranked record where its rank is not the question; None of no record."""
    return None if record is None else Cell(record["full_median_ms"], suspect=is_suspect(record))


def refusals(records) -> list:
    """One sentence a reason for the records without a valid time: who, where, why."""
    places = {}
    for record in dictionaries(records[records["outcome"] != "measured"]):
        why = record["reason"] or record["outcome"]
        places.setdefault((why, record["algorithm"]), {})[record["layer"]] = None
    grouped = {}
    for (why, algorithm), layers in places.items():
        grouped.setdefault((why, tuple(layers)), []).append(algorithm)
    return [f"{why}: {', '.join(names)} on {', '.join(layers)}" for (why, layers), names in grouped.items()]


def by_place(records, *columns) -> dict:
    """Return the records as dicts, by the values of the given columns."""
    return {tuple(record[column] for column in columns): record for record in dictionaries(records)}


def counts_of(records) -> dict:
    """Return how often the network has each layer, in the order of the records."""
    first = records.drop_duplicates("layer")
    return dict(zip(first["layer"], first["count"].astype(int), strict=True))


def layers_left_out(counts: dict, everything) -> list:
    """One sentence that names the layers of `everything` without a right record; `counts` has the others."""
    left = [layer for layer in counts_of(everything) if layer not in counts]
    return [f"No right record, so the network has no sum: {', '.join(left)}."] if left else []


def sum_by_count(found: dict, counts: dict, *place) -> Cell | None:
    """Sum the medians of `found[(layer, *place)]` over layers, times their counts; None if one is missing.

    The sum is suspect where one of its records is.
    """
    return sum_cell([(count, median_cell(found.get((layer, *place)))) for layer, count in counts.items()])


def sum_cell(parts: list) -> Cell | None:
    """Return the sum of (count, Cell) pairs, suspect where one is; None where a Cell is None."""
    if any(cell is None for _, cell in parts):
        return None
    total = sum(count * cell.value for count, cell in parts)
    return Cell(total, suspect=any(cell.suspect for _, cell in parts))


def shortest(cells):
    """Return the smallest of Cells of times that no contest has together, such as sums.

    As the roll-up of `convscope run` orders its sums. None where all are None.
    """
    known = [cell for cell in cells if cell is not None]
    return min(known, key=lambda cell: cell.value, default=None)


def ratio(cell, other) -> Cell | None:
    """Return one Cell's value over another's, suspect where one of them is; None where one is None."""
    if cell is None or other is None:
        return None
    return Cell(cell.value / other.value, suspect=cell.suspect or other.suspect)
