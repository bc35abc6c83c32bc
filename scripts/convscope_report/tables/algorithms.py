"""What each algorithm can do and what frameworks offer; Kim et al.'s table of convolution options."""

import json
from pathlib import Path

from convscope_report import ReportError, program
from convscope_report.table import Column, Table

QUESTION = "Which algorithms are there, and what can each of them do?"
FRAMEWORKS = (
    "Which choices of convolution algorithms do frameworks offer, and what do they do unless told otherwise?"
)
TAKES = {"first": "the first that can", "fastest": "the fastest"}
PASS_LETTERS = {"forward": "F", "backward_data": "D", "backward_filter": "W"}


def algorithms(results, options) -> list:
    """Return the algorithms, from `list algorithms`, and options of frameworks, from configs/policies."""
    return [
        of_algorithms(program.ask(options.convscope, "list", "algorithms")),
        of_frameworks(read_policies()),
    ]


def of_algorithms(listing: list) -> Table:
    """Return a row an algorithm: passes, layouts, math modes, the shapes that it refuses."""
    names = ["algorithm", "device", "code of", "passes", "layouts", "math", "refuses", "integers exact"]
    columns = [Column(name) for name in (*names, "what it is")]
    table = Table("Algorithms", QUESTION, columns, "`convscope list algorithms` on this machine")
    shapes = list(dict.fromkeys(shape for entry in listing for shape in entry["shapes"]))
    absent = {}
    for entry in listing:
        if not entry["candidate"]:
            continue
        if entry["refusal"] is not None:
            absent.setdefault(entry["refusal"], []).append(entry["id"])
            continue
        refused = [shape for shape in shapes if shape not in entry["shapes"]]
        table.add(
            entry["id"],
            entry["device"] + (", emulated" if entry["emulated"] else ""),
            entry["provider"],
            "".join(PASS_LETTERS[name] for name in entry["passes"]),
            " ".join(entry["layouts"]),
            " ".join(entry["math"]),
            ", ".join(refused) or None,
            "yes" if entry["exact_on_integers"] else "no",
            entry["summary"],
        )
    table.note("Passes: F forward, D backward-data, W backward-filter.")
    table.note("Refuses: of the shapes probed (" + ", ".join(shapes) + "), those that it does not do.")
    for why, ids in absent.items():
        table.note(f"Not here, {why}: {', '.join(ids)}.")
    return table


def read_policies() -> list:
    """Return the policies of configs/policies, in the order of their names; raises ReportError for others."""
    folder = program.ROOT / "configs" / "policies"
    files = sorted(file for file in folder.glob("*.json") if file.name != "schema.json")
    if not files:
        raise ReportError(f"{folder}: no policies there; this checkout is not complete")
    return [read_policy(file) for file in files]


def read_policy(file: Path) -> dict:
    """Return a policy with what the table reads of it."""
    try:
        policy = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise ReportError(f"{file}: cannot be read as JSON: {fault}") from fault
    is_policy = isinstance(policy, dict) and isinstance(policy.get("algorithms"), dict)
    if not is_policy or "name" not in policy or policy.get("take", "first") not in TAKES:
        raise ReportError(f"{file}: no policy: `convscope policies RESULTS --policy {file}` says why")
    return policy


def of_frameworks(policies: list) -> Table:
    """Return a row a policy: how it chooses, from which algorithms, under which cap."""
    names = ["framework", "option", "default", "chooses", "forward", "backward data", "backward filter"]
    columns = [Column(name) for name in (*names, "workspace", "layout", "math")]
    table = Table("Options of frameworks", FRAMEWORKS, columns, "configs/policies")
    for policy in policies:
        lists = policy["algorithms"]
        table.add(
            policy.get("framework") or None,
            policy["name"],
            "yes" if policy.get("default") else "no",
            TAKES[policy.get("take", "first")],
            *(", ".join(lists.get(name, [])) or None for name in PASS_LETTERS),
            str(policy.get("workspace_cap", "inf")),
            policy.get("layout", "nchw"),
            policy.get("math", "fp32"),
        )
    table.note("Facts about frameworks are from the sources that each file of configs/policies names.")
    return table
