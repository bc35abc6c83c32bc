"""The tables by name: functions (results, options) -> list of Table."""

from convscope_report.tables import (
    algorithms,
    by_layer,
    choices,
    fusion,
    slides,
    step_scaling,
    sweeps,
    why_gpu,
)

TABLES = {
    "layers": by_layer.layers,
    "opcounts": by_layer.opcounts,
    "algorithms": algorithms.algorithms,
    "selection": choices.selection,
    "policies": choices.policies,
    "layout": sweeps.layout,
    "first-layer": by_layer.first_layer,
    "symmetry": by_layer.symmetry,
    "accuracy": by_layer.accuracy,
    "workspace": choices.workspace,
    "batch": sweeps.batch,
    "threads": sweeps.threads,
    "gpus": sweeps.machines,
    "fusion": fusion.fusion,
    "why-gpu": why_gpu.why_gpu,
    "slides": slides.slides,
    "step-scaling": step_scaling.step_scaling,
}
# Those that the program computes: they take no results, which it reads itself.
OF_THE_PROGRAM = ("algorithms", "selection", "policies", "workspace", "slides", "step-scaling")
# Of these, which takes no path at all, and which no --where, for they show no records.
WITHOUT_PATHS = ("algorithms",)
WITHOUT_WHERE = ("algorithms", "slides")
# Those that read `convscope operations --out` beside runs.
WITH_OPERATIONS = ("why-gpu",)
# Those that take folders of `convscope step --out` in place of runs.
OF_STEPS = ("slides", "step-scaling")
