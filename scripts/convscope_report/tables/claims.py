"""What a row's own numbers say of each claim of why GPUs suit deep learning (docs/tables.md, why-gpu)."""

from dataclasses import dataclass

from convscope_report.table import Cell

CLAIMS = ("bandwidth", "registers and L1", "threads")
CONFIRMS, REFUTES, UNDECIDED = "confirms", "refutes", "undecided"
# A ceiling binds where a row reaches this share of it.
BINDS = 0.5
# Memory is not what a row waits for where its bytes at the speed of a copy take less than this of its time.
IDLE = 0.1
FLOPS_OF_A_MULTIPLY_ADD = 2


@dataclass(frozen=True)
class Row:
    """A convolution or an activation on one machine, as measured; None is not known.

    `bytes` are the tensors, each once, `traffic` intermediate buffers besides. `reached` is the share of the
    ceiling named by `bound` (compute or memory), `operands` the bytes of what multiply-adds multiply (of an
    element-wise operation None). `copy_bytes`, `cache_bytes` and `peak` are measured rates a second.
    """

    name: str
    machine: str
    by: str
    time: Cell
    bytes: float
    traffic: float
    copy_bytes: float | None
    bound: str | None
    reached: float | None
    flops: float | None = None
    peak: float | None = None
    operands: float | None = None
    cache_bytes: float | None = None
    element_wise: bool = False
    is_gpu: bool = False
    one_thread_a_core: bool = True
    suspect_ceiling: bool = False

    @property
    def byte_rate(self) -> float:
        """Bytes of the tensors a second."""
        return 1e3 * self.bytes / self.time.value

    @property
    def memory_share(self) -> float | None:
        """Share of its time that its traffic takes at the speed of a copy."""
        return self.copy_bytes and 1e3 * self.traffic / self.time.value / self.copy_bytes

    @property
    def flop_rate(self) -> float | None:
        """Operations a second that the algorithm does."""
        return None if self.flops is None else 1e3 * self.flops / self.time.value

    @property
    def operand_rate(self) -> float | None:
        """Bytes of operands that the multiply-adds take a second."""
        return None if self.operands is None else 1e3 * self.operands / self.time.value


def verdicts(row: Row) -> list:
    """Return what the row says of each of CLAIMS."""
    binds = row.bound if row.reached is not None and row.reached >= BINDS else None
    return [of_bandwidth(row, binds), of_registers(row, binds), of_threads(row, binds)]


def of_bandwidth(row: Row, binds: str | None) -> str:
    """Return whether memory is what the row waits for."""
    if binds == "memory":
        return CONFIRMS
    idle = row.reached is not None and row.memory_share is not None and row.memory_share < IDLE
    return REFUTES if binds == "compute" or idle else UNDECIDED


def of_registers(row: Row, binds: str | None) -> str:
    """Return whether the row takes more operands than its last private cache delivers."""
    known = row.operand_rate is not None and bool(row.cache_bytes)
    if known and row.operand_rate > row.cache_bytes:
        return CONFIRMS
    return REFUTES if binds == "memory" and (known or row.element_wise) else UNDECIDED


def of_threads(row: Row, binds: str | None) -> str:
    """Return whether latency is hidden, and whether by more threads than there are cores."""
    if binds is None:
        return UNDECIDED
    if row.is_gpu:
        return CONFIRMS
    return REFUTES if row.one_thread_a_core else UNDECIDED
