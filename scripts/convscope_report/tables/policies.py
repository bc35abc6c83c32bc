"""Convolution time of a step under each framework's policy; `convscope policies` computes it.

The question of Kim et al.'s comparison of frameworks, as policy emulation on one library: no framework runs.
"""

from convscope_report import program
from convscope_report.program_tables import ask, kept, milliseconds, title_of
from convscope_report.table import Column, Table

NEEDS_RESULTS = False
QUESTION = "What would a step's convolutions cost under the choices of each framework?"
SUMS = {
    "forward": "forward",
    "backward": "backward_without_first_backward_data",
    "step": "step_without_first_backward_data",
    "backward, all": "backward",
    "step, all": "step",
}


def tables(results, options) -> list:
    """Return a table for each network and circumstances."""
    folder = program.ROOT / "configs" / "policies"
    return [one_network(entry) for entry in kept(ask(options, "policies", "--policy", folder), options)]


def one_network(entry) -> Table:
    """Return a row a policy; those that these results have no row for are named in a footnote."""
    title, circumstances = title_of(entry)
    columns = [Column("policy"), Column("policy emulation on")]
    columns += [Column(name, "number", "ms") for name in SUMS]
    columns += [Column("options alone", "ratio"), Column("records at its cap")]
    table = Table(f"{title}: policies", QUESTION, columns, circumstances)
    absent = []
    for policy in entry["policies"]:
        step = policy["step"]
        if step["rows"] == 0:
            absent.append(policy["policy"])
            continue
        table.add(
            policy["policy"] + (" (default)" if policy["default"] else ""),
            policy["label"].removeprefix("policy emulation on "),
            *(milliseconds(policy[name]["seconds"], policy[name]["throttled"]) for name in SUMS.values()),
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
