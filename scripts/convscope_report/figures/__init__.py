"""The figures: one module each, with QUESTION and figures(results) -> list of Figure."""

from convscope_report.figures import accuracy, layers, opcounts, roofline, scaling, speedup, workspace

FIGURES = {
    "layers": layers,
    "speedup": speedup,
    "roofline": roofline,
    "accuracy": accuracy,
    "workspace": workspace,
    "scaling": scaling,
    "opcounts": opcounts,
}
