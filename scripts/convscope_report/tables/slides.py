"""Kim et al.'s slides 24 to 30, several GPUs, from the two times that they print and modelled reductions."""

from dataclasses import dataclass, replace
from pathlib import Path

from convscope_report import ReportError, program, steps
from convscope_report.table import Cell, Column, Table

QUESTION = "Do the two times that the slides print give the speed-ups that they show?"
# Slide 27: forward and backward at batch 256, and the gradient from one GPU to another (250 MB at 5 GB/s).
STEP_MS, STEP_BATCH, TRANSFER_MS = 200.0, 256, 45.0
# AlexNet's gradient, and the same coded by 1 bit a value, in bytes (docs/step.md).
GRADIENT, CODED = 249_513_376, 7_923_040
# Slide 26: of 4 GPUs at the largest batch; slide 30: the highest label with 1-bit gradients.
ABOUT, ONE_BIT = 1.5, 2.62
# Slide 27 prints the bytes and their bandwidth, too, slide 30 the share of the bytes that codes have.
PRINTED_BYTES, PRINTED_RATE, CODES = 250e6, 5e9, 32
BATCHES, GPUS = (128, 256, 512), (2, 4)
GAINS = ("tree", "ring", "striped")
TIMES = [
    Column("compute", "number", "ms"),
    Column("tree", "number"),
    Column("ring", "number"),
    Column("1-bit, free codec", "number"),
]
OF_A_STEP = (
    "`convscope step CONFIG --rows RUN --batch A,B,C --gpus 2,4 --link LINK --compress none,1bit --out DIR`"
)


@dataclass(frozen=True)
class Own:
    """A machine's own inputs: three batches for BATCHES, compute and gains by (batch, GPUs), and in words.

    `alone_ms` is one GPU's step of the middle batch, `transfer_ms` the gradient's over the link; `suspects`
    are the batches of which a record behind compute was throttled or disturbed.
    """

    batches: list
    compute_ms: dict
    gains: dict
    alone_ms: float
    transfer_ms: float
    suspects: set
    words: str
    error: str | None  # of the model


def slides(results, options) -> list:
    """Return the table of speed-ups over one GPU at the same total batch.

    `options.steps` names at most one folder of `step --out`, whose machine's times stand beside the paper's.
    """
    is_virtual = getattr(options, "virtual_time", False)
    own = own_inputs(options.steps, is_virtual) if getattr(options, "steps", []) else None
    rate = GRADIENT / TRANSFER_MS * 1e-6
    seconds, error = reductions(options.convscope, f"{rate:.6f}GB/s,0us")
    circumstances = (
        f"modelled: {STEP_MS:g} ms at batch {STEP_BATCH}, {TRANSFER_MS:g} ms a transfer, no overlap"
    )
    columns = [Column("batch", "count"), Column("GPUs", "count"), *TIMES]
    if own is not None:
        circumstances += f"; here: {own.words}"
        columns += [Column("here: batch", "count")]
        columns += [replace(column, name=f"here: {column.name}") for column in TIMES]
    columns += [Column("the slides say"), Column("agrees"), *[Column("here agrees")] * (own is not None)]
    table = Table("Speed-up over one GPU, Kim et al. 2017", QUESTION, columns, circumstances)
    table.suspect_means = "from records that were throttled or disturbed while measured"
    gains = {}
    for place, batch in enumerate(BATCHES):
        alone = STEP_MS * batch / STEP_BATCH
        for gpus in GPUS:
            compute = alone / gpus
            gain = {name: alone / (compute + seconds[name, gpus]) for name in GAINS}
            gains[batch, gpus] = gain
            line = [batch, gpus, compute, *gain.values()]
            says, agrees = claim(batch, gpus, gain)
            if own is None:
                table.add(*line, says, agrees)
                continue
            here = own.batches[place], gpus
            mine = own.gains[here]
            suspect = here[0] in own.suspects
            line += [
                here[0],
                *(Cell(value, suspect=suspect) for value in (own.compute_ms[here], *mine.values())),
            ]
            table.add(*line, says, agrees, claim(batch, gpus, mine)[1])
    for sentence in sentences(gains, own):
        table.note(sentence)
    table.note(
        "Compute is taken to be in proportion to the batch, as two numbers allow no more; measured rows "
        "(`convscope step --rows`) say where it is not."
    )
    for of_model in (error, own.error if own else None):
        if of_model:
            table.note(of_model)
    table.note("Slide 25 has the tree, slide 30 the 1-bit gradients. Heights of bars are drawn, not printed.")
    return [table]


