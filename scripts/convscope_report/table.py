"""A table as data: what it asks, its columns with units, its rows. How it looks is render.py's business."""

import math
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Column:
    """A column: its heading, the kind of its values (KINDS), and the unit behind the heading, if any."""

    name: str
    kind: str = "text"
    unit: str = ""

    @property
    def heading(self) -> str:
        """The name with the unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def right(self) -> bool:
        """Whether it is aligned to the right, as numbers are."""
        return self.kind != "text"


@dataclass(frozen=True)
class Cell:
    """A value that stands out: `best` of its column or row, `tied` with it, or `suspect`."""

    value: object
    best: bool = False
    tied: bool = False
    suspect: bool = False


@dataclass
class Table:
    """A table: the question that it answers, the circumstances of its records, columns, rows, footnotes.

    A row is a list with a value a column: text, a number, None where nothing is known, or a Cell around one.
    `published` marks figures that others measured; they never share a table with records of our own.
    """

    title: str
    question: str
    columns: list
    circumstances: str = ""
    rows: list = field(default_factory=list)
    footnotes: list = field(default_factory=list)
    published: bool = False
    best_means: str = "best"
    tied_means: str = (
        "not shown to be slower than the best: their 95% intervals overlap, or may on a quiet machine, or "
        "one has none"
    )
    suspect_means: str = "throttled or disturbed while measured: its time is too long"

    def add(self, *values) -> None:
        """Append a row; it must have a value a column."""
        if len(values) != len(self.columns):
            raise ValueError(f"{self.title}: a row of {len(values)} values for {len(self.columns)} columns")
        self.rows.append(list(values))

    def pairs(self) -> list:
        """Return the rows, of each value a pair with its column."""
        return [list(zip(row, self.columns, strict=True)) for row in self.rows]

    def note(self, sentence: str) -> None:
        """Append a footnote, each only once."""
        if sentence not in self.footnotes:
            self.footnotes.append(sentence)


def plain(value):
    """Return the value of a cell without what makes it stand out; NaN as None."""
    value = value.value if isinstance(value, Cell) else value
    return None if isinstance(value, float) and math.isnan(value) else value


def number_text(value: float) -> str:
    """Return four significant digits, no exponent, as the program prints times: 0.01234, 16.97, 1616."""
    if value == 0:
        return "0"
    decimals = 3 - math.floor(math.log10(abs(value)))
    return f"{value:.{min(max(decimals, 0), 9)}f}"


def counted(count: float, noun: str) -> str:
    """Return a whole number of something: 1 thread, 2 threads."""
    return f"{count:.0f} {noun}{'' if count == 1 else 's'}"


def bytes_text(value: float) -> str:
    """Bytes in the unit that fits: 0 B, 427.9 KiB, 27.5 MiB."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value:.0f} B"


KINDS = {
    "text": str,
    "count": lambda value: f"{value:.0f}",
    "number": number_text,
    "exact": lambda value: f"{value:g}",
    "tenths": lambda value: f"{value:.1f}",
    "ratio": lambda value: f"{value:.2f}x",
    # No -0.0; the sign z of formats is none of Python 3.10.
    "percent": lambda value: f"{round(100 * value, 1) + 0.0:.1f}%",
    "bytes": bytes_text,
    "error": lambda value: f"{value:.1e}",
}


def cell_text(value, column: Column) -> str:
    """Return a cell as a reader sees it, without marks: `-` for None; text stands as it is in any column."""
    value = plain(value)
    if value is None:
        return "-"
    return value if isinstance(value, str) else KINDS[column.kind](value)
