"""Tables of why GPUs suit deep learning: machines, what each row says of each claim, and published GPUs."""

from convscope_report import ReportError, operations, published
from convscope_report.contexts import best_by, contexts, in_order, is_suspect, passes_of, paths_of
from convscope_report.results import dictionaries
from convscope_report.table import Cell, Column, Table
from convscope_report.tables.claims import (
    CLAIMS,
    CONFIRMS,
    FLOPS_OF_A_MULTIPLY_ADD,
    REFUTES,
    UNDECIDED,
    Row,
    verdicts,
)
from convscope_report.tables.fusion import FLOAT_BYTES, SEPARATE, element_bytes, pass_bytes, shown
from convscope_report.tables.sweeps import OF_A_MACHINE, machine
from convscope_report.where import conditions

MACHINES = "What do memory, caches and registers of each machine deliver?"
GPUS = "What do vendors publish of GPUs?"
CONVOLUTIONS = "Which claims does each convolution confirm, with the best algorithm of each machine?"
ACTIVATIONS = "Which claims does each activation confirm, with the fastest code of each machine?"
SUMMARY = "How many rows of each machine confirm or refute each claim?"

# Of an operation of `convscope operations`, those that are activations.
OPERATIONS = ("bias", "relu", "bias+relu")
# Vector registers that an instruction set names, in bytes a core; names are Highway's, the first that fits.
REGISTERS = {
    "AVX3": 32 * 64,
    "AVX10": 32 * 64,
    "AVX2": 16 * 32,
    "SSE": 16 * 16,
    "SSSE": 16 * 16,
    "NEON": 32 * 16,
}
# A multiply-add reads three operands; an SM's shared memory gives 32 banks of 4 bytes a clock.
READS_OF_A_MULTIPLY_ADD = 3
SHARED_BYTES_A_CLOCK = 128
NOT_MEASURED = "not measured"


def why_gpu(results, options) -> list:
    """Return machines, published GPUs and claims, rows of convolutions and activations, and their sum.

    `options.operations` has the files of `convscope operations --out`, `options.where` their filter.
    Only records with cold caches count: of others the measured bandwidths of memory bound nothing. Raises
    ReportError where none was measured and is right.
    """
    ranked = results.ranked()
    ranked = ranked[ranked["cache"] == "cold"]
    if ranked.empty:
        raise ReportError(
            f"{paths_of(results)}: none of the records was measured with cold caches and is right; "
            "`convscope run` measures some"
        )
    ranked = ranked.assign(machine=[machine(record) for record in dictionaries(ranked)])
    wanted = conditions(options.where, "--where")
    rows = operations.load(getattr(options, "operations", []), wanted, options.virtual_time)
    convolutions = groups_of_convolutions(ranked)
    activations = groups_of_activations(ranked, rows)
    names = in_order([*ranked["machine"], *(row.machine for part in activations.values() for row in part)])
    made = [of_machines(ranked, rows), of_gpus(), published.table("gpu_claims", {})]
    made += [of_convolutions(title, where, part, names) for (title, where), part in convolutions.items()]
    made += [of_activations(title, part, names) for title, part in activations.items()]
    measured = {"convolutions": convolutions.values(), "activations": activations.values()}
    made.append(summary(measured, names, in_order(ranked["device_name"])))
    return made


def of_machines(ranked, rows: list) -> Table:
    """Return a row a machine and number of threads: rates as measured, sizes as the system says."""
    columns = [Column("machine"), Column("copy", "tenths", "GB/s"), Column("read", "tenths", "GB/s")]
    columns += [Column("arithmetic", "tenths", "GFLOP/s"), Column("balance", "tenths", "flop/byte")]
    columns += [Column("registers a core", "bytes"), Column("operands", "tenths", "GB/s")]
    columns += [Column("L1 a core", "bytes"), Column("L2 a core", "bytes")]
    columns += [Column("private cache", "tenths", "GB/s"), Column("last cache", "bytes")]
    table = Table("Machines", MACHINES, columns)
    for name in in_order(ranked["machine"]):
        part = ranked[ranked["machine"] == name]
        copy, read, cache = (best_rate(part[f"ceiling_{column}_gbs"]) for column in ("copy", "read", "cache"))
        arithmetic = best_rate(part["ceiling_gflops"][part["math"] == "fp32"])
        memory = max(filter(None, (copy, read)), default=None)
        balance = arithmetic / memory if arithmetic and memory else None
        operands = arithmetic and operand_bytes(arithmetic)
        record = part.iloc[0]
        l1, l2, last = sizes(record["hardware"])
        file = registers(record["instructions"])
        table.add(name, copy, read, arithmetic, balance, file, operands, l1, l2, cache, last)
    others = {}
    for row in rows:
        others.setdefault(machine_of(row), []).append(row)
    for name in [name for name in others if name not in set(ranked["machine"])]:
        row, copy = others[name][0], best_rate(own["copy_gbs"] for own in others[name])
        l1, l2, last = sizes(row["hardware"])
        file = registers(row["hardware"].get("instructions"))
        table.add(name, copy, None, None, None, file, None, l1, l2, None, last)
    table.note("Rates are the best that were measured with these threads; balance: arithmetic over memory.")
    table.note("registers: vector registers that the instruction set names; renamed ones are not counted.")
    table.note("operands: the three numbers that each multiply-add reads, at the rate of arithmetic.")
    table.note("private cache: reading the last cache that a core has to itself.")
    return table


