"""convscope-report compare: what kept pairs of runs of one program resolve."""

import copy
import itertools
import math

import numpy as np


def slowed(run, algorithm):
    """Return the run, every time of the algorithm 3% longer."""
    run = copy.deepcopy(run)
    at = (run.records["algorithm"] == algorithm) & run.records["samples_ms"].notna()
    run.records.loc[at, "samples_ms"] = run.records.loc[at, "samples_ms"].map(
        lambda samples: [1.03 * one for one in samples]
    )
    return run


def of_another_program(run):
    """Return the run as one of another commit, whose own code no longer witnesses the machine's drift."""
    run = copy.deepcopy(run)
    for one in run.runs:
        one.environment["program"]["commit"] = "another"
    return run


def verdicts(pairs, matters):
    """The algorithm and verdict of each record that has a ratio."""
    from convscope_report import compare

    found, *_ = compare.compare_pairs(pairs, matters)
    return [(one.place["algorithm"], one.verdict) for one in found if one.ratio]


def shown(pairs):
    """Of how many records 3% more time in every second run is seen."""
    count = 0
    for name in {name for name, _ in verdicts(pairs, 0.02)}:
        changed = [(before, of_another_program(slowed(after, name))) for before, after in pairs]
        planted = verdicts(changed, 0.02)
        count += planted.count((name, "SLOWER"))
    return count


def far_apart(pairs):
    """What nine of ten ratios of the pairs are within, relative to the middle of their layer, in percent."""
    from convscope_report import compare

    found = [one for pair in pairs for one in compare.compare_pairs([pair], 0.05)[0] if one.ratio]
    return 100 * np.quantile([abs(math.log(one.ratio / one.drift)) for one in found], 0.9)


def test_ten_kept_pairs_of_a_quiet_cpu_are_the_same_and_what_they_show_of_three_percent(root, monkeypatch):
    """Twenty runs of AlexNet forward by one program, one after the other; docs/tables.md has the counts."""
    from convscope_report import compare, results

    folder = root / "results" / "intel-f6m167-2-cores" / "pairs"
    runs = [results.load([path]) for path in sorted(folder.glob("alexnet-forward-*.json.xz"))]
    pairs = list(zip(runs[::2], runs[1::2], strict=True))
    assert len(pairs) == 10
    single = [verdict for pair in pairs for _, verdict in verdicts([pair], 0.05)]
    page = " ".join((root / "docs/tables.md").read_text(encoding="utf-8").split())
    assert len(single) == 600 and single.count("SAME") >= 0.98 * 600
    assert f"{single.count('SAME')} of the 600 records SAME" in page
    assert "one FASTER or SLOWER" in page and single.count("FASTER") + single.count("SLOWER") == 1
    assert [verdict for _, verdict in verdicts(pairs, 0.02)] == ["SAME"] * 60
    assert f"shown in {shown(pairs)} of 60 records by all ten pairs" in page
    assert f"lie within {far_apart(pairs):.1f}% of the middle" in page
    monkeypatch.setattr(
        compare, "steadied", lambda pairs, _: [(a["samples_ms"], b["samples_ms"], 0.0) for a, b in pairs]
    )
    assert f"as they were measured it is {far_apart(pairs):.1f}%" in page
    assert f"of 3% is shown in {shown(pairs)} of 60" in page


def test_two_kept_pairs_of_a_gpu_are_the_same_and_show_three_percent_in_each_candidate(root):
    """Four runs of one program on an H200, two pairs of them in all 24 ways."""
    from convscope_report import compare, results

    kept = [
        results.load([root / "results" / "nvidia-h200" / "pairs" / f"conv3-{i}.json.xz"])
        for i in (1, 2, 3, 4)
    ]
    ways = [((a, b), (c, d)) for a, b, c, d in itertools.permutations(range(4))]

    def verdicts_of(planted=None):
        made = []
        for way in ways:
            found, *_ = compare.compare_pairs([(kept[a], slowed(kept[b], planted)) for a, b in way], 0.02)
            made += [one.verdict for one in found if one.ratio and planted in (None, one.place["algorithm"])]
        return made

    algorithms = sorted(set(kept[0].records["algorithm"][kept[0].records["outcome"] == "measured"]))
    assert len(algorithms) == 7
    assert verdicts_of() == ["SAME"] * 24 * 7
    for algorithm in algorithms:
        assert verdicts_of(algorithm) == ["SLOWER"] * len(ways), algorithm
