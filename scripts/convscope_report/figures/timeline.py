"""The timeline of a data-parallel step, as on slide 27 of Kim et al.: compute above, communication below."""

import math

from matplotlib.patches import Patch

from convscope_report.figures.style import CAPTION, INK, Figure, canvas, legend, named
from convscope_report.steps import Span
from convscope_report.tables.slides import STEP_BATCH, STEP_MS, TRANSFER_MS

QUESTION = "When does a GPU compute, when are gradients sent, and what hides behind what?"
COLOURS = {
    "forward": "#0072B2",
    "backward_data": "#56B4E9",
    "backward_filter": "#009E73",
    "forward and backward": "#999999",
    "operations": "#F0E442",
    "communication": "#D55E00",
}
SOURCE = (
    "slide 27: PUBLISHED by Kim et al., ISPASS 2017: 200 ms of compute, here shared by the GPUs, and 45 ms a "
    "transfer; their order is that of slide 25's tree"
)
# Inches of a panel, its title and its axis included.
PANEL = 0.62
LANES = ("compute", "communication")


def of_slide(gpus: int) -> tuple:
    """Return (title, spans) from slide 27's two times alone: a tree over so many GPUs, nothing overlaps.

    The slide prints no times of layers, so that compute is one bar; it is the GPU's share of the batch.
    """
    compute = STEP_MS / gpus
    transfers = 2 * math.ceil(math.log2(gpus))
    spans = [Span("forward and backward", False, 0.0, compute)]
    spans += [Span("transfer", True, compute + TRANSFER_MS * step, TRANSFER_MS) for step in range(transfers)]
    title = f"slide 27's times: batch {STEP_BATCH} on {gpus} GPUs, tree, overlap none"
    return title, spans


def timeline(schedules: list, caption: str, published: tuple = ()) -> Figure:
    """Return the figure of (title, spans) pairs, a panel each, `published` ones above with an axis each.

    The other panels share one axis, so that their lengths can be compared.
    """
    panels = [*published, *schedules]
    drawing, axes = canvas("Timeline of a training step", QUESTION, caption, len(panels), PANEL * len(panels))
    longest = max(end_of(spans) for _, spans in schedules)
    used = {}
    for place, (axis, (title, spans)) in enumerate(zip(axes[:, 0], panels, strict=True)):
        draw(axis, title, spans)
        axis.set_xlim(0, 1.15 * (end_of(spans) if place < len(published) else longest))
        used |= {kind(span): None for span in spans}
    axes[-1, 0].set_xlabel("time (ms)", labelpad=0)
    names = {name: name.replace("_", "-") for name in COLOURS if name in used}
    legend(drawing, {shown: Patch(color=COLOURS[name]) for name, shown in names.items()}, names.values())
    return Figure(named("timeline", schedules[0][0].split(" ")[0]), drawing)


def end_of(spans: list) -> float:
    """Return when the last span ends, in ms."""
    return max(span.start + span.length for span in spans)


def kind(span: Span) -> str:
    """Return what a bar is, a key of COLOURS."""
    if span.is_communication:
        return "communication"
    last = span.name.rsplit(" ", 1)[-1]
    if last in ("operations", "reads", "update"):
        return "operations"
    return last if last in COLOURS else "forward and backward"


def draw(axis, title: str, spans: list) -> None:
    """Draw a panel: bars in two lanes, white lines between them, the end of the step in ms."""
    for span in spans:
        lane = LANES.index("communication" if span.is_communication else "compute")
        axis.barh(lane, span.length, left=span.start, color=COLOURS[kind(span)], height=0.7,
                  edgecolor="white", linewidth=0.3)  # fmt: skip
    end = end_of(spans)
    axis.axvline(end, color=INK, linewidth=0.6)
    axis.annotate(f"{end:.4g} ms", (end, 0), fontsize=CAPTION, color=INK, xytext=(2, 0), va="center",
                  textcoords="offset points")  # fmt: skip
    axis.set_title(title, fontsize=CAPTION)
    axis.set_yticks(range(len(LANES)), LANES)
    axis.set_ylim(1.5, -0.5)
    axis.grid(visible=False, axis="y")