def best_rate(values) -> float | None:
    """Return the largest of those that are known."""
    return max(filter(None, map(known, values)), default=None)


def sizes(hardware: dict) -> list:
    """Return the bytes of L1, L2 and last cache, None where the system does not say."""
    return [known(hardware.get(name)) for name in ("l1_bytes", "l2_bytes", "llc_bytes")]


def one_a_core(threads: int, hardware: dict) -> bool:
    """Whether no core has two threads; false where it is not known how many cores there are."""
    return threads <= (known(hardware.get("cores")) or 0)


def machine_of(row: dict) -> str:
    """Return the machine of an operation, in the words of a record's."""
    kind, index = operations.device_of(row)
    return machine({**row, "device": kind, "device_index": index})


def known(value):
    """Return a number above 0 as it is, all else as None."""
    return value if isinstance(value, int | float) and value > 0 else None


def registers(instructions) -> int | None:
    """Return the bytes of vector registers that an instruction set names; None of one not in REGISTERS."""
    fits = (size for name, size in REGISTERS.items() if str(instructions).startswith(name))
    return next(fits, None)


def operand_bytes(flops: float) -> float:
    """Return the bytes of FP32 operands that so many operations read."""
    return READS_OF_A_MULTIPLY_ADD * FLOAT_BYTES * flops / FLOPS_OF_A_MULTIPLY_ADD


def of_gpus() -> Table:
    """Return the same figures of GPUs as published, rates of registers and L1 computed from them."""
    columns = [Column("GPU"), Column("memory", "tenths", "GB/s"), Column("arithmetic", "exact", "TFLOP/s")]
    columns += [Column("balance", "tenths", "flop/byte"), Column("registers", "bytes")]
    columns += [Column("operands", "tenths", "TB/s"), Column("L1 and shared", "bytes")]
    columns += [Column("L1", "tenths", "TB/s"), Column("L2", "bytes"), Column("source")]
    table = Table("GPUs", GPUS, columns, published=True)
    for row in published.rows_of("gpu_memory"):
        names = ("memory_gbs", "fp32_tflops", "processors", "lanes", "registers_kib", "l1_kib", "l2_kib")
        memory, peak, processors, lanes, file, l1, l2 = (
            published.value_of(row[name], "exact") for name in names
        )
        table.add(
            row["gpu"],
            memory,
            peak,
            1e3 * peak / memory,
            file and processors * file * 1024,
            operand_bytes(peak),
            l1 and processors * l1 * 1024,
            lanes and SHARED_BYTES_A_CLOCK * peak / (lanes * FLOPS_OF_A_MULTIPLY_ADD),
            l2 and l2 * 1024,
            row["source"],
        )
    table.note(
        "Sizes are of the whole GPU. operands: as of machines, computed from the published arithmetic."
    )
    table.note(
        "L1: 32 banks of 4 bytes an SM and clock (CUDA C++ Programming Guide), the clock that of arithmetic."
    )
    return table


def groups_of_convolutions(ranked) -> dict:
    """Return the rows by (title, circumstances), the best record of each layer, pass and machine."""
    made = {}
    whole = ranked[~ranked["algorithm"].str.contains(SEPARATE, regex=False)]
    for title, circumstances, records in contexts(whole, OF_A_MACHINE):
        if circumstances.scope["epilogue"] != "none":
            title += f" with {circumstances.scope['epilogue']}"
        for name in passes_of(records):
            found = best_by(records[records["pass"] == name], "layer", "machine")
            rows = [of_record(record) for record in found.values()]
            made.setdefault((title, circumstances), []).extend(rows)
    return made


