"""The verb `compare`: what differs between two runs, and whether it is real."""

from collections import Counter

from convscope_report import ReportError, compare, results, saved
from convscope_report.contexts import device_text
from convscope_report.results import as_text
from convscope_report.table import Column, Table
from convscope_report.tables.choices import cap_text
from convscope_report.verbs import Verb, add_format, add_program, add_record_filter, write_tables
from convscope_report.where import conditions

# By the value of --fail-on: the verdicts that make the exit code 1.
FAILING = {"slower": ("SLOWER",), "undecided": ("SLOWER", "UNDECIDED", "REFUSED")}
QUESTION = "Is B faster or slower than A, record by record, beyond the noise?"
# What records may differ in besides, by heading: a column where some do.
BESIDES = {
    "network": "network",
    "math": "math",
    "layout": "layout",
    "epilogue": "epilogue",
    "threads": "threads",
    "cache": "cache",
    "workspace_cap_bytes": "workspace up to",
}


def arguments(parser) -> None:
    """Take A, B, further pairs, --names, --where, --matters, --fail-on, --format and -o."""
    parser.add_argument(
        "a", metavar="A", help="The run to compare against: a result folder or file, or a name."
    )
    parser.add_argument("b", metavar="B", help="The run to judge, likewise (`convscope-report runs`).")
    parser.add_argument(
        "more",
        nargs="*",
        default=[],  # or argparse calls it required
        metavar="A B",
        help="Further pairs of the same two, measured in turn: they count as one comparison.",
    )
    parser.add_argument(
        "--names",
        nargs=2,
        metavar=("A", "B"),
        help="What the title calls them, where the paths are of no use to its reader.",
    )
    add_record_filter(parser)
    add_judgement(parser, matters=5)
    add_format(parser)
    add_program(parser)


def run(options) -> int:
    """Print the table of verdicts; exit code 1 where --fail-on says so."""
    wanted = conditions(options.where, "--where")
    if len(options.more) % 2 != 0:
        raise ReportError(
            f"{options.more[-1]}: a further A without its B; name runs in pairs, as in A1 B1 A2 B2"
        )
    loaded = [
        results.load([saved.find(path)], options.virtual_time, options.convscope).where(**wanted)
        for path in (options.a, options.b, *options.more)
    ]
    pairs = list(zip(loaded[::2], loaded[1::2], strict=True))
    found, floor, matters, only_a, only_b = compare.compare_pairs(pairs, options.matters / 100)
    more = f" and {len(options.more) // 2} further pairs" if options.more else ""
    name_a, name_b = options.names or (options.a, options.b)
    title = f"A {name_a}, B {name_b}{more}"
    made = verdicts(title, len(pairs), found, floor, matters, only_a, only_b)
    write_tables([made], options)
    return exit_code(options.fail_on, found)


def add_judgement(parser, matters: float) -> None:
    """--matters, with its default in percent, and --fail-on."""
    parser.add_argument(
        "--matters",
        type=percentage,
        default=matters,
        metavar="PERCENT",
        help=f"Differences below this do not matter to you ({matters:g}); of two runs the noise floor if "
        "that is more, up to 25.",
    )
    parser.add_argument(
        "--fail-on",
        choices=tuple(FAILING),
        help="Exit with 1 if a record is SLOWER; with undecided, also if one is UNDECIDED or REFUSED.",
    )


