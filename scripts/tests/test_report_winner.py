"""Who wins is the same everywhere: CSV, tables, figures, report, `select`, `compare`, gpu-check's summary.

The program's ranking (bench/ranking, whose tests say what it must be) is held against what each of them
shows, on results of two machines and a repeat with wrong, throttled, disturbed, tied and refused records.
That the console agrees is tested in bench/select/agreement_test.cpp.
"""

import argparse
import io
import json
import re

import pytest
from matplotlib import pyplot
from report_support import DATA, report

from convscope_report import figures as all_figures
from convscope_report import kept, results
from convscope_report.contexts import counts_of
from convscope_report.figures import planes, speedups
from convscope_report.figures.style import SUSPECT
from convscope_report.html import page, summary
from convscope_report.table import Cell
from convscope_report.tables import TABLES
from gpu_check import records as gpu_check_records
from gpu_check import summary as gpu_check_summary

# What happens to the records of the first machine's first run, by layer and pass: see spoil().
FATES = {
    ("conv1", "forward"): "throttled",
    ("conv2", "forward"): "wrong",
    ("conv3", "forward"): "tied",
    ("conv1", "backward_data"): "refused",
    ("conv2", "backward_data"): "all throttled",
    ("conv3", "backward_data"): "disturbed",
}

SUSPECT_STANDINGS = ("throttled", "disturbed")


def place_of(record):
    return record["key"]["layer"], record["key"]["problem"].split(" ")[0]


def median(record):
    return record["time"]["full"]["median_seconds"] if record["time"] else float("inf")


def scale(record, factor):
    """Multiplies the statistics and samples of full."""
    full = (record["time"] or {}).get("full", {})
    for name, value in full.items():
        if name == "samples_seconds":
            full[name] = [factor * sample for sample in value]
        elif name.endswith("_seconds") and isinstance(value, float):
            full[name] = factor * value


def spoil(records, fate):
    """Gives the records of one contest, of which the first is the fastest, their fate."""
    if fate == "throttled":
        records[0]["health"]["throttled"] = True
    elif fate == "disturbed":
        records[0]["health"]["disturbed"] = True
    elif fate == "all throttled":
        for record in records:
            record["health"]["throttled"] = True
    elif fate == "wrong":
        records[0] |= {"outcome": "wrong", "reason": "accuracy"}
    elif fate == "refused":
        records[0] |= {"outcome": "unsupported", "reason": "unsupported_size", "time": None}
    elif fate == "tied":
        records[1]["time"]["full"]["ci_low_seconds"] = median(records[0])
    elif fate == "few samples":
        full = records[0]["time"]["full"]
        full |= {"ci_low_seconds": None, "ci_high_seconds": None, "samples": 5}
        full["samples_seconds"] = full["samples_seconds"][:5]


def write(folder, program, factor=1.0, machine=None, fates=None, throttle=""):
    """Writes a run made of the recorded one: every median is another, results.csv is the program's."""
    document = json.loads((DATA / "basic" / "results.json").read_text(encoding="utf-8"))
    contests = {}
    for number, record in enumerate(document["records"]):
        scale(record, factor * (1 + 1e-5 * number))
        if machine:
            record["device"]["name"] = machine
        if record["key"]["algorithm"] == throttle:
            record["health"]["throttled"] = True
        contests.setdefault(place_of(record), []).append(record)
    for place, records in contests.items():
        spoil(sorted(records, key=median), (fates or {}).get(place))
    folder.mkdir()
    (folder / "results.json").write_text(json.dumps(document), encoding="utf-8")
    done = program("csv", folder)
    assert done.returncode == 0, done.stderr
    (folder / "results.csv").write_text(done.stdout, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory, run_convscope):
    """A run with every fate, a repeat of it, and a run of another machine."""
    top = tmp_path_factory.mktemp("winner")
    return [
        write(top / "first", run_convscope, fates=FATES),
        write(top / "repeat", run_convscope, factor=0.97, throttle="direct.cpu"),
        write(top / "other", run_convscope, factor=2, machine="another processor", fates=FATES),
    ]


@pytest.fixture(scope="module")
def loaded(folders):
    return results.load(folders)


@pytest.fixture(scope="module")
def options(folders, convscope):
    return argparse.Namespace(results=folders, where=[], convscope=str(convscope), virtual_time=False)


@pytest.fixture(scope="module")
def rows(loaded):
    """The ranked rows by their median, which no two share."""
    found = {row["full_median_ms"]: row for row in loaded.ranked().to_dict("records")}
    assert len(found) == len(loaded.ranked())
    return found


