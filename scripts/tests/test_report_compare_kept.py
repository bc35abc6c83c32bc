"""convscope-report compare: what kept pairs of runs of one program resolve."""

import copy
import dataclasses
import itertools
import math
from collections import defaultdict

import numpy as np


def slowed(run, planted):
    """Return the run, every time of these algorithms, as (layer, algorithm), 3% longer."""
    records = run.records.copy()
    for layer, algorithm in planted:
        is_one = (records["layer"] == layer) & (records["algorithm"] == algorithm)
        at = is_one & records["samples_ms"].notna()
        assert at.sum() == 1
        records.loc[at, "samples_ms"] = records.loc[at, "samples_ms"].map(
            lambda samples: [1.03 * one for one in samples]
        )
    return dataclasses.replace(run, records=records)


def of_another_program(run):
    """Return the run as one of another commit, whose own code no longer witnesses the machine's drift."""
    runs = copy.deepcopy(run.runs)
    for one in runs:
        one.environment["program"]["commit"] = "another"
    return dataclasses.replace(run, runs=runs)


def verdicts(pairs, matters):
    """The verdict of each record that has a ratio, by its layer and algorithm."""
    from convscope_report import compare

    found, *_ = compare.compare_pairs(pairs, matters)
    return {(one.place["layer"], one.place["algorithm"]): one.verdict for one in found if one.ratio}


def shown(pairs, names):
    """Of how many records 3% more time in every second run is seen, of one a layer at a time."""
    of_layers = defaultdict(list)
    for name in names:
        of_layers[name[0]].append(name)
    count = 0
    for planted in itertools.zip_longest(*of_layers.values()):
        planted = [name for name in planted if name]
        changed = [(before, of_another_program(slowed(after, planted))) for before, after in pairs]
        found = verdicts(changed, 0.02)
        count += sum(found[name] == "SLOWER" for name in planted)
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
    single = [verdict for pair in pairs for verdict in verdicts([pair], 0.05).values()]
    page = " ".join((root / "docs/tables.md").read_text(encoding="utf-8").split())
    assert len(single) == 600 and single.count("SAME") >= 0.98 * 600
    assert f"{single.count('SAME')} of the 600 records SAME" in page
    assert "one FASTER or SLOWER" in page and single.count("FASTER") + single.count("SLOWER") == 1
    names = verdicts(pairs, 0.02)
    assert list(names.values()) == ["SAME"] * 60
    assert f"shown in {shown(pairs, names)} of 60 records by all ten pairs" in page
    assert f"lie within {far_apart(pairs):.1f}% of the middle" in page
    monkeypatch.setattr(
        compare, "steadied", lambda pairs, _: [(a["samples_ms"], b["samples_ms"], 0.0) for a, b in pairs]
    )
    assert f"as they were measured it is {far_apart(pairs):.1f}%" in page
    assert f"of 3% is shown in {shown(pairs, names)} of 60" in page


def test_two_kept_pairs_of_a_gpu_are_the_same_and_show_three_percent_in_each_candidate(root):
    """Four runs of one program on an H200, two pairs of them in all 12 ways."""
    from convscope_report import results

    kept = [
        results.load([root / "results" / "nvidia-h200" / "pairs" / f"conv3-{i}.json.xz"])
        for i in (1, 2, 3, 4)
    ]
    # Which of the two pairs is the first changes nothing.
    ways = [((a, b), (c, d)) for a, b, c, d in itertools.permutations(range(4)) if a < c]

    def verdicts_of(planted):
        return [verdicts([(kept[a], slowed(kept[b], planted)) for a, b in way], 0.02) for way in ways]

    names = list(verdicts([(kept[0], kept[1])], 0.02))
    assert len(names) == 7
    assert verdicts_of([]) == [dict.fromkeys(names, "SAME")] * 12
    for name in names:
        assert [found[name] for found in verdicts_of([name])] == ["SLOWER"] * 12, name
