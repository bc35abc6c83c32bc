"""`compare`: its statistics on samples of known distributions, its verdicts on runs, its exit codes."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from report_support import DATA, made_up_gpu, recorded, report

from convscope_report import program


def edited(folder, *replacements, slower=1.0):
    """Basic again, its times longer by a factor, with texts replaced in both of its files."""
    made_up_gpu(folder, device="cpu", slower=slower)
    for name in ("results.json", "results.csv"):
        text = (folder / name).read_text(encoding="utf-8")
        for old, new in replacements:
            text = text.replace(old, new)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def counts(out):
    """The verdicts and their counts, as the table's footnote has them."""
    return {
        verdict: int(count) for count, verdict in re.findall(r"(\d+) ([A-Z]{4,})", out.split(" of ")[0][-90:])
    }


def test_interval_holds_the_true_ratio_as_often_as_it_says():
    from convscope_report.compare import shift

    random = np.random.default_rng(1)
    inside = 0
    for _ in range(500):
        a, b = random.lognormal(0, 0.1, 15), 1.1 * random.lognormal(0, 0.1, 12)
        ratio, low, high = shift(a, b)
        assert low <= ratio <= high
        inside += low <= 1.1 <= high
    assert 0.975 <= inside / 500 <= 1


def test_interval_shuts_out_no_difference_where_there_is_one():
    from convscope_report.compare import shift

    random = np.random.default_rng(2)
    for _ in range(100):
        _, low, _ = shift(random.lognormal(0, 0.02, 20), 1.1 * random.lognormal(0, 0.02, 20))
        assert low > 1


@pytest.mark.parametrize(
    ("ratio", "low", "high", "verdict"),
    [
        (1.0, 0.99, 1.01, "SAME"),
        (1.04, 0.99, 1.08, "SAME"),
        (1.02, 1.01, 1.03, "SAME"),
        (1.2, 1.1, 1.3, "SLOWER"),
        (0.8, 0.7, 0.9, "FASTER"),
        (1.2, 1.01, 1.4, "UNDECIDED"),
        (1.0, 0.7, 1.4, "UNDECIDED"),
        (0.85, 0.75, 0.99, "UNDECIDED"),
    ],
)
def test_verdicts(ratio, low, high, verdict):
    from convscope_report.compare import verdict_of

    assert verdict_of(ratio, low, high, floor=0.03, matters=0.06) == verdict


def test_two_runs_of_the_same_program_are_the_same():
    done = report("compare", recorded("same_a"), recorded("same_b"))
    found = counts(done.out)
    assert sum(found.values()) >= 100
    assert found["SAME"] >= 0.99 * sum(found.values()), done.out
    assert found["REFUSED"] == 0
    assert "from --aa" in done.out


def test_the_second_series_of_aa_keeps_an_outlier_from_being_the_interval():
    from convscope_report.compare import shift
    from convscope_report.results import samples_of

    steady, burst = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05], [1.0, 1.01, 1.02, 1.03, 1.04, 1.9]

    def samples_ms(**series):
        times = {name: {"samples_seconds": [1e-3 * ms for ms in samples]} for name, samples in series.items()}
        return samples_of({"time": times})["samples_ms"]

    assert shift(steady, samples_ms(full=burst))[2] > 1.8
    assert shift(steady + steady, samples_ms(full=burst, repeat=steady))[2] < 1.1


def test_slower_rows_fail_where_asked_to(tmp_path):
    before, after = recorded("same_a"), tmp_path / "slower"
    made_up_gpu(after, device="cpu", slower=2, source=before, commit="another")
    done = report("compare", before, after)
    found = counts(done.out)
    assert done.code == 0
    rows = [
        line.split() for line in done.out.splitlines() if re.match(r"  [A-Z]{4,} +\w+ +(for|back)ward", line)
    ]
    ours = [row for row in rows if not row[4].startswith(("onednn.", "im2col_gemm."))]
    assert found["SLOWER"] == sum(row[0] == "SLOWER" for row in ours) > 0.8 * len(ours) > 30
    assert found["FASTER"] == 0
    assert report("compare", before, after, "--fail-on", "slower").code == 1
    faster = report("compare", after, before, "--fail-on", "slower")
    assert faster.code == 0
    assert counts(faster.out)["FASTER"] == found["SLOWER"]


def test_what_all_rows_of_one_program_do_is_the_machines_drift(tmp_path):
    before, after = recorded("same_a"), tmp_path / "slower"
    made_up_gpu(after, device="cpu", slower=2, source=before)
    done = report("compare", before, after, "--fail-on", "slower")
    found = counts(done.out)
    assert done.code == 0
    assert found["SAME"] == sum(found.values())
    assert float(re.search(r"Geometric mean of B / A: ([0-9.]+)x", done.out)[1]) == pytest.approx(2, rel=0.02)
    assert "2.00x" in done.out


