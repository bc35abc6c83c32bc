"""The verb `compare`: what differs between two runs, and whether it is real."""

from collections import Counter

from convscope_report import ReportError, compare, results, saved
from convscope_report.contexts import device_text
from convscope_report.render import render
from convscope_report.table import Column, Table
from convscope_report.verbs import Verb, add_format, add_program, add_record_filter, write_or_print

QUESTION = "Is B faster or slower than A, record by record, beyond the noise?"


def arguments(parser) -> None:
    """Take A, B, further pairs, --where, --matters, --fail-on, --format and -o."""
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
    add_record_filter(parser)
    parser.add_argument(
        "--matters",
        type=float,
        default=5.0,
        metavar="PERCENT",
        help="Differences below this do not matter to you (5); the noise floor if that is more, up to 25.",
    )
    parser.add_argument(
        "--fail-on",
        choices=("slower", "undecided"),
        help="Exit with 1 if a record is SLOWER; with undecided, also if one is UNDECIDED or REFUSED.",
    )
    add_format(parser)
    add_program(parser)


def run(options) -> int:
    """Print the table of verdicts; exit code 1 where --fail-on says so."""
    if options.matters <= 0:
        raise ReportError(f"--matters {options.matters:g}: expected a percentage above 0, as in --matters 5")
    wanted = results.conditions(options.where, "--where")
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
    made = verdicts(options, found, floor, matters, only_a, only_b)
    write_or_print(render([made], options.format), options.out)
    failing = {"slower": {"SLOWER"}, "undecided": {"SLOWER", "UNDECIDED", "REFUSED"}}.get(
        options.fail_on, set()
    )
    return 1 if any(comparison.verdict in failing for comparison in found) else 0


def verdicts(options, found, floor, matters, only_a, only_b) -> Table:
    """Return a row a candidate, and in the footnotes the counts, the mean, the floor and what to do."""
    columns = [Column("verdict"), Column("layer"), Column("pass"), Column("batch", "count")]
    columns += [Column("algorithm"), Column("A", "number", "ms"), Column("B", "number", "ms")]
    columns += [Column(name, "ratio") for name in ("B / A", "from", "to", "drift")]
    columns += [Column("remarks")]
    networks = ", ".join(
        dict.fromkeys(comparison.place["network"] or "single problem" for comparison in found)
    )
    machines = ", ".join(dict.fromkeys(device_text(comparison.place) for comparison in found))
    more = f" and {len(options.more) // 2} further pairs" if options.more else ""
    table = Table(f"{networks}: A {options.a}, B {options.b}{more}", QUESTION, columns, machines)
    for comparison in found:
        place = (comparison.place[name] for name in ("layer", "pass", "batch", "algorithm"))
        times = comparison.a_ms, comparison.b_ms
        ratios = comparison.ratio, comparison.low, comparison.high, comparison.drift
        table.add(comparison.verdict, *place, *times, *ratios, "; ".join(comparison.remarks) or None)
    for sentence in notes(options, found, floor, matters, only_a, only_b):
        table.note(sentence)
    return table


def notes(options, found, floor, matters, only_a, only_b) -> list:
    """Return the footnotes: counts, mean, noise floor, what the columns are, what is left out, what to do."""
    counts = Counter(comparison.verdict for comparison in found)
    said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in compare.VERDICTS)
    lines = [f"{said} of {len(found)} records."]
    mean = compare.geometric_mean(found)
    if mean is not None:
        lines.append(f"Geometric mean of B / A: {mean:.3f}x.")
    lines += notes_of_pairs(options, found, matters) if options.more else notes_of_one(found, floor, matters)
    lines.append("Candidates without a time in either run are left out.")
    for side, records in (("A", only_a), ("B", only_b)):
        if records:
            example = f"{records[0]['layer']} {records[0]['algorithm']}"
            lines.append(f"Only in {side}: {len(records)} candidates, as {example}.")
    return lines + advice(counts, floor)


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


def notes_of_pairs(options, found, matters) -> list:
    """Return what the figures of several pairs are."""
    return [
        f"B / A: the mean of the {1 + len(options.more) // 2} pairs, over their drift; from, to: its "
        f"{100 * compare.CONFIDENCE:.0f}% interval, from how far the pairs are apart. Within "
        f"{100 * compare.MIN_FLOOR:.0f}% is noise; below {100 * matters:.1f}% does not matter. A, B: of one."
    ]


def advice(counts, floor) -> list:
    """Return what to do about records without a verdict."""
    said = []
    if counts["UNDECIDED"]:
        said.append(
            "UNDECIDED: the interval is too wide. Measure both longer (--time-limit 15 --max-samples 500) "
            "on a machine that does nothing else, give several pairs of runs in turn (A1 B1 A2 B2 A3 B3), or "
            "rerun such a record alone (column rerun of results.csv)"
            + ("." if floor.measured else ", with --aa.")
        )
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
