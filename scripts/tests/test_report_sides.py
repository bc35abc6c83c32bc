"""Several runs in one report: a column each, ranked alone, with `compare`'s verdicts over time."""

import argparse
import dataclasses
import json
import re

import pandas as pd
import pytest
from report_support import DATA, made_up_gpu, recorded

from convscope_report import compare, results
from convscope_report.cli import main
from convscope_report.html import answer, sides, surroundings
from convscope_report.table import number_text


def later(folder, started):
    """The run with another time of its beginning."""
    file = folder / "results.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    document["environment"]["started"] = started
    file.write_text(json.dumps(document), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A later version, faster in our own algorithms; the recorded run; a GPU."""
    top = tmp_path_factory.mktemp("sides")
    made_up_gpu(top / "faster", device="cpu", slower=0.3, commit="5100000000", source=recorded("same_b"))
    made_up_gpu(top / "gpu", source=recorded("same_b"))
    return [later(top / "faster", "2027-01-01T00:00:00Z"), recorded("same_b"), top / "gpu"]


def model(folders, convscope, **wanted):
    """The results of the folders and the report's grids of them."""
    loaded = results.load(folders, convscope=str(convscope)).where(**wanted)
    options = argparse.Namespace(results=folders, where=[], convscope=str(convscope), virtual_time=False)
    return loaded, sides.grids(loaded, options)


@pytest.fixture(scope="module")
def made(folders, convscope):
    return model(folders, convscope)


def test_runs_and_machines_are_columns_of_one_grid_in_the_order_of_time(made):
    _, grids = made
    assert len(grids) == 1
    heads = [head["lines"] for head in grids[0]["heads"]]
    assert [len(line["cells"]) for line in grids[0]["lines"]] == [3] * len(grids[0]["lines"])
    assert "made-up GPU" in heads[2][0] and heads[0][0] == heads[1][0] != heads[2][0]
    assert heads[1][-2:] == ["2027-01-01 00:00", "51000000"]


def test_each_run_is_ranked_alone(made, folders, convscope):
    loaded, grids = made
    for place, folder in ((0, folders[1]), (1, folders[0]), (2, folders[2])):
        alone = results.load([folder], convscope=str(convscope)).ranked()
        first = alone[alone["rank"] == 1]
        won = {(record["layer"], record["pass"]): record for record in first.to_dict("records")}
        for line in grids[0]["lines"]:
            cell = line["cells"][place]
            record = won[cell.layer, cell.pass_name]
            assert (cell.algorithm, cell.ms) == (record["algorithm"], record["full_median_ms"])
            # The index leads to the same record among those of all runs.
            assert loaded.records.loc[cell.index]["full_median_ms"] == cell.ms
            assert loaded.records.loc[cell.index]["device_name"] == record["device_name"]
    # All together the runs of one machine are repeats of each other: half of them have no rank.
    assert (loaded.records["standing"] == "repeat").any()


def test_the_verdicts_are_those_of_compare(made, folders, convscope):
    _, grids = made
    old, new = (results.load([folder], convscope=str(convscope)) for folder in (folders[1], folders[0]))
    found, *_ = compare.compare(old, new, sides.MATTERS)
    verdicts = {tuple(one.place[name] for name in ("layer", "pass", "algorithm")): one for one in found}
    seen = set()
    for line in grids[0]["lines"]:
        first, second, gpu = line["verdicts"]
        assert first is None and gpu is None
        cell = line["cells"][1]
        expected = verdicts[cell.layer, cell.pass_name, cell.algorithm]
        assert (second.word, second.ratio) == (expected.verdict, expected.ratio)
        assert f"in the run before: {second.word}" in second.words
        seen.add(second.word)
    assert "FASTER" in seen
    assert grids[0]["verdicts"] and "FASTER" in grids[0]["sentence"]


def test_a_changed_winner_is_said(made):
    _, grids = made
    changed = [
        (line["cells"][0], line["verdicts"][1])
        for line in grids[0]["lines"]
        if line["cells"][0].algorithm != line["cells"][1].algorithm
    ]
    assert changed
    assert all(verdict.words.startswith(f"The winner was {was.name} before.") for was, verdict in changed)


def test_the_sentence_counts_where_all_agree(made):
    _, grids = made
    lines = grids[0]["lines"]
    agreed = sum(len({cell.algorithm for cell in line["cells"]}) == 1 for line in lines)
    assert (
        f"the same algorithm wins in all of them in {agreed} of {len(lines)} layers" in grids[0]["sentence"]
    )
    assert grids[0]["sentence"].startswith("3 runs: ")


def test_a_filter_leaves_the_other_runs_as_they_are(folders, convscope):
    loaded, grids = model(folders, convscope, **{"pass": ["forward"]})
    assert {line["pass"] for line in grids[0]["lines"]} == {"forward"}
    assert all(
        loaded.records.loc[cell.index]["algorithm"] == cell.algorithm
        for line in grids[0]["lines"]
        for cell in line["cells"]
    )


def test_the_settings_of_one_run_are_columns_too(convscope):
    _, (grid,) = model([DATA / "sweep"], convscope, threads=["2"])
    assert grid["heads"][0]["lines"] == ["batch 1"] and len(grid["heads"]) > 1
    assert grid["sentence"].startswith(f"{len(grid['heads'])} settings: ") and not grid["verdicts"]


def test_slower_winners_are_not_called_faster():
    grid = {"verdicts": [], "cells": [answer.Cell("a", "forward", 1, "direct.cpu", 0, 2.0, 0.5)]}
    total = answer.sum_of(grid["cells"])
    assert "the best library record takes 0.50x as long as the best of each" in sides.sentence(
        [grid], [total, total], 2
    )
    part = dataclasses.replace(total, library_ms=4.0, missing=["b forward"])
    assert "takes 0.50x as long" in sides.sentence([grid], [total, part], 2), "a sum of a part is none"
    assert "library" not in sides.sentence([grid], [part, part], 2)


def test_records_that_ran_out_of_memory_are_a_warning(convscope):
    loaded = results.load([DATA / "basic"], convscope=str(convscope))
    outcomes = ["out_of_memory", *loaded.records["outcome"][1:]]
    spoilt = results.Results(loaded.records.assign(outcome=outcomes), loaded.runs)
    assert "1 records out_of_memory" in [warning.short for warning in surroundings.warnings(spoilt)]


def test_other_networks_have_grids_of_their_own(convscope):
    _, grids = model([DATA / "basic", recorded("same_a")], convscope)
    assert len(grids) == 2 and all(grid["lines"][0]["pass"] == "" for grid in grids)


def test_sides_without_common_layers_do_not_share_a_grid():
    def side(layers):
        return sides.Side(0, {}, "", "", pd.DataFrame({"layer": layers, "pass": "forward"}))

    assert sides.alike([side(["a", "b"]), side(["a", "b", "c"])])
    assert not sides.alike([side(["a", "b"]), side(["b", "c", "d"])])


def test_runs_that_compare_refuses_say_why(folders, convscope):
    each = [results.load([folder], convscope=str(convscope)) for folder in (folders[1], folders[1])]
    each[1] = results.Results(each[1].records.assign(layer="another"), each[1].runs)
    old, new = (sides.Side(run, {}, "", "", each[run].records) for run in (0, 1))
    found = sides.compared(old, new, each, {})
    cell = argparse.Namespace(algorithm="x", name="x", index=0)
    assert sides.verdict_of(cell, None, new, found).word == "NOT COMPARED"
    assert "no candidate with a time in common" in sides.verdict_of(cell, None, new, found).words


def test_the_sums_are_those_of_the_console_and_the_page_is_small(convscope, run_convscope, root, tmp_path):
    run = root / "results" / "amd-zen4-2-cores" / "alexnet.json.xz"
    _, (grid,) = model([run], convscope)
    shown = run_convscope("show", run).stdout
    printed = re.findall(r"^\* best of each layer +([\d.]+) +[\d.]+ +([\d.]+x)$", shown, re.M)
    totals = [(number_text(total.ms), f"{total.over_library:.2f}x") for total in grid["totals"]]
    assert len(totals) == 3 and printed[:3] == totals
    ms, factor = printed[3]
    assert f"takes {ms} ms, {factor} faster than the best library record" in grid["sentence"]
    page = tmp_path / "report.html"
    assert main(["report", str(run), "-o", str(page), "--convscope", str(convscope)]) == 0
    assert page.stat().st_size < 600_000
