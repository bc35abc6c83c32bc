"""The tables: one module each, with tables(results, options) -> list of Table.

A module with NEEDS_RESULTS = False takes no results.
"""

from convscope_report.tables import (
    accuracy,
    algorithms,
    batch,
    first_layer,
    gpus,
    layers,
    layout,
    opcounts,
    policies,
    selection,
    symmetry,
    threads,
    workspace,
)

TABLES = {
    "layers": layers,
    "opcounts": opcounts,
    "algorithms": algorithms,
    "selection": selection,
    "policies": policies,
    "layout": layout,
    "first-layer": first_layer,
    "symmetry": symmetry,
    "accuracy": accuracy,
    "workspace": workspace,
    "batch": batch,
    "threads": threads,
    "gpus": gpus,
}
