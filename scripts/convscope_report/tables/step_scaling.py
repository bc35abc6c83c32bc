"""Steps on many GPUs, strong and weak, by the closed form and by the simulator beside it."""

from pathlib import Path

from convscope_report import ReportError, steps
from convscope_report.results import as_text
from convscope_report.table import Cell, Column, Table
from convscope_report.where import conditions

QUESTION = "How does a step scale, and does the simulated network say what the closed form says?"
COLUMNS = [
    Column("reduce"),
    Column("overlap"),
    Column("scaling"),
    Column("images", "count"),
    Column("GPUs", "count"),
    Column("compute", "number", "ms"),
    Column("closed form", "number", "ms"),
    Column("simulated", "number", "ms"),
    Column("simulated longer by", "percent"),
    Column("speed-up", "ratio"),
    Column("efficiency", "percent"),
]
FORMULA, SIMULATOR = "closed form", "simgrid"
SCALINGS = ("strong", "weak")
LINKS = ("link_gbs", "link_us", "node_link_gbs", "node_link_us")
ROUNDED = "{:.3g}".format
HOW = "`convscope step CONFIG --rows RUN --batch N --gpus 1..1024 --link LINK --fabric simgrid --out DIR`"


def step_scaling(results, options) -> list:
    """Return a table for each network, link and kind of records: a line a step of `options.steps`."""
    named = getattr(options, "steps", [])
    if not named:
        raise ReportError(f"step-scaling takes folders of modelled steps, and none is named: {HOW}")
    is_virtual = getattr(options, "virtual_time", False)
    rows = [row for path in named for row in modelled(Path(path), is_virtual)]
    found = [rows[place] for place in steps.chosen(rows, conditions(options.where, "--where"))]
    if not any(row["outcome"] == "good" for row in found):
        raise ReportError(
            f"{', '.join(map(str, named))}: no modelled step with a time is left; see the column reason, or "
            "--where"
        )
    # What all have in common is left out of the words; their machine's name is in them anyway.
    differing = [name for name in steps.differing(found) if name != "device_name"]
    groups, refused = {}, {}
    for row, text in zip(found, headings(found, differing), strict=True):
        place = kind(row, differing)
        if row["outcome"] == "good":
            groups.setdefault((place, text), []).append(row)
        else:
            refused.setdefault(place, []).append((row, text))
    made = []
    for (place, text), rows in groups.items():
        made.append(table_of(text, rows, [row for row, _ in refused.get(place, [])]))
    timed = {place for place, _ in groups}
    for place, rows in refused.items():
        if place not in timed:
            row, text = rows[0]
            for sentence in refusals([row for row, _ in rows], of_reductions=True):
                made[-1].note(f"No time at all of {row['network']}, {text}: {sentence}")
    return made


def headings(rows: list, differing: list) -> list:
    """Return what stands above the table of each row, with exact links where kinds would read alike."""
    kinds = [kind(row, differing) for row in rows]
    rounded = [(row["network"], words(row, differing)) for row in rows]
    alike = {}
    for text, place in zip(rounded, kinds, strict=True):
        alike.setdefault(text, set()).add(place)
    return [
        words(row, differing, as_text) if len(alike[text]) > 1 else text[1]
        for row, text in zip(rows, rounded, strict=True)
    ]


def kind(row: dict, differing: list) -> tuple:
    """Return what rows of one table have in common, also those without a time, whose words say less."""
    names = ("network", "device_name", "platform", *LINKS, *differing)
    # Without a link of its own a node has that of the network.
    own = row | {f"node_{name}": row.get(name) for name in LINKS[:2] if row.get(f"node_{name}") is None}
    return tuple(as_text(own.get(name)) for name in names)