def pairs_of(ratios, drift=None):
    """The Comparisons of one candidate in pairs with these ratios, their samples' intervals 1% wide."""
    from convscope_report.compare import Comparison

    return [Comparison({}, "SAME", 1.0, r, r, 0.99 * r, 1.01 * r, drift) for r in ratios]


NOISE = 0.01  # between two processes that run the same code, as measured on a virtual machine


def drawn(count, ratio, random):
    """The ratios of `count` pairs whose processes differ by NOISE."""
    return ratio * np.exp(random.normal(0, NOISE, count))


def test_eight_pairs_find_a_slowdown_of_three_percent_and_none_where_there_is_none():
    from convscope_report.compare import MIN_FLOOR, together

    random = np.random.default_rng(3)

    def verdicts(ratio):
        made = (
            together(pairs_of(drawn(8, ratio, random)), NOISE**2, MIN_FLOOR, matters=0.05) for _ in range(300)
        )
        return [one.verdict for one in made]

    assert verdicts(1.0).count("SAME") >= 297
    assert verdicts(1.03).count("SLOWER") >= 285
    assert verdicts(1 / 1.03).count("FASTER") >= 285


def test_pairs_that_are_far_apart_are_undecided_however_sure_each_is():
    from convscope_report.compare import MIN_FLOOR, together

    made = together(pairs_of([1.0, 1.3, 0.8]), NOISE**2, MIN_FLOOR, matters=0.05)
    assert made.verdict == "UNDECIDED"
    assert made.low < 0.8 < 1.3 < made.high


def test_the_pairs_ratio_is_that_over_their_drift():
    from convscope_report.compare import MIN_FLOOR, together

    made = together(pairs_of([1.2, 1.21, 1.19], drift=1.2), NOISE**2, MIN_FLOOR, matters=0.05)
    assert made.verdict == "SAME"
    assert made.ratio == pytest.approx(1.0, abs=1e-3)
    assert made.drift == pytest.approx(1.2)


def test_pairs_that_cannot_be_compared_are_counted():
    from convscope_report.compare import MIN_FLOOR, Comparison, together

    refused = Comparison({}, "REFUSED", 1.0, 1.0)
    two = together([*pairs_of([2.0, 2.01]), refused], NOISE**2, MIN_FLOOR, matters=0.05)
    assert (two.verdict, two.remarks) == ("SLOWER", ["2 of 3 pairs could be compared"])
    one = together([*pairs_of([2.0]), refused], NOISE**2, MIN_FLOOR, matters=0.05)
    assert (one.verdict, one.remarks) == ("UNDECIDED", ["1 of 2 pairs could be compared"])
    none = together([refused, refused], NOISE**2, MIN_FLOOR, matters=0.05)
    assert none.verdict == "REFUSED"


def test_pairs_on_the_command_line_count_as_one_comparison(tmp_path):
    slowed = tmp_path / "slowed"
    made_up_gpu(slowed, device="cpu", slower=2, source=recorded("same_b"), commit="another")
    same, slower = (recorded("same_a"), recorded("same_b")), (recorded("same_a"), slowed)

    def verdict(*runs):
        done = report(
            "compare", *runs, "--where", "layer=b", "--where", "pass=forward", "--fail-on", "slower"
        )
        row = re.search(r"([A-Z]+) +b +forward +2 +winograd.mixed.cpu .*", done.out)
        return row[1], done.code

    assert verdict(*same) == ("SAME", 0)
    assert verdict(*slower) == ("SLOWER", 1)
    assert verdict(*slower, *slower, *slower) == ("SLOWER", 1)
    assert verdict(*same, *slower) == ("UNDECIDED", 0)


def test_an_unpaired_run_is_refused():
    done = report("compare", DATA / "basic", DATA / "basic", DATA / "layouts")
    assert done.code == 2
    assert "layouts: a further A without its B" in done.err
    alone = report("compare", DATA / "basic")
    assert alone.code == 2
    assert "required: B\n" in alone.err


WITNESSES = {
    "none": ([], 1.2, "SLOWER", None),
    "too few": ([1.2, 1.2], 1.2, "SLOWER", None),
    "drifted alike": ([1.19, 1.2, 1.21], 1.2, "SAME", 1.2),
    "drifted apart": ([0.9, 1.0, 1.3], 1.2, "UNDECIDED", 1.0),
    "held still": ([0.99, 1.0, 1.01], 1.2, "SLOWER", 1.0),
    "slowed down": ([1.19, 1.2, 1.21], 1.0, "FASTER", 1.2),
}


