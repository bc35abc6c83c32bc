"""Where and how the records were measured, and what speaks against trusting them."""

from convscope_report.contexts import in_order

BUSY = 0.5
WIDE_SHARE = 0.25


def machines(results) -> list:
    """Return the names of the machines, `(virtual)` behind those that are."""
    pairs = results.records[["device_name", "virtualised"]].drop_duplicates().to_dict("records")
    return [f"{record['device_name']}{' (virtual)' if record['virtualised'] else ''}" for record in pairs]


def warnings(results) -> list:
    """Return sentences on throttling, noise, busy or virtual machines, wrong records, mixed versions."""
    records = results.records
    measured = records[records["outcome"] == "measured"]
    said = []
    wrong = records[records["outcome"].isin(["wrong", "crashed", "failed", "timeout"])]
    for outcome, part in wrong.groupby("outcome", sort=False):
        names = ", ".join(in_order(part["algorithm"]))
        said.append(f"{len(part)} records ended as {outcome}: {names}. They are in no ranking.")
    throttled = measured[measured["throttled"].map(bool)]
    if len(throttled):
        said.append(
            f"{len(throttled)} of {len(measured)} records were measured on a device slower than it can be "
            "(a throttled clock, or badly placed threads); they rank last."
        )
    if records["virtualised"].map(bool).any():
        said.append("A virtual machine: its host may give the cores to others in between.")
    said += noise(measured)
    said += load(records)
    return said + versions(results.runs)


def noise(measured) -> list:
    """Return what the stop reasons and --aa say about noise."""
    said = []
    loose = measured[measured["stop_reason"].isin(["time_limit", "max_samples", "noise_plateau"])]
    if len(loose) > WIDE_SHARE * max(len(measured), 1):
        said.append(
            f"{len(loose)} of {len(measured)} records stopped before their 95% interval was as narrow as "
            "asked for: look at the intervals before believing a small difference."
        )
    ratios = measured["aa_ratio"].dropna().astype(float)
    if len(ratios):
        floor = (ratios - 1).abs().quantile(0.95)
        said.append(
            f"Noise floor (--aa): for 95% of {len(ratios)} records, the same candidate measured twice "
            f"differs by at most {100 * floor:.1f}%."
        )
    return said


def load(records) -> list:
    """Return whether others used the machine while it measured."""
    loads = records["load_before"].dropna().astype(float)
    threads = records.loc[loads.index, "threads"].astype(float)
    busy = loads[loads > threads + BUSY]
    if not len(busy):
        return []
    return [
        f"{len(busy)} records began with a load average above their threads (up to {busy.max():.1f}): "
        "other programs may have taken part of the machine."
    ]


def versions(runs) -> list:
    """Return which runs were not finished, and by which differences runs should not be put side by side."""
    said = [
        f"{run.folder.name}: the run was interrupted; records are missing."
        for run in runs
        if run.environment.get("complete") is False
    ]
    commits = {run.environment.get("program", {}).get("commit") for run in runs}
    if len(commits) > 1:
        said.append(f"The runs are of {len(commits)} versions of the program.")
    modified = [run.folder.name for run in runs if run.environment.get("program", {}).get("modified")]
    if modified:
        said.append(f"Measured with a program that was changed after its commit: {', '.join(modified)}.")
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
    for config in run.config:
        pairs += flattened(
            {key: value for key, value in config.items() if key != "layers"},
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