def own_inputs(paths: list, virtual_time: bool) -> Own:
    """Return what the rows of `convscope step --out` give; raises ReportError where some are missing."""
    if len(paths) != 1:
        raise ReportError(f"slides takes one folder of `step --out`, and {len(paths)} are named")
    rows = [
        row
        for row in steps.read(Path(paths[0]), virtual_time)
        if row["basis"] == "modelled" and row["overlap"] == "none"
    ]
    if differing := steps.differing(rows):
        raise ReportError(
            f"{paths[0]}: its steps are from records that differ in {', '.join(differing)}; give "
            "`convscope step --rows` a run that has one of each"
        )
    names = {("tree", "none"): "tree", ("ring", "none"): "ring", ("striped", "1bit"): "striped"}
    found = {
        (row["batch"], row["gpus"], names[row["reduce"], row["compress"]]): row
        for row in rows
        if (row["reduce"], row["compress"]) in names and steps.is_number(row.get("speedup"))
    }
    batches = sorted({batch for batch, _, _ in found})
    missing = [
        f"batch {batch} on {gpus} GPUs, {name}"
        for batch in batches
        for gpus in GPUS
        for name in GAINS
        if (batch, gpus, name) not in found
    ]
    if len(batches) != len(BATCHES) or missing:
        raise ReportError(
            f"{paths[0]}: has modelled steps with a speed-up and without overlap of {len(batches)} batches"
            + "".join(f"; none of {place}" for place in missing[:1])
            + f", where {len(BATCHES)} on 2 and 4 GPUs are expected, by a tree, a ring and 1-bit: {OF_A_STEP}"
        )
    middle = found[batches[1], GPUS[0], "tree"]
    return Own(
        batches,
        {(batch, gpus): found[batch, gpus, "tree"]["compute_ms"] for batch in batches for gpus in GPUS},
        {
            (batch, gpus): {name: found[batch, gpus, name]["speedup"] for name in GAINS}
            for batch in batches
            for gpus in GPUS
        },
        middle["speedup"] * middle["step_ms"],
        # A tree of two GPUs is a transfer there and one back.
        middle["comm_alone_ms"] / 2,
        {row["batch"] for row in rows if row.get("suspect")},
        f"{middle['network']}, {steps.words(middle)}",
        steps.error_words(rows),
    )


def sentences(gains: dict, own: Own | None) -> list:
    """Return for slides 26, 27 and 30 one sentence each of where their text agrees."""
    of_machine = None if own is None else by_place(own)
    return [slide_26(gains, of_machine), slide_27(own), slide_30(gains, of_machine)]


def by_place(own: Own) -> dict:
    """Return the machine's gains by the slides' batches."""
    pairs = zip(BATCHES, own.batches, strict=True)
    return {(batch, gpus): own.gains[mine, gpus] for batch, mine in pairs for gpus in GPUS}


def slide_26(gains: dict, of_machine: dict | None) -> str:
    """Return on how many of slide 26's three statements a tree and a ring agree."""

    def counted(found: dict) -> str:
        words = []
        for name in ("tree", "ring"):
            right = [found[min(BATCHES), gpus][name] < 1 for gpus in GPUS]
            right.append(is_about(found[max(BATCHES), max(GPUS)][name]))
            words.append(f"a {name} with {sum(right)} of 3")
        return " and ".join(words)

    here = "" if of_machine is None else f"; with this machine's {counted(of_machine)}"
    return (
        f"Slide 26 says: below 1 at the smallest batch on 2 and 4 GPUs, about {ABOUT} on 4 at the largest. "
        f"With the slides' times {counted(gains)} agrees{here}."
    )