@pytest.mark.parametrize("name", WITNESSES)
def test_a_row_is_judged_by_its_witnesses(name):
    from convscope_report.compare import Comparison, judge

    ratios, own, verdict, drift = WITNESSES[name]

    def made(ratio):
        return Comparison({}, "REFUSED", 1.0, ratio, ratio, 0.99 * ratio, 1.01 * ratio)

    row = made(own)
    judge([(row, False), *((made(ratio), True) for ratio in ratios)], floor=0.03, matters=0.06)
    assert row.verdict == verdict
    assert row.drift == (None if drift is None else pytest.approx(drift))


def test_witnesses_are_rows_whose_code_is_the_same():
    from convscope_report.compare import same_code

    ours = {"program": "0.1 a", "modified": False, "provider": "convscope", "version": ""}
    ours["algorithm"] = "direct.cpu"
    library = {**ours, "algorithm": "onednn.auto.cpu", "provider": "onednn", "version": "2.6.3"}
    caller = {**ours, "algorithm": "im2col_gemm.cpu", "provider": "openblas", "version": "0.3.21"}
    assert same_code(ours, ours)
    assert not same_code(ours, {**ours, "modified": True})
    assert not same_code(ours, {**ours, "program": "0.1 b"})
    assert same_code(library, {**library, "program": "0.1 b"})
    assert not same_code(library, {**library, "version": "3.1.0"})
    assert same_code(caller, caller)
    assert not same_code(caller, {**caller, "program": "0.1 b"}), "it unfolds by code of ours"


def test_undecided_says_what_to_do_and_can_fail(tmp_path):
    other = edited(tmp_path / "other", slower=1.001)
    wide = report("compare", DATA / "basic", other, "--fail-on", "undecided")
    assert counts(wide.out)["UNDECIDED"] > 0, "basic has six samples a row, so its intervals are wide"
    assert wide.code == 1
    assert "--time-limit 15" in wide.out


@pytest.mark.parametrize("run", ["basic", "same_a", "schema1"])
def test_a_run_is_the_same_as_itself(run):
    found = counts(report("compare", recorded(run), recorded(run), "--fail-on", "undecided").out)
    assert found["SAME"] == sum(found.values()) - found["REFUSED"] > 0