def modelled(path: Path, virtual_time: bool) -> list:
    """Return the modelled rows, refused ones too; raises ReportError where they lack what the table shows."""
    rows = [row for row in steps.read_all(path, virtual_time) if row["basis"] == "modelled"]
    if not rows:
        raise ReportError(f"{path}: has no modelled steps: {HOW}")
    for row in rows:
        known = row.get("scaling") in SCALINGS and isinstance(row.get("fabric"), str)
        if not known or not steps.is_number(row.get("batch_per_gpu")):
            raise ReportError(f"{path}: scaling, fabric or batch_per_gpu is missing: make it again: {HOW}")
    return rows


def words(row: dict, differing: list, number=ROUNDED) -> str:
    """Return what the rows of a table have in common: machine, link, platform and what differs elsewhere."""
    bandwidth, latency, *within = (row.get(name) for name in LINKS)
    text = steps.words(row, number)
    text += f", {number(latency)} us" if steps.is_number(latency) else f" {row.get('platform')}"
    if all(map(steps.is_number, within)) and within != [bandwidth, latency]:
        text += f", within a node {number(within[0])} GB/s, {number(within[1])} us"
    return text + "".join(f", {name} {as_text(row.get(name)) or 'none'}" for name in differing)


def table_of(circumstances: str, rows: list, refused: list) -> Table:
    """Return the table of the rows with a time; the refused ones are named below it."""
    made = Table(f"Scaling: {rows[0]['network']}", QUESTION, COLUMNS, circumstances)
    made.suspect_means = "from records that were throttled or disturbed while measured"
    for row in sorted(rows, key=order):
        made.add(*line(row))
    made.note(
        "Strong: all GPUs share the images; weak: each has them. Simulated: SimGrid, the same reductions."
    )
    several = len({row["reduce"] for row in (*rows, *refused)}) > 1
    for sentence in [*refusals(refused, several), steps.error_words(rows)]:
        if sentence:
            made.note(sentence)
    return made


def order(row: dict) -> tuple:
    """Return the key by which lines are sorted."""
    return row["compress"], row["reduce"], row["overlap"], row["scaling"], images(row), row["gpus"]


def images(row: dict) -> int:
    """Return those of all GPUs, or where weak of one: --batch."""
    return row["batch"] if row["scaling"] == "strong" else row["batch_per_gpu"]


def line(row: dict) -> list:
    """Return the cells of a row."""
    is_simulated = row["fabric"] == SIMULATOR
    simulated = row["step_ms"] if is_simulated else None
    formula = row.get("closed_form_ms") if is_simulated else row["step_ms"]
    longer = simulated / formula - 1 if simulated and formula else None
    suspect = bool(row.get("suspect"))
    return [
        row["reduce"] + (", 1bit" if row["compress"] == "1bit" else ""),
        row["overlap"],
        row["scaling"],
        images(row),
        row["gpus"],
        Cell(row["compute_ms"], suspect=suspect),
        Cell(formula, suspect=suspect and formula is not None),
        Cell(simulated, suspect=suspect and simulated is not None),
        longer,
        row.get("speedup"),
        row.get("efficiency"),
    ]


def refusals(rows: list, of_reductions: bool) -> list:
    """Return a sentence for each reason and kind of scaling of refused rows: their numbers of GPUs.

    With `of_reductions` it names the reductions that were refused there.
    """
    missing: dict = {}
    for row in rows:
        place = row.get("reason"), row["scaling"], images(row)
        missing.setdefault(place, {}).setdefault(row["reduce"], set()).add(row["gpus"])
    said: dict = {}
    for place, by_reduction in sorted(missing.items(), key=str):
        for reduction, gpus in sorted(by_reduction.items()):
            said.setdefault((*place, tuple(sorted(gpus))), []).append(reduction)
    return [
        f"{reason}: {scaling} of {count} images on {', '.join(map(str, gpus))} GPUs"
        + (f", reduced by {', '.join(reductions)}" if of_reductions else "")
        for (reason, scaling, count, gpus), reductions in said.items()
    ]