def winners(loaded):
    """{(machine, layer, pass): row}."""
    return {
        (row["device_name"], row["layer"], row["pass"]): row
        for row in loaded.ranked().to_dict("records")
        if row["rank"] == 1
    }


def test_every_kind_of_record_is_there(loaded):
    standings = set(loaded.records["standing"])
    assert {"good", "throttled", "disturbed", "repeat", "wrong", "wrong_repeat", "refused"} <= standings
    assert loaded.ranked()["in_doubt"].map(bool).any()
    assert len(set(loaded.records["device_name"])) == 2
    won = {row["standing"] for row in winners(loaded).values()}
    assert {"good", "throttled", "disturbed"} <= won
    for contest, group in loaded.ranked().groupby("contest"):
        assert sorted(group["rank"]) == list(range(1, len(group) + 1)), contest
        assert group.sort_values("rank")["full_median_ms"].is_monotonic_increasing, contest


def test_nobody_is_shown_to_be_slower_than_a_winner_without_an_interval(tmp_path, run_convscope, convscope):
    place = ["--where", "layer=conv1", "--where", "pass=forward", "--convscope", convscope]
    doubts, said = {}, {}
    for fate in ("few samples", "none"):
        folder = write(tmp_path / fate, run_convscope, fates={("conv1", "forward"): fate})
        loaded = results.load([folder], convscope=str(convscope))
        ranked = loaded.where(**{"layer": ["conv1"], "pass": ["forward"]}).ranked()
        doubts[fate] = [bool(doubt) for doubt in ranked.sort_values("rank")["in_doubt"]]
        said[fate] = report("table", "layers", folder, *place).out
    assert False in doubts["none"][1:]
    assert doubts["few samples"] == [False] + [True] * (len(doubts["none"]) - 1)
    marks = (said["few samples"].count("~"), said["none"].count("~"))
    assert marks[0] > marks[1] and "or one has none" in said["few samples"]


def test_a_single_run_is_ranked_in_its_own_file_as_on_reading(folders):
    own = results.load(folders[:1]).records
    lines = (folders[0] / "results.csv").read_text(encoding="utf-8")
    table = results.frame_of(io.StringIO(lines), folders[0])
    for name in results.RANKING:
        assert [results.as_text(v) for v in table[name]] == [results.as_text(v) for v in own[name]], name


def test_a_run_writes_the_ranking(small_results, run_convscope):
    written = (small_results / "results.csv").read_text(encoding="utf-8")
    assert written == run_convscope("csv", small_results).stdout
    records = json.loads((small_results / "results.json").read_text(encoding="utf-8"))["records"]
    assert sum(record["ranking"]["rank"] == 1 for record in records) == 12
    standings = {record["ranking"]["standing"] for record in records}
    # On a busy machine none need be good.
    assert "refused" in standings and standings <= {"good", "refused", "disturbed", "throttled"}


def test_the_sums_of_a_kept_run_leave_out_what_a_suspect_record_wins(tmp_path, run_convscope):
    suspect = {place: fate for place, fate in FATES.items() if "throttled" in fate or fate == "disturbed"}
    quiet = kept.headline(results.load([write(tmp_path / "quiet", run_convscope)]))
    busy = kept.headline(results.load([write(tmp_path / "busy", run_convscope, fates=suspect)]))
    layers, left = (int(line["behind"].split(" of ")[1]) for line in (quiet, busy))
    assert left == layers - len(suspect)
    assert float(busy["ours_ms"]) < float(quiet["ours_ms"])


def test_select_takes_the_winners_for_its_oracles(loaded, folders, run_convscope):
    answer = json.loads(run_convscope("select", *folders, "--json").stdout)
    oracles = {
        (network["device_name"], oracle["layer"], oracle["pass"]): oracle["oracle"]
        for network in answer["networks"]
        for oracle in network["oracles"]
    }
    won = winners(loaded)
    assert oracles.keys() == won.keys()
    for place, oracle in oracles.items():
        assert oracle["algorithm"] == won[place]["algorithm"], place
        assert 1e3 * oracle["median_seconds"] == pytest.approx(won[place]["full_median_ms"])
        assert oracle["suspect"] == (won[place]["standing"] in SUSPECT_STANDINGS)


def row_of(rows, value):
    """The ranked row whose median this is, or None."""
    near = min(rows, key=lambda median: abs(median - value))
    return rows[near] if abs(near - value) <= 1e-9 * near else None