def with_environment(folder, **parts):
    made_up_gpu(folder, device="cpu", slower=1.001, source=DATA / "layouts")
    document = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    document["environment"] |= parts
    (folder / "results.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def test_floor_is_from_the_calibration_of_the_machine(tmp_path):
    resolution = [{"device": "cpu", "threads": 2, "between_runs": 0.04}]
    done = report("compare", DATA / "layouts", with_environment(tmp_path / "known", resolution=resolution))
    assert "Noise floor 9.2% (from the machine's calibration)" in done.out


@pytest.mark.parametrize(
    ("part", "value"),
    [("program", 3), ("libraries", "x")]
    + [
        ("resolution", value) for value in (3, {}, [3], [{}], [{"between_runs": "1"}], [{"between_runs": -1}])
    ],
)
def test_a_damaged_environment_is_named(part, value, tmp_path):
    folder = with_environment(tmp_path / "damaged", **{part: value})
    done = report("compare", DATA / "layouts", folder)
    assert done.code == 2
    assert f"{folder / 'results.json'}: /environment/{part} is no " in done.err


CIRCUMSTANCES = {
    "cache": ([('"cache": "cold"', '"cache": "hot"'), (",cold,", ",hot,")], "cache cold against hot"),
    "protocol": (
        [
            ('"tensor_copies"', '"protocol": 2, "tensor_copies"'),
            (",cache,", ",cache,protocol,"),
            (",cold,", ",cold,2,"),
        ],
        "protocol 1 against 2",
    ),
    "math": ([(" fp32 ", " tf32 "), (",fp32,", ",tf32,")], "math fp32 against tf32"),
    "machine": ([("Processor @ 2.50GHz", "Processor @ 3.00GHz")], "device_name Intel"),
}


@pytest.mark.parametrize("name", CIRCUMSTANCES)
def test_rows_of_other_circumstances_are_refused(name, tmp_path):
    replacements, said = CIRCUMSTANCES[name]
    done = report(
        "compare", DATA / "basic", edited(tmp_path / "other", *replacements), "--fail-on", "undecided"
    )
    found = counts(done.out)
    assert found["REFUSED"] == sum(found.values()) > 0
    assert said in done.out
    assert done.code == 1


FLAGS = {
    "version": (
        [('"version": "2.6.3', '"version": "3.1.0'), (",2.6.3", ",3.1.0")],
        "version 2.6.3 OpenMP -> 3.1.0",
    ),
    "protocol": ([('"max_samples": 6', '"max_samples": 7')], "max_samples=6"),
    "program": ([('"build_type": "Release"', '"build_type": "Debug"'), ("-O3", "-O1")], "program differs"),
}


@pytest.mark.parametrize("name", FLAGS)
def test_other_versions_and_protocols_are_compared_and_named(name, tmp_path):
    replacements, said = FLAGS[name]
    done = report("compare", DATA / "basic", edited(tmp_path / "other", *replacements))
    assert counts(done.out)["REFUSED"] == 0
    assert said in done.out


def test_wrong_rows_are_refused(tmp_path):
    made_up_gpu(tmp_path / "wrong", device="cpu", slower=1, outcome="wrong")
    done = report("compare", DATA / "basic", tmp_path / "wrong")
    assert counts(done.out)["REFUSED"] == 9
    assert "B is wrong" in done.out


def test_rows_of_one_side_only_are_counted():
    done = report("compare", DATA / "basic", DATA / "layouts")
    assert "Only in A: " in done.out
    assert "Only in B: " in done.out
    assert "assumed" not in done.out


def test_rows_without_a_time_on_both_sides_never_fail():
    only_b = ["--where", "algorithm=winograd.f2x2_3x3.cpu", "--where", "layer=b,d"]
    done = report("compare", recorded("same_a"), recorded("same_a"), "--fail-on", "undecided", *only_b)
    assert counts(done.out)["REFUSED"] == 0
    assert counts(done.out)["SAME"] == 3
    assert done.code == 0


def test_floor_is_assumed_without_aa():
    done = report("compare", DATA / "layouts", DATA / "layouts")
    assert "Noise floor 5.0% (assumed: neither run has --aa nor a calibrated machine)" in done.out


def test_what_records_differ_in_has_a_column():
    def columns(run):
        done = report("compare", DATA / run, DATA / run, "--format", "csv")
        return done.out.splitlines()[0].split(",")[2:8]

    assert columns("basic")[:5] == ["verdict", "layer", "pass", "batch", "algorithm"]
    assert columns("sweep") == ["verdict", "layer", "pass", "batch", "threads", "algorithm"]
    assert columns("caps")[4] == "workspace up to"


def test_nothing_in_common_and_bad_arguments_are_refused():
    done = report("compare", DATA / "basic", DATA / "schema1")
    assert done.code == 2
    both = f"{DATA / 'basic'} and {DATA / 'schema1'}"
    assert f"{both} have no candidate with a time in common: network " in done.err and "; layer " in done.err
    assert report("compare", DATA / "basic", DATA / "basic", "--matters", "0").code == 2
    assert report("compare", DATA / "basic", "nowhere").code == 2


def of_class(folder: Path, source: Path, machine_class: str | None) -> Path:
    """Writes the run `source` into the folder as one of a machine of this class."""
    document = json.loads((source / "results.json").read_text(encoding="utf-8"))
    for record in document["records"]:
        record["device"] |= {"machine_class": machine_class or "", "machine_unit": ""}
    folder.mkdir()
    (folder / "results.json").write_text(json.dumps(document), encoding="utf-8")
    done = subprocess.run([program.BUILT, "csv", folder], capture_output=True, text=True, check=True)
    (folder / "results.csv").write_text(done.stdout, encoding="utf-8")
    return folder


def test_two_classes_of_machine_with_one_name_are_not_compared(tmp_path):
    first = of_class(tmp_path / "first", DATA / "basic", "amd-f25m17s1-00000000")
    second = of_class(tmp_path / "second", DATA / "basic", "amd-f26m2s1-00000000")
    refused = report("compare", first, second)
    assert "machine_class amd-f25m17s1-00000000 against amd-f26m2s1-00000000" in refused.out
    assert "48 REFUSED of 48 records" in refused.out
    unknown = of_class(tmp_path / "unknown", DATA / "basic", None)
    assert "machine_class" not in report("compare", unknown, second).out


def test_a_machines_class_is_shown_behind_its_name(tmp_path):
    named = of_class(tmp_path / "named", DATA / "basic", "amd-f25m17s1-00000000")
    assert "(amd-f25m17s1-00000000)" in report("table", "layers", named).out
    both = report("table", "layers", named, of_class(tmp_path / "other", DATA / "basic", "amd-f26m2s1-1")).out
    assert "(amd-f26m2s1-1)" in both and "(amd-f25m17s1-00000000)" in both


def test_the_title_has_the_names_that_are_given(tmp_path):
    made_up_gpu(tmp_path / "again", device="cpu", slower=1.0)
    plain = report("compare", DATA / "basic", tmp_path / "again")
    named = report("compare", DATA / "basic", tmp_path / "again", "--names", "the first", "the second")
    assert (plain.code, named.code) == (0, 0), named.err
    first, _, rest = plain.out.partition("\n")
    assert first.endswith(f"A {DATA / 'basic'}, B {tmp_path / 'again'}")
    assert (
        named.out
        == first.replace(str(DATA / "basic"), "the first").replace(str(tmp_path / "again"), "the second")
        + "\n"
        + rest
    )
