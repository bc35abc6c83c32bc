"""Kim et al.'s slides 24 to 30, several GPUs, from the two times that they print and modelled reductions."""

from convscope_report import program
from convscope_report.table import Column, Table

QUESTION = "Do the two times that the slides print give the speed-ups that they show?"
# Slide 27: forward and backward at batch 256, and the gradient from one GPU to another (250 MB at 5 GB/s).
STEP_MS, STEP_BATCH, TRANSFER_MS = 200.0, 256, 45.0
# AlexNet's gradient, and the same coded by 1 bit a value, in bytes (docs/step.md).
GRADIENT, CODED = 249_513_376, 7_923_040
# Slide 26: of 4 GPUs at the largest batch; slide 30: the highest label with 1-bit gradients.
ABOUT, ONE_BIT = 1.5, 2.62
BATCHES, GPUS = (128, 256, 512), (2, 4)
COLUMNS = [
    Column("batch", "count"),
    Column("GPUs", "count"),
    Column("compute", "number", "ms"),
    Column("tree", "number"),
    Column("ring", "number"),
    Column("1-bit, free codec", "number"),
    Column("the slides say"),
    Column("agrees"),
]


def slides(results, options) -> list:
    """Return the table of speed-ups over one GPU at the same total batch."""
    rate = GRADIENT / TRANSFER_MS * 1e-6
    seconds = reductions(options.convscope, f"{rate:.6f}GB/s,0us")
    circumstances = (
        f"modelled: {STEP_MS:g} ms at batch {STEP_BATCH}, {TRANSFER_MS:g} ms a transfer, no overlap"
    )
    table = Table("Speed-up over one GPU, Kim et al. 2017", QUESTION, COLUMNS, circumstances)
    for batch in BATCHES:
        alone = STEP_MS * batch / STEP_BATCH
        for gpus in GPUS:
            compute = alone / gpus
            gain = {name: alone / (compute + seconds[name, gpus]) for name in ("tree", "ring", "striped")}
            says, agrees = claim(batch, gpus, gain)
            table.add(batch, gpus, compute, gain["tree"], gain["ring"], gain["striped"], says, agrees)
    table.note(
        "Compute is taken to be in proportion to the batch, as two numbers allow no more; measured rows "
        "(`convscope step --rows`) say where it is not."
    )
    table.note("Slide 25 has the tree, slide 30 the 1-bit gradients. Heights of bars are drawn, not printed.")
    return [table]


def claim(batch: int, gpus: int, gain: dict) -> tuple:
    """Return what the slides' text says of a line and whether the model agrees; None where it is silent."""
    if batch == min(BATCHES):
        said = {name: "yes" if gain[name] < 1 else "no" for name in ("tree", "ring")}
        return "worse than one GPU (s. 26)", ", ".join(f"{name} {word}" for name, word in said.items())
    if (batch, gpus) == (max(BATCHES), max(GPUS)):
        tree = "yes" if abs(gain["tree"] - ABOUT) < 0.1 else "no"
        agrees = f"tree {tree}; 1-bit {gain['striped'] / ONE_BIT:.2f} times that"
        return f"about {ABOUT} (s. 26); 1-bit {ONE_BIT} at most (s. 30)", agrees
    return None, None


def reductions(convscope, link: str) -> dict:
    """Return the milliseconds of each reduction of the gradient by (name, GPUs); `striped` is coded."""
    found = {}
    for size, names in ((GRADIENT, "tree,ring"), (CODED, "striped")):
        words = ("--basis", "modelled", "--link", link, "--gpus", ",".join(map(str, GPUS)), "--bytes", size)
        for row in program.ask(convscope, "allreduce", *words, "--reduce", names):
            found[row["reduce"], row["gpus"]] = row["median_ms"]
    return found
