"""Colours of algorithms: their family's, or that of libraries.

The colours are those of Okabe and Ito (Color Universal Design, 2008), which all kinds of colour vision can
tell apart; hatches and markers say the same once more, for print without colour.
"""

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


def group(row: dict) -> str:
    """Return what an algorithm is coloured by: its family, or `library` for a library's own convolution."""
    return "library" if is_library(row) else row["family"]


def is_library(row: dict) -> bool:
    """Say whether a row is a library's own convolution (onednn.direct), not ours that calls one (im2col)."""
    return row["algorithm"].split(".")[0] == row["provider"]
