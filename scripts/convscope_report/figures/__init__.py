"""The figures by name, and the colours of algorithms: what is known of them without loading matplotlib.

An algorithm has the colour of its family, or that of libraries. The colours are those of Okabe and Ito
(Color Universal Design, 2008), which all kinds of colour vision can tell apart; hatches and markers say the
same once more, for print without colour.
"""

from importlib import import_module

# The module of each, in the order of `plot all`; its function of that name takes results and returns Figures.
MODULES = {
    "layers": "bars",
    "speedup": "speedups",
    "roofline": "planes",
    "accuracy": "planes",
    "workspace": "planes",
    "scaling": "speedups",
    "opcounts": "bars",
}
NAMES = tuple(MODULES)

COLOURS = {
    "direct": "#0072B2",
    "gemm": "#E69F00",
    "fft": "#009E73",
    "winograd": "#D55E00",
    "library": "#CC79A7",
}
OTHER_COLOUR = "#56B4E9"
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "----", "||||", "++++")
MARKERS = "osD^v<>PXdhp"
LABELS = {"forward": "forward", "backward_data": "backward-data", "backward_filter": "backward-filter"}


def figures(name: str, results) -> list:
    """Return the figures of a name. Loads matplotlib, half a second, so only where one is drawn."""
    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)(results)


def group(record: dict) -> str:
    """Return what an algorithm is coloured by: its family, or `library` for a library's own convolution."""
    return "library" if is_library(record) else record["family"]


def is_library(record: dict) -> bool:
    """Say whether a record is of a library's own convolution (onednn.direct), not of ours that calls one."""
    return record["algorithm"].split(".")[0] == record["provider"]


def without_device(algorithm: str) -> str:
    """Return an algorithm's id without its device, which all of a figure or grid share."""
    return algorithm.removesuffix(".cpu").removesuffix(".cuda")
