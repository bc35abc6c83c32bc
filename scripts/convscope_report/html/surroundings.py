"""Where and how the records were measured, and what speaks against trusting them."""

from typing import NamedTuple

from convscope_report.contexts import device_text, in_order
from convscope_report.html.answer import FAILED
from convscope_report.results import configs_of, dictionaries

BUSY = 0.5
WIDE_SHARE = 0.25
STANDINGS = {
    "throttled": "measured on a device slower than it can be (its clock, or badly placed threads)",
    "disturbed": "other programs or the hypervisor took the device from too many samples",
}


def machines(results) -> list:
    """Return the names and classes of the machines, `(virtual)` behind those that are."""
    columns = ["device", "device_index", "device_name", "machine_class", "virtualised"]
    pairs = dictionaries(results.records[columns].drop_duplicates())
    return [f"{device_text(record)}{' (virtual)' if record['virtualised'] else ''}" for record in pairs]


class Caution(NamedTuple):
    """What speaks against trusting a run, in few words and in a sentence; `serious` may change winners."""

    short: str
    words: str
    serious: bool = False


def warnings(results) -> list:
    """Return Cautions on whatever speaks against trusting the run as a whole, the serious first."""
    records = results.records
    measured = records[records["outcome"] == "measured"]
    said = versions(results.runs)
    wrong = records[records["outcome"].isin(["wrong", *FAILED])]
    for outcome, part in wrong.groupby("outcome", sort=False):
        names = ", ".join(in_order(part["algorithm"]))
        words = f"{len(part)} records ended as {outcome}: {names}. They are in no ranking."
        said.append(Caution(f"{len(part)} records {outcome}", words, True))
    for standing, why in STANDINGS.items():
        part = measured[measured["standing"] == standing]
        if len(part):
            words = f"{len(part)} of {len(measured)} were {standing}: {why}; their times are too long."
            said.append(Caution(f"{len(part)} of {len(measured)} records {standing}", words, True))
    said += load(records) + ceilings(measured)
    if records["virtualised"].map(bool).any():
        words = "A virtual machine: its host may give the cores to others in between."
        said.append(Caution("a virtual machine", words))
    return sorted(said + noise(measured), key=lambda warning: not warning.serious)


def noise(measured) -> list:
    """Return what the stop reasons and --aa say about noise."""
    said = []
    ratios = measured["aa_ratio"].dropna().astype(float)
    if len(ratios):
        floor = 100 * (ratios - 1).abs().quantile(0.95)
        words = (
            f"Noise floor (--aa): for 95% of {len(ratios)} records, the same candidate measured twice "
            f"differs by at most {floor:.1f}%."
        )
        said.append(Caution(f"noise floor {floor:.1f}%", words))
    loose = measured[measured["stop_reason"].isin(["time_limit", "max_samples", "noise_plateau"])]
    if len(loose) > WIDE_SHARE * max(len(measured), 1):
        words = (
            f"{len(loose)} of {len(measured)} records stopped before their 95% interval was as narrow as "
            "asked for: look at the intervals before believing a small difference."
        )
        said.append(Caution("intervals wider than asked for", words))
    return said


def ceilings(measured) -> list:
    """Return whether records are faster than the measured ceilings allow."""
    over = measured[measured["suspect_ceiling"].map(bool)]
    if not len(over):
        return []
    most = over["percent_of_ceiling"].astype(float).max()
    words = (
        f"{len(over)} of {len(measured)} records are faster than their ceiling allows (up to {most:.0f}% of "
        "it; marked ? in the list): it was measured too low, and every share of it is too high."
    )
    return [Caution("a suspect ceiling", words)]


def load(records) -> list:
    """Return whether others used the machine while it measured."""
    loads = records["load_before"].dropna().astype(float)
    threads = records.loc[loads.index, "threads"].astype(float)
    busy = loads[loads > threads + BUSY]
    if not len(busy):
        return []
    words = (
        f"{len(busy)} records began with a load average above their threads (up to {busy.max():.1f}): "
        "other programs may have taken part of the machine."
    )
    return [Caution("a busy machine", words, True)]


def versions(runs) -> list:
    """Return which runs were not finished, and by which differences runs should not be put side by side."""
    said = [
        Caution("an interrupted run", f"{run.folder.name}: interrupted; records are missing.", True)
        for run in runs
        if run.environment.get("complete") is False
    ]
    commits = {(run.environment.get("program") or {}).get("commit") for run in runs}
    if len(commits) > 1:
        words = f"The runs are of {len(commits)} versions of the program."
        said.append(Caution(f"{len(commits)} versions", words))
    modified = [run.folder.name for run in runs if (run.environment.get("program") or {}).get("modified")]
    if modified:
        words = f"Measured with a program that was changed after its commit: {', '.join(modified)}."
        said.append(Caution("a modified program", words))
    return said


def runs(results) -> list:
    """Return for each run its name and its facts: command, program, system, machine, ceilings, protocol."""
    return [{"name": run.folder.name, "facts": facts(run)} for run in results.runs]


def facts(run) -> list:
    """Return the (what, value) pairs of a run, nested ones flattened to `a b`."""
    pairs = [("command", " ".join(map(str, run.argv))), ("schema version", str(run.schema_version))]
    pairs += flattened(run.environment, "")
    for index, ceiling in enumerate(run.ceilings):
        pairs += flattened(ceiling, "ceiling" if len(run.ceilings) == 1 else f"ceiling {index + 1}")
    for config in configs_of(run.config):
        pairs += flattened(
            {key: value for key, value in config.items() if key not in ("layers", "graph")},
            f"config {config.get('name', '')}",
        )
    return pairs


def flattened(value, name) -> list:
    """Return the leaves of nested objects with their path; lists are joined by commas."""
    if isinstance(value, dict):
        return [pair for key, inner in value.items() for pair in flattened(inner, f"{name} {key}".strip())]
    if isinstance(value, list):
        return [(name, ", ".join(map(str, value)))]
    if isinstance(value, float):
        return [(name.replace("_", " "), f"{value:.6g}")]
    return [(name.replace("_", " "), "unknown" if value is None else str(value))]
