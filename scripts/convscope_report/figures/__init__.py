"""The figures: one module each, with QUESTION and figures(results) -> list of Figure."""

from importlib import import_module
from types import ModuleType

# Of the modules, in the order of `plot all`.
NAMES = ("layers", "speedup", "roofline", "accuracy", "workspace", "scaling", "opcounts")


def module_of(name: str) -> ModuleType:
    """Return a figure's module. Loads matplotlib, which takes half a second, so only where it is drawn."""
    return import_module(f"{__name__}.{name}")
