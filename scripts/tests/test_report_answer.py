"""The grid of winners of the report, from records made by hand: who, by what factor, with which marks."""

import pandas as pd
import pytest

from convscope_report.html import answer, sides, summary

CIRCUMSTANCES = {"network": "net", "batch": 1, "math": "fp32", "layout": "nchw", "device": "cpu"}


def record(algorithm, ms=None, rank=None, **facts):
    """One record; with a time and no rank it cannot win."""
    family, provider = algorithm.split(".")[0], "convscope"
    if family in ("onednn", "cudnn"):
        provider = family
    made = {
        **CIRCUMSTANCES,
        "layer": "conv1",
        "pass": "forward",
        "count": 1,
        "algorithm": f"{algorithm}.cpu",
        "family": family,
        "provider": provider,
        "full_median_ms": ms,
        "full_ci_low_ms": ms,
        "rank": rank,
        "in_doubt": None if rank is None else False,
        "standing": "good" if rank else "refused",
        "outcome": "measured" if ms else "unsupported",
        "over_winner": None,
        "speed_up": None,
        "baseline_suspect": False,
        "reason": None,
        "note": None,
        "relative_l2": 1e-7,
        "gate": 2e-5,
    }
    return {**made, **facts}


def contest(*records, winner=1.0, library=None):
    """The records of one contest with what the program derives from the winner's and the library's times."""
    for one in records:
        if one["rank"] is not None:
            one["over_winner"] = one["full_median_ms"] / winner
            one["speed_up"] = library and library / one["full_median_ms"]
    return pd.DataFrame(list(records), dtype=object)


def signs(cell):
    return [(remark.sign, remark.serious) for remark in cell.remarks]


def test_a_cell_has_the_winner_and_its_factors():
    records = contest(
        record("onednn.auto", 3.0, 3), record("fft16", 1.0, 1), record("direct", 1.5, 2), library=3.0
    )
    cell = answer.cell(records)
    assert (cell.name, cell.ms, cell.over_library, cell.over_next) == ("fft16", 1.0, 3.0, 1.5)
    assert (cell.runner_up, cell.index, cell.remarks) == ("direct", 1, [])
    assert cell.words.splitlines() == [
        "conv1 forward: fft16.cpu",
        "median 1.000 ms",
        "3.00x over the best record of a library",
        "1.50x over the runner-up, direct",
    ]


def test_the_order_is_that_of_the_ranks_and_not_of_the_records():
    cell = answer.cell(contest(record("fft16", 1.5, 2), record("direct", 1.0, 1)))
    assert cell.name == "direct" and cell.over_next == pytest.approx(1.5)
    assert cell.over_library is None


def test_doubt_is_marked_with_the_names_of_the_tied():
    cell = answer.cell(contest(record("fft16", 1.0, 1), record("direct", 1.01, 2, in_doubt=True)))
    assert signs(cell) == [("~", False)] and cell.in_doubt
    assert "Not shown to be faster than direct: the 95% intervals overlap." in cell.words


def test_doubt_for_want_of_an_interval_is_said_so():
    few = record("direct", 5.0, 2, in_doubt=True, full_ci_low_ms=None)
    near = record("fft32", 1.01, 3, in_doubt=True)
    cell = answer.cell(contest(record("fft16", 1.0, 1), few))
    assert "Not shown to be faster than direct: too few samples give no 95% interval." in cell.words
    cell = answer.cell(contest(record("fft16", 1.0, 1), few, near))
    assert "direct, fft32: the 95% intervals overlap, or too few samples give no 95% interval." in cell.words
    cell = answer.cell(contest(record("fft16", 1.0, 1, full_ci_low_ms=None), near))
    assert "fft32: too few samples give no 95% interval." in cell.words


@pytest.mark.parametrize(("standing", "sign"), [("throttled", "t"), ("disturbed", "d")])
def test_the_state_of_the_machine_is_marked_and_serious_where_it_may_change_the_winner(standing, sign):
    near = record("fft16", 2.0, 2, standing=standing, in_doubt=True)
    cell = answer.cell(contest(record("direct", 1.5, 1), near, winner=1.5))
    assert signs(cell) == [("~", False), (sign, True)]
    assert "On a quiet machine perhaps the fastest: fft16." in cell.words
    assert "the 95% intervals overlap, or may on a quiet machine." in cell.words
    far = record("fft16", 9.0, 2, standing=standing)
    cell = answer.cell(contest(record("direct", 1.5, 1), far, winner=1.5))
    assert signs(cell) == [(sign, False)] and f"fft16: {standing} while measured" in cell.words
    cell = answer.cell(contest(record("fft16", 1.0, 1, standing=standing)))
    assert signs(cell) == [(sign, False)] and cell.is_suspect
    leader = record("direct", 1.0, 1, standing=standing)
    cell = answer.cell(contest(leader, record("fft16", 2.0, 2, standing=standing, in_doubt=True)))
    assert f"direct, fft16: {standing} while measured, so too long a time." in cell.words


def test_a_ratio_to_a_library_that_was_throttled_is_said_and_its_sum_suspect():
    theirs = record("onednn.auto", 3.0, 2, standing="throttled", baseline_suspect=True)
    ours = record("direct", 1.0, 1, baseline_suspect=True)
    cell = answer.cell(contest(theirs, ours, library=3.0))
    assert answer.cell(contest(ours, library=3.0)).suspects_library, "a filter hides no doubt"
    assert "3.00x over the best record of a library, itself throttled or disturbed" in cell.words
    assert answer.sum_of([cell]).suspect and not cell.is_suspect
    assert "throttled or disturbed records are in the sum" in answer.sentence([cell])