def of_record(record) -> Row:
    """Return the row of a convolution's record."""
    flops, tensors, number = record["flops_executed"], record["bytes_min"], element_bytes(record["math"])
    reached = record["percent_of_ceiling"]
    giga = {name: known(record[f"ceiling_{name}_gbs"]) for name in ("copy", "cache")}
    peak = known(record["ceiling_gflops"])
    return Row(
        name=f"{record['layer']} {record['pass'].replace('_', '-')}",
        machine=record["machine"],
        by=record["algorithm"],
        time=Cell(record["full_median_ms"], suspect=is_suspect(record)),
        bytes=tensors,
        traffic=known(record["bytes_algo"]) or tensors,
        copy_bytes=giga["copy"] and 1e9 * giga["copy"],
        bound=record["bound"],
        reached=None if reached is None else reached / 100,
        suspect_ceiling=bool(known(record["suspect_ceiling"])),
        flops=flops,
        peak=peak and 1e9 * peak,
        operands=None if flops is None else 2 * number * flops / FLOPS_OF_A_MULTIPLY_ADD,
        cache_bytes=giga["cache"] and 1e9 * giga["cache"],
        is_gpu=record["device"] != "cpu",
        one_thread_a_core=one_a_core(record["threads"], record["hardware"]),
    )


def groups_of_activations(ranked, rows: list) -> dict:
    """Return the rows by title: those of `convscope operations`, and what separate forms take longer."""
    made = {}
    best = {}
    for row in rows:
        if row["operation"] in OPERATIONS:
            place = (row["network"], row["batch"], name_of(row), machine_of(row))
            if place not in best or row["median_ms"] < best[place]["median_ms"]:
                best[place] = row
    for (network, batch, name, on), row in best.items():
        made.setdefault(f"{network}, batch {batch}", []).append(of_operation(name, on, row))
    of_floats = (ranked["math"] == "fp32") & (ranked["layout"] == "nchw")
    for title, _, records in contexts(ranked[of_floats & (ranked["epilogue"] != "none")]):
        made.setdefault(title, []).extend(of_separate_forms(records))
    return {title: part for title, part in made.items() if part}


def name_of(row: dict) -> str:
    """Return layer, operation and direction."""
    return f"{row['layer']} {row['operation']} {row.get('direction') or ''}".rstrip()


def is_disturbed(row: dict) -> bool:
    """Whether over a quarter of an operation's samples were disturbed, as of a record that is suspect."""
    return 4 * (known(row.get("disturbed")) or 0) > (known(row.get("samples")) or 0)


def of_operation(name: str, on: str, row: dict) -> Row:
    """Return the row of an activation."""
    return Row(
        name=name,
        machine=on,
        by=row["provider"],
        time=Cell(row["median_ms"], suspect=is_disturbed(row)),
        bytes=row["bytes"],
        traffic=row["bytes"],
        copy_bytes=1e9 * row["copy_gbs"],
        bound="memory",
        reached=row["bandwidth_share"],
        element_wise=True,
        is_gpu=operations.is_of_gpu(row),
        one_thread_a_core=one_a_core(row["threads"], row["hardware"]),
    )


def of_separate_forms(records) -> list:
    """Return a row a layer: the fastest separate form less the same algorithm with a fused epilogue."""
    separate = records["algorithm"].str.contains(SEPARATE, regex=False)
    fused = {(one["layer"], one["algorithm"]): one for one in dictionaries(records[~separate])}
    made = {}
    for other in dictionaries(records[separate].sort_values("rank")):
        one = fused.get((other["layer"], other["algorithm"].replace(SEPARATE, ".")))
        if one is not None and other["layer"] not in made:
            made[other["layer"]] = difference(one, other)
    return [row for row in made.values() if row is not None]


def difference(one, other) -> Row | None:
    """Return the pass over the output that one form needs and the other not; None where it is not longer."""
    time = other["full_median_ms"] - one["full_median_ms"]
    if time <= 0:
        return None
    size = pass_bytes(other)
    copy = known(other["ceiling_copy_gbs"])
    decided = copy is not None and shown(one, other) == "yes"
    return Row(
        name=f"{other['layer']} {other['epilogue']} forward",
        machine=other["machine"],
        by=f"{other['algorithm']} less fused",
        time=Cell(time, suspect=is_suspect(one) or is_suspect(other)),
        bytes=size,
        traffic=size,
        copy_bytes=copy and 1e9 * copy,
        bound="memory",
        reached=1e-6 * size / time / copy if decided else None,
        element_wise=True,
        is_gpu=other["device"] != "cpu",
        one_thread_a_core=one_a_core(other["threads"], other["hardware"]),
    )