def slide_27(own: Own | None) -> str:
    """Return whether the numbers that slide 27 prints fit each other, and the machine's beside them."""
    by_rate = 1e3 * PRINTED_BYTES / PRINTED_RATE
    text = (
        f"Slide 27 prints {TRANSFER_MS:g} ms for 250 MB at 5 GB/s, which are {by_rate:g} ms: it agrees with "
        f"itself within {100 * (by_rate / TRANSFER_MS - 1):.0f}%. A transfer is {TRANSFER_MS / STEP_MS:.2f} "
        "of a GPU's step"
    )
    if own is None:
        return text + "."
    share = own.transfer_ms / own.alone_ms
    return (
        text
        + f", here {share:.2f} ({own.transfer_ms:.4g} of {own.alone_ms:.4g} ms at batch {own.batches[1]})."
    )


def slide_30(gains: dict, of_machine: dict | None) -> str:
    """Return whether slide 30's bytes are right, and whether a codec without time is at least as fast."""
    place = max(BATCHES), max(GPUS)
    modelled = gains[place]["striped"]
    here = "" if of_machine is None else f" (here {of_machine[place]['striped']:.2f})"
    alone = STEP_MS * max(BATCHES) / STEP_BATCH
    more = alone / ONE_BIT - alone / modelled
    text = (
        f"Slide 30 says 1/{CODES} of the bytes: it agrees, 1/{GRADIENT / CODED:.1f} counted. Its highest "
        f"label {ONE_BIT} is {ONE_BIT / modelled:.2f} of the {modelled:.2f} that a codec without time would "
        f"give{here}: the slides' times {'do not contradict' if modelled >= ONE_BIT else 'contradict'} it."
    )
    if more <= 0:
        return text
    return text + (
        f" If it is {max(GPUS)} GPUs at batch {max(BATCHES)}, that step takes {alone / ONE_BIT:.0f} ms, "
        f"{more:.0f} more: what a codec of {GRADIENT / more * 1e-6:.1f} GB/s takes, or "
        f"{more / TRANSFER_MS:.1f} transfers of the gradient in FP32, as to a host that codes it."
    )


def is_about(gain: float) -> bool:
    """Say whether a speed-up is what slide 26 calls about 1.5."""
    return abs(gain - ABOUT) < 0.1


def claim(batch: int, gpus: int, gain: dict) -> tuple:
    """Return what the slides' text says of a line and whether the model agrees; None where it is silent."""
    if batch == min(BATCHES):
        said = {name: "yes" if gain[name] < 1 else "no" for name in ("tree", "ring")}
        return "worse than one GPU (s. 26)", ", ".join(f"{name} {word}" for name, word in said.items())
    if (batch, gpus) == (max(BATCHES), max(GPUS)):
        tree = "yes" if is_about(gain["tree"]) else "no"
        agrees = f"tree {tree}; 1-bit {gain['striped'] / ONE_BIT:.2f} times that"
        return f"about {ABOUT} (s. 26); 1-bit {ONE_BIT} at most (s. 30)", agrees
    return None, None


def reductions(convscope, link: str) -> tuple:
    """Return the ms of each reduction of the gradient by (name, GPUs), and the model's error in words.

    `striped` is coded.
    """
    found, error = {}, None
    for size, names in ((GRADIENT, "tree,ring"), (CODED, "striped")):
        words = ("--basis", "modelled", "--link", link, "--gpus", ",".join(map(str, GPUS)), "--bytes", size)
        rows = program.ask(convscope, "allreduce", *words, "--reduce", names)
        found |= {(row["reduce"], row["gpus"]): row["median_ms"] for row in rows}
        error = error or steps.error_words(rows, "sums")
    return found, error