def percentage(text: str) -> float:
    """Return a number above 0, for argparse."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


def exit_code(fail_on: str | None, found: list) -> int:
    """Return 1 where one of the Comparisons is what --fail-on names."""
    return int(any(comparison.verdict in FAILING.get(fail_on, ()) for comparison in found))


def verdicts(title, pairs, found, floor, matters, only_a, only_b, more=None) -> Table:
    """Return a row a candidate, and in the footnotes the counts, the mean, the floor and what to do.

    `more` is what to do about UNDECIDED records where that is something else than of two runs.
    """
    besides = [name for name in BESIDES if len({comparison.place[name] for comparison in found}) > 1]
    columns = [Column("verdict"), Column("layer"), Column("pass"), Column("batch", "count")]
    columns += [Column(BESIDES[name]) for name in besides]
    columns += [Column("algorithm"), Column("A", "number", "ms"), Column("B", "number", "ms")]
    columns += [Column(name, "ratio") for name in ("B / A", "from", "to", "drift")]
    columns += [Column("remarks")]
    networks = ", ".join(
        dict.fromkeys(comparison.place["network"] or "single problem" for comparison in found)
    )
    machines = ", ".join(dict.fromkeys(device_text(comparison.place) for comparison in found))
    table = Table(f"{networks}: {title}", QUESTION, columns, machines)
    for comparison in found:
        place = [comparison.place[name] for name in ("layer", "pass", "batch")]
        place += [besides_text(name, comparison.place[name]) for name in besides]
        times = comparison.a_ms, comparison.b_ms
        ratios = comparison.ratio, comparison.low, comparison.high, comparison.drift
        remarks = "; ".join(comparison.remarks) or None
        table.add(comparison.verdict, *place, comparison.place["algorithm"], *times, *ratios, remarks)
    for sentence in notes(pairs, found, floor, matters, only_a, only_b, more):
        table.note(sentence)
    return table


def besides_text(name: str, value) -> str:
    """Return a value of BESIDES as a reader sees it."""
    return cap_text(value) if name == "workspace_cap_bytes" else as_text(value)


def notes(pairs, found, floor, matters, only_a, only_b, more) -> list:
    """Return the footnotes: counts, mean, noise floor, what the columns are, what is left out, what to do."""
    counts = Counter(comparison.verdict for comparison in found)
    said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in compare.VERDICTS)
    lines = [f"{said} of {len(found)} records."]
    mean = compare.geometric_mean(found)
    if mean is not None:
        lines.append(f"Geometric mean of B / A: {mean:.3f}x.")
    lines += notes_of_pairs(pairs, matters) if pairs > 1 else notes_of_one(found, floor, matters)
    if any(comparison.is_steadied for comparison in found):
        lines.append(
            "B / A is of samples without what the machine's speed and trend explain, where that is known; A "
            "and B are as measured."
        )
    lines.append("Candidates without a time in either run are left out.")
    for side, records in (("A", only_a), ("B", only_b)):
        if records:
            example = f"{records[0]['layer']} {records[0]['algorithm']}"
            lines.append(f"Only in {side}: {len(records)} candidates, as {example}.")
    return lines + advice(counts, more or longer(floor))


def notes_of_one(found, floor, matters) -> list:
    """Return what the figures of one pair of runs are."""
    lines = [
        f"Noise floor {100 * floor.share:.1f}% ({floor.origin}); below {100 * matters:.1f}% does not matter. "
        f"from, to: the {100 * compare.CONFIDENCE:.0f}% interval of the ratio."
    ]
    if any(comparison.drift is not None for comparison in found):
        lines.append(
            "drift: the middle B / A of the records of a layer and pass whose code is the same in A and B (a "
            "library's, or all where the program is the same); the verdict is on B / A over it."
        )
    return lines


def notes_of_pairs(pairs, matters) -> list:
    """Return what the figures of several pairs are."""
    return [
        f"B / A: the mean of the {pairs} pairs, over their drift; from, to: its "
        f"{100 * compare.CONFIDENCE:.0f}% interval, from how far the pairs are apart. Within "
        f"{100 * compare.MIN_FLOOR:.0f}% is noise; below {100 * matters:.1f}% does not matter. A, B: of one."
    ]


def longer(floor) -> str:
    """Return what to do about records of two runs that are undecided."""
    return (
        "Measure both longer (--time-limit 15 --max-samples 500) on a machine that does nothing else, rerun "
        f"such a record alone (column rerun of results.csv){'' if floor.measured else ', with --aa'}, or "
        "measure both programs in turn (scripts/bench --baseline NAME --thorough)."
    )


def advice(counts, more) -> list:
    """Return what to do about records without a verdict."""
    said = []
    if counts["UNDECIDED"]:
        said.append(f"UNDECIDED: the interval is too wide. {more}")
    if counts["REFUSED"]:
        said.append("REFUSED: measured under other circumstances, or not right on a side; run both alike.")
    return said


COMPARE = Verb(
    "Compare two runs record by record: FASTER, SLOWER, SAME or UNDECIDED, from samples and the noise floor.",
    """\
  convscope-report compare out/before out/after
  convscope-report compare before amd-zen4-2-cores/alexnet
  convscope-report compare out/before out/after --fail-on slower --where pass=forward
  convscope-report compare out/before-1 out/after-1 out/before-2 out/after-2 out/before-3 out/after-3""",
    arguments,
    run,
)