# What `best` means there is not the winner: the fastest machine, the knee, the same implementation twice.
OTHER_BEST = {"gpus", "workspace", "selection"}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_marks_the_winners_and_what_is_suspect(name, loaded, options, rows):
    try:
        tables = TABLES[name](loaded, options)
    except results.ReportError as fault:  # one batch, thread count and layout, no epilogue, no steps
        assert name in ("batch", "threads", "layout", "fusion", "step-scaling"), fault
        return
    seen = 0
    for table in tables:
        for cell in (value for row in table.rows for value in row if isinstance(value, Cell)):
            row = row_of(rows, cell.value) if isinstance(cell.value, float) else None
            if row is None:
                continue
            seen += 1
            assert cell.suspect == (row["standing"] in SUSPECT_STANDINGS), (name, row["algorithm"])
            if name not in OTHER_BEST and (cell.best or cell.tied):
                assert (row["rank"] == 1) == cell.best
                assert cell.tied == bool(row["in_doubt"])
    if name in ("layers", "accuracy", "gpus", "workspace", "selection"):
        assert seen > 0
    if name in ("layers", "accuracy"):
        best = [
            cell for table in tables for row in table.rows for cell in row if getattr(cell, "best", False)
        ]
        assert len(best) == len(winners(loaded))
    if name == "gpus":
        times = [table for table in tables if table.title.endswith("machines")]
        shown = {
            (row[1].partition(",")[0], row[0], table.title.split(": ")[1].partition(",")[0]): row[2]
            for table in times
            for row in table.rows
        }
        assert shown == {place: row["algorithm"] for place, row in winners(loaded).items()}
    if name == "selection":
        shown = {row[6].value: row[5] for table in tables[::2] for row in table.rows if row[6]}
        assert all(row_of(rows, value)["algorithm"] == oracle for value, oracle in shown.items())
        assert all(row_of(rows, value)["rank"] == 1 for value in shown)


def stars(figure):
    return sum(line.get_marker() == "*" for axis in figure.drawing.axes for line in axis.lines)


def texts(figure):
    return [text for axis in figure.drawing.axes for text in axis.texts]


@pytest.mark.parametrize("name", all_figures.NAMES)
def test_a_figure_marks_the_winners_and_what_is_suspect(name, loaded, options):
    figures = all_figures.figures(name, loaded)
    ranked = loaded.ranked()
    suspects = int(ranked["standing"].isin(SUSPECT_STANDINGS).sum())
    won = winners(loaded)
    marks = [text for figure in figures for text in texts(figure) if text.get_text() in ("t", "d")]
    if name in ("layers", "accuracy", "workspace"):
        assert len(marks) == suspects > 0
    if name == "layers":
        assert sum(map(stars, figures)) == len(won)
    if name == "speedup":
        cells = [
            text
            for figure in figures
            for text in texts(figure)
            if re.match(r"[\d.]+[td?]?$", text.get_text())
        ]
        assert sum(text.get_fontweight() == "bold" for text in cells) == len(won)
        assert sum(text.get_text()[-1] in "td" for text in cells) == suspects
        doubtful = ranked["baseline_suspect"] & ~ranked["standing"].isin(SUSPECT_STANDINGS)
        assert sum(text.get_text()[-1] == "?" for text in cells) == doubtful.sum() > 0
        assert sorted(float(text.get_text().rstrip("td?")) for text in cells) == pytest.approx(
            sorted(round(value, 2) for value in ranked["speed_up"]), abs=0.011
        )
    if name == "workspace":
        drawn = planes.front(ranked.assign(mib=ranked["workspace_bytes"].astype(float) / 2**20))
        assert sorted(ms for _, ms in drawn) == sorted(
            ranked[ranked["on_front"].astype(bool)]["full_median_ms"]
        )
    if name not in ("opcounts", "scaling"):
        captions = [text.get_text() for figure in figures for text in figure.drawing.texts]
        assert any(SUSPECT in text for text in captions)
    pyplot.close("all")


def test_the_network_sum_is_that_of_the_winners(loaded):
    here = loaded.ranked()
    here = here[(here["pass"] == "forward") & (here["device_name"] == "another processor")]
    total = speedups.network_sums(here, "threads", counts_of(here))[2, None]
    best = here[here["rank"] == 1]
    assert total.value == pytest.approx((best["full_median_ms"] * best["count"]).sum())


