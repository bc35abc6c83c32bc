"""A training step that was run (`convscope step --out`): its convolutions inside it and alone."""

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from convscope_report.figures.style import INK, Figure, canvas, cut, legend, named
from convscope_report.table import counted

QUESTION = "How long does each convolution take inside the step, and how long alone?"
ALONE = "alone, caches emptied before"
CONVOLUTIONS = "convolutions inside, with 95% intervals"
COLOURS = {CONVOLUTIONS: "#0072B2", "between them": "#E69F00", "update": "#009E73"}


def step(rows: list) -> Figure:
    """Return the figure of one step's rows, the last of which is the whole step."""
    whole = rows[-1]
    convolutions = [row for row in rows if row["algorithm"]]
    title = f"{whole['network']}, a training step of {whole['batch']} images"
    count = whole["threads"]
    threads = "" if count is None else f"{counted(count, 'thread')}, "
    caption = f"fp32 nchw, {threads}algorithms: {whole['choose']}; {whole['device_name']}"
    if whole["chains"] > 1:
        caption += f"; {whole['chains']} chains, as layers do not read what the one before gives"
    height = max(0.1, min(0.2, 5 / len(convolutions))) * len(convolutions) + 0.7
    drawing, axes = canvas(title, QUESTION, caption, 2, height, height_ratios=[0.35, height - 0.35])
    draw_whole(axes[0][0], rows)
    draw_convolutions(axes[1][0], convolutions)
    handles = {name: Patch(color=colour) for name, colour in COLOURS.items()}
    handles[ALONE] = Line2D([], [], color=INK, marker="|", linestyle="none")
    legend(drawing, handles, list(handles))
    return Figure(named("step", whole["network"]), drawing)


def draw_whole(axis, rows: list) -> None:
    """Draw the step as one bar: convolutions, what stands between them, update."""
    share = dict.fromkeys(COLOURS, 0.0)
    for row in rows[:-1]:
        kind = CONVOLUTIONS if row["algorithm"] else "update" if row["task"] == "update" else "between them"
        share[kind] += row["inside_ms"]
    left = 0.0
    for kind, colour in COLOURS.items():
        axis.barh(0, share[kind], left=left, color=colour, height=0.6)
        left += share[kind]
    axis.set_yticks([0], ["step"])
    axis.set_xlabel("time (ms)")


def draw_convolutions(axis, convolutions: list) -> None:
    """Draw a line a convolution: a bar inside, a tick alone, the algorithm beside it."""
    for place, row in enumerate(convolutions):
        low, high = (row[f"inside_{end}_ms"] for end in ("low", "high"))
        middle = row["inside_ms"]
        axis.barh(place, middle, color=COLOURS[CONVOLUTIONS], height=0.6)
        if low is not None and high is not None:
            axis.plot([low, high], [place, place], color=INK, linewidth=0.6)
        axis.plot(row["alone_ms"], place, color=INK, marker="|", markersize=5)
    names = [f"{cut(row['layer'])} {row['task'].replace('_', '-')}" for row in convolutions]
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlabel("time (ms)")