def of_convolutions(title: str, circumstances: str, rows: list, names: list) -> Table:
    """Return a row for each layer, pass and machine; the same layers and passes on every machine."""
    columns = [Column("row"), Column("machine"), Column("algorithm"), Column("median", "number", "ms")]
    columns += [Column("intensity", "tenths", "flop/byte"), Column("tensors", "tenths", "GB/s")]
    columns += [Column("memory share", "percent"), Column("executed", "tenths", "GFLOP/s")]
    columns += [Column("of peak", "percent"), Column("operands", "tenths", "GB/s")]
    columns += [Column("bound"), Column("reached", "percent"), *(Column(claim) for claim in CLAIMS)]
    table = Table(f"{title}: convolutions", CONVOLUTIONS, columns, circumstances)
    if any(row.suspect_ceiling for row in rows):
        table.suspect_means += "; behind a share: its ceiling is suspect, measured too low"
    for name, on, row in on_every_machine(table, rows, names):
        table.add(
            name,
            on,
            row.by,
            row.time,
            row.flops and row.flops / row.bytes,
            row.byte_rate / 1e9,
            row.memory_share,
            row.flop_rate and row.flop_rate / 1e9,
            row.flop_rate and row.peak and row.flop_rate / row.peak,
            row.operand_rate and row.operand_rate / 1e9,
            row.bound,
            Cell(row.reached, suspect=row.suspect_ceiling),
            *verdicts(row),
        )
    table.note(
        "tensors: the three tensors, each once. memory share: what these and intermediate buffers take at "
        "the speed of a copy, of the median. operands: two numbers a multiply-add, reused or not."
    )
    table.note(
        "bound: the ceiling that binds, reached: the share of it; - where an algorithm does not say what it "
        "executes."
    )
    return table


def of_activations(title: str, rows: list, names: list) -> Table:
    """Return a row for each activation and machine, and two where there are both kinds of measurement."""
    columns = [Column("row"), Column("machine"), Column("by"), Column("median", "number", "ms")]
    columns += [Column("tensors", "tenths", "GB/s"), Column("memory share", "percent")]
    columns += [Column(claim) for claim in CLAIMS]
    table = Table(f"{title}: activations", ACTIVATIONS, columns, "fp32 nchw, cold cache")
    for name, on, row in on_every_machine(table, rows, names):
        table.add(name, on, row.by, row.time, row.byte_rate / 1e9, row.memory_share, *verdicts(row))
    table.note(
        "less fused: what the separate form takes longer than the fused one; undecided where their 95% "
        "intervals overlap, left out where it is not longer."
    )
    return table


def on_every_machine(table: Table, rows: list, names: list):
    """Yield (name, machine, row) for all names and machines that have any; add those without to the table.

    A machine without one of the rows has a line that says so, one without all of them a footnote.
    """
    found = {}
    for row in rows:
        found.setdefault((row.name, row.machine), []).append(row)
    here = [on for on in names if any(row.machine == on for row in rows)]
    for name in in_order(row.name for row in rows):
        for on in here:
            for row in found.get((name, on), []):
                yield name, on, row
            if (name, on) not in found:
                table.add(name, on, NOT_MEASURED, *[None] * (len(table.columns) - 3))
    if without := [on for on in names if on not in here]:
        table.note(f"Not measured on {'; '.join(without)}.")


def summary(measured: dict, names: list, devices: list) -> Table:
    """Return a row a machine, kind and claim: how many rows say what; GPUs without records below."""
    columns = [Column("machine"), Column("rows of"), Column("rows", "count"), Column("claim")]
    columns += [Column(word, "count") for word in (CONFIRMS, REFUTES, UNDECIDED)]
    table = Table("Claims", SUMMARY, columns)
    for on in names:
        for kind, groups in measured.items():
            said = [verdicts(row) for group in groups for row in group if row.machine == on]
            for claim, words in zip(CLAIMS, zip(*said, strict=True), strict=False):
                counts = [words.count(word) for word in (CONFIRMS, REFUTES, UNDECIDED)]
                table.add(on, kind, len(said), claim, *counts)
    for row in published.rows_of("gpu_memory"):
        if not any(row["device_name"] in device for device in devices):
            table.add(row["gpu"], NOT_MEASURED, 0, *[None] * 4)
    if len(names) == 1:
        table.note("One machine: name the results of others beside it, to see where they agree.")
    if not any(measured["activations"]):
        table.note("No activations: `convscope operations NETWORK --out DIR` measures them; name DIR here.")
    return table
