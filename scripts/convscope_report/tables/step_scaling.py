"""Steps on many GPUs, strong and weak, by the closed form and by the simulator beside it."""

from pathlib import Path

from convscope_report import ReportError, steps
from convscope_report.results import as_text, conditions
from convscope_report.table import Cell, Column, Table

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
HOW = "`convscope step CONFIG --rows RUN --batch N --gpus 1..1024 --link LINK --fabric simgrid --out DIR`"


def step_scaling(results, options) -> list:
    """Return a table for each network, link and kind of records: a line a step of `options.steps`."""
    named = getattr(options, "steps", [])
    if not named:
        raise ReportError(f"step-scaling takes folders of modelled steps, and none is named: {HOW}")
    wanted = conditions(options.where, "--where").items()
    found = [
        row
        for path in named
        for row in modelled(Path(path))
        if all(as_text(row.get(column)) in values for column, values in wanted)
    ]
    # What all have in common is left out of the words; their machine's name is in them anyway.
    good = [row for row in found if row["outcome"] == "good"]
    differing = [name for name in steps.differing(good) if name != "device_name"]
    groups: dict = {}
    for row in found:
        more = "".join(f", {name} {as_text(row.get(name)) or 'none'}" for name in differing)
        groups.setdefault(f"{row['network']}, {words(row)}{more}", []).append(row)
    timed = {title: [row for row in rows if row["outcome"] == "good"] for title, rows in groups.items()}
    if not any(timed.values()):
        raise ReportError(
            "step-scaling: no modelled step with a time is left; see the column reason, or --where"
        )
    return [table_of(title, rows, groups[title]) for title, rows in timed.items() if rows]


def modelled(path: Path) -> list:
    """Return the modelled rows, refused ones too; raises ReportError where they lack what the table shows."""
    rows = [row for row in steps.read_all(path) if row["basis"] == "modelled"]
    if not rows:
        raise ReportError(f"{path}: has no modelled steps: {HOW}")
    for row in rows:
        known = row.get("scaling") in SCALINGS and isinstance(row.get("fabric"), str)
        if not known or not steps.is_number(row.get("batch_per_gpu")):
            raise ReportError(f"{path}: scaling, fabric or batch_per_gpu is missing: make it again: {HOW}")
    return rows


def words(row: dict) -> str:
    """Return what the rows of a table have in common: machine, link and platform."""
    latency = row.get("link_us")
    return steps.words(row) + (
        f", {latency:.3g} us" if steps.is_number(latency) else f" {row.get('platform')}"
    )


def table_of(title: str, rows: list, all_of: list) -> Table:
    """Return the table of the rows with a time; of `all_of` the refused ones are named below it."""
    made = Table(f"Scaling: {title.split(', ')[0]}", QUESTION, COLUMNS, title.split(", ", 1)[1])
    made.suspect_means = "from records that were throttled or disturbed while measured"
    for row in sorted(rows, key=order):
        made.add(*line(row))
    made.note(
        "Strong: all GPUs share the images; weak: each has them. Simulated: SimGrid, the same reductions."
    )
    for sentence in [*refusals(all_of), steps.error_words(rows)]:
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


def refusals(rows: list) -> list:
    """Return a sentence for each reason and kind of scaling: which numbers of GPUs have no time."""
    missing: dict = {}
    for row in rows:
        if row["outcome"] != "good":
            place = row.get("reason"), row["scaling"], images(row)
            missing.setdefault(place, set()).add(row["gpus"])
    return [
        f"{reason}: {scaling} of {count} images on {', '.join(map(str, sorted(gpus)))} GPUs"
        for (reason, scaling, count), gpus in sorted(missing.items(), key=str)
    ]