def test_wrong_and_failed_records_are_named_beside_the_winner_and_refused_ones_are_not():
    wrong = record("fft16", 0.5, outcome="wrong", standing="wrong", relative_l2=3.1e-5)
    crashed = record("fft32", outcome="crashed", standing="failed", note="signal 11")
    cell = answer.cell(contest(wrong, crashed, record("fft.full"), record("direct", 1.5, 1), winner=1.5))
    assert cell.name == "direct" and signs(cell) == [("w", False), ("!", False)]
    assert "fft16: wrong (relative error 3.1e-05, allowed 2.0e-05)." in cell.words
    assert "fft32: crashed (signal 11)." in cell.words and "fft.full" not in cell.words


def test_a_layer_without_a_right_record_has_no_winner_and_is_in_no_sum():
    lost = answer.cell(contest(record("fft16", 0.5, outcome="wrong", standing="wrong", layer="conv2")))
    assert lost.algorithm == "" and signs(lost)[0] == ("?", True)
    won = answer.cell(contest(record("direct", 1.5, 1), winner=1.5, library=3.0))
    total = answer.sum_of([won, lost])
    assert (total.ms, total.missing) == (1.5, ["conv2 forward"])
    assert "conv2 forward is without a winner and not in it" in answer.sentence([won, lost])
    assert answer.sum_of([lost]) is None and "nobody wins" in answer.sentence([lost])


def test_the_sentence_of_a_sum_says_which_layers_are_not_in_it():
    lost = contest(record("fft16", 0.5, outcome="wrong", standing="wrong", layer="conv2"))
    records = pd.concat([contest(record("direct", 1.5, 1), winner=1.5), lost], ignore_index=True)
    said = summary.total(records[records["rank"].notna()], records)
    assert said.startswith("Best of each layer: 1.500 ms over 1 convolutions")
    assert said.endswith("; conv2 forward is without a winner and not in it.")


def test_a_filter_that_hides_the_winner_is_said():
    cell = answer.cell(contest(record("direct", 1.5, 2), winner=1.0))
    assert signs(cell) == [("-", True)] and "It ranks 2" in cell.words


def network():
    """Three layers in two passes: ours wins three, a library one, one in doubt, one counts twice."""
    parts = []
    for name in ("forward", "backward_data"):
        for place, layer in enumerate(("a", "b")):
            at = {"layer": layer, "pass": name, "count": place + 1}
            ours, theirs = (1, 2) if (name, layer) != ("forward", "b") else (2, 1)
            rows = [
                record("direct", float(ours), ours, **at),
                record(
                    "onednn.auto", float(theirs), theirs, in_doubt=layer == "a" and name == "forward", **at
                ),
            ]
            parts.append(contest(*rows, library=float(theirs)))
    return pd.concat(parts, ignore_index=True)


def test_the_sentence_says_who_won_how_many_and_the_sum_against_the_library():
    found = answer.cells(network()).values()
    assert answer.sentence(found) == (
        "Of 4 layers and passes our algorithms win 3 (direct 3) and libraries win 1 (onednn.auto 1), "
        "1 of them in doubt (~); the best of each takes 6.000 ms, 1.67x faster than the best library record "
        "of each (10.00 ms)."
    )


def test_without_a_library_there_is_no_factor_over_one():
    cell = answer.cell(contest(record("direct", 1.5, 1), winner=1.5))
    assert "with no library's record in each" in answer.sentence([cell])


def test_a_grid_is_layers_by_passes_with_a_legend_of_the_marks_it_has():
    grid = answer.grid("net", "fp32", network())
    assert [head["lines"] for head in grid["heads"]] == [["forward"], ["backward-data"]]
    assert [(line["layer"], line["count"]) for line in grid["lines"]] == [("a", 1), ("b", 2)]
    assert [cell.name for line in grid["lines"] for cell in line["cells"]] == [
        "direct",
        "direct",
        "onednn.auto",
        "direct",
    ]
    assert [total.ms for total in grid["totals"]] == [3.0, 3.0]
    assert [sign for sign, _ in grid["legend"]] == ["~"]


def test_the_sum_of_a_run_says_what_other_runs_have_and_it_lacks():
    whole = answer.cells(network())
    part = {place: cell for place, cell in whole.items() if place[0] == "a"}
    assert sides.total_of(whole, list(whole)).missing == []
    total = sides.total_of(part, list(whole))
    assert (total.ms, total.missing) == (2.0, ["b forward", "b backward-data"])
    assert [sign for sign, _ in answer.legend(part.values(), [total])] == ["~", "?"]


def test_one_layer_is_a_sentence_of_its_own():
    grid = answer.grid(
        "net", "", contest(record("direct", 1.5, 1), record("onednn.auto", 3.0, 2), winner=1.5, library=3.0)
    )
    assert len(grid["lines"]) == 1
    assert grid["sentence"] == (
        "On conv1, direct wins with 1.500 ms, 2.00x faster than the best library record of each (3.000 ms)."
    )


def test_of_many_names_the_frequent_are_said():
    names = answer.Counter({"a": 9, "b": 5, "c": 3, "d": 2, "e": 1})
    assert answer.listed(names) == "a 9, b 5, c 3, others 3"
    assert answer.listed(answer.Counter({"a": 2, "b": 1})) == "a 2, b 1"


def test_a_layer_that_a_pass_lacks_is_an_empty_cell():
    records = network()
    grid = answer.grid(
        "net", "", records[~((records["layer"] == "a") & (records["pass"] == "backward_data"))]
    )
    assert grid["lines"][0]["cells"][1] is None