def test_the_report_has_the_ranks_and_names_the_winners(loaded):
    columns = {column["name"]: column for column in page.packed(loaded.records)["columns"]}
    for name in ("rank", "in_doubt", "standing", "on_front"):
        column = columns[name]
        values = column.get("values") or [column["distinct"][place] for place in column["places"]]
        assert values == [page.shortened(value) for value in loaded.records[name]]
    said = [
        line for section in summary.sections(loaded) for one in section["passes"] for line in one["layers"]
    ]
    won = sorted(f"{row['layer']}: {row['algorithm']}" for row in winners(loaded).values())
    assert sorted(re.match(r"(\S+: \S+) (?:wins|leads)", line)[1] for line in said) == won


def test_the_scripts_of_the_report_compare_no_medians(root):
    for file in (root / "scripts" / "convscope_report" / "html").glob("*.js"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(
            r"full_median_ms\s*[-<>]=?\s*\w+\.full_median_ms|reduce\(.*\? \w+ : \w+|row\.throttled", text
        ), file.name


def test_compare_refuses_what_has_no_rank_and_names_what_is_suspect(folders):
    done = report("compare", folders[0], folders[0], "--format", "csv")
    assert done.code == 0, done.err
    rows = results.load(folders[:1]).records.to_dict("records")
    for row in rows:
        line = next(
            (
                one
                for one in done.out.splitlines()
                if f",{row['layer']},{row['pass']},2,{row['algorithm']}," in one
            ),
            None,
        )
        if line is None:
            assert row["full_median_ms"] is None
        elif row["rank"] is None:
            assert ",REFUSED," in line
        else:
            for standing in SUSPECT_STANDINGS:
                assert (f"A was {standing}" in line) == (row["standing"] == standing)


def of_alexnet(folder):
    """The document of a run, said to be of AlexNet and cuDNN, which is what gpu-check's table is of."""
    document = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    for record in document["records"]:
        record["key"]["network"] = "alexnet"
        if record["algorithm"]["provider"] == "onednn":
            record["algorithm"]["provider"] = "cudnn"
    return document


def leave_journal(folder, document):
    """Write what a killed run leaves."""
    plan = {name: document[name] for name in ("argv", "config", "environment")}
    lines = [{"kind": "run", "schema": document["schema_version"], **plan}]
    lines += [{"kind": "record", "record": record} for record in document["records"]]
    (folder / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("left", ["results", "journal"])
@pytest.mark.parametrize("which", [0, 2])
def test_the_summary_of_gpu_check_has_the_best_of_both_sides(
    left, which, folders, run_convscope, convscope, tmp_path
):
    source, whole, run = tmp_path / "source", tmp_path / "whole", tmp_path / "run"
    source.mkdir()
    (source / "results.json").write_text(json.dumps(of_alexnet(folders[which])), encoding="utf-8")
    assert run_convscope("merge", source, "--out", whole).returncode == 0
    if left == "results":
        run = whole
    else:
        run.mkdir()
        leave_journal(run, of_alexnet(folders[which]))
    shown = gpu_check_records.ranked_records(run, convscope)
    table = {tuple(line.split()[:2]): line.split()[2:] for line in gpu_check_summary.alexnet_table(shown)[1:]}
    ranked = results.load([whole], convscope=convscope).ranked()
    assert table.keys() == {(row["layer"], row["pass"]) for row in ranked.to_dict("records")}
    suspect = 0
    for (layer, direction), cells in table.items():
        here = ranked[(ranked["layer"] == layer) & (ranked["pass"] == direction)]
        wanted = []
        for provider in ("convscope", "cudnn"):
            side = here[here["provider"] == provider]
            first = side.loc[side["rank"].astype(int).idxmin()]
            mark = {"throttled": "t", "disturbed": "d"}.get(first["standing"], "")
            suspect += bool(mark)
            wanted += [f"{first['full_median_ms']:.4f}{mark}", first["algorithm"].replace(".cuda", "")]
        assert cells[:4] == wanted, (layer, direction)
    assert suspect > 0


def test_what_the_program_does_not_rank_is_in_no_table_of_gpu_checks_summary(folders, tmp_path):
    leave_journal(tmp_path, of_alexnet(folders[0]))
    shown = gpu_check_records.ranked_records(tmp_path, tmp_path / "no program")
    assert any(record.seconds for record in shown)
    assert gpu_check_summary.best(shown, "convscope") is None
    [line] = gpu_check_summary.unranked({"alexnet-forward": shown})
    assert line.endswith("in no table: alexnet-forward")


def test_a_filter_hides_and_changes_no_rank(loaded):
    part = loaded.where(provider=["convscope"])
    assert len(part.records) < len(loaded.records)
    assert list(part.records["rank"]) == list(loaded.records.loc[part.records.index, "rank"])
