"""`convscope-report table step-scaling`: strong and weak steps by the closed form and by the simulator."""

import csv
import io
import json
import lzma

import pytest
from report_support import report

ERROR = "model's error on steps: median 4%, largest 18% (docs/experiments/networks.md)"


def step(gpus, scaling="weak", formula=100.0, simulated=101.0, **changes):
    """A row of a modelled step, simulated where `simulated` is a number."""
    each = 64 if scaling == "weak" else 64 // gpus
    row = {
        "network": "small",
        "batch": each * gpus,
        "batch_per_gpu": each,
        "scaling": scaling,
        "gpus": gpus,
        "basis": "modelled",
        "fabric": "closed form" if simulated is None else "simgrid",
        "platform": None,
        "link_gbs": 5,
        "link_us": 7,
        "model_error_median": 0.04,
        "model_error_largest": 0.18,
        "device_name": "A processor",
        "reduce": "ring",
        "overlap": "none",
        "compress": "none",
        "step_ms": formula if simulated is None else simulated,
        "closed_form_ms": None if simulated is None else formula,
        "compute_ms": 80.0,
        "comm_alone_ms": 20.0,
        "speedup": 0.8 * gpus,
        "efficiency": 0.8,
        "suspect": False,
        "outcome": "good",
        "reason": None,
    }
    return row | changes


@pytest.fixture
def kept(tmp_path):
    """A function that keeps rows in a file, and returns its path."""

    def write(name, rows):
        file = tmp_path / f"{name}.json.xz"
        file.write_bytes(lzma.compress(json.dumps({"rows": rows}).encode()))
        return file

    return write


def lines(*arguments):
    done = report("table", "step-scaling", *arguments, "--format", "csv")
    assert (done.code, done.err) == (0, "")
    text = done.out[done.out.index("table,source") :]
    return [row for row in csv.DictReader(io.StringIO(text)) if row["source"] == "measured"]


def test_strong_and_weak_steps_of_two_runs_stand_in_one_table_with_the_difference(kept):
    strong = kept("strong", [step(gpus, "strong", 100.0 / gpus, 100.0 / gpus) for gpus in (4, 1)])
    weak = kept("weak", [step(gpus, formula=100.0, simulated=100.0 + gpus) for gpus in (4, 1)])
    found = lines(weak, strong)
    assert [(row["scaling"], row["GPUs"], row["images"]) for row in found] == [
        ("strong", "1", "64"),
        ("strong", "4", "64"),
        ("weak", "1", "64"),
        ("weak", "4", "64"),
    ]
    assert [float(row["simulated longer by"]) for row in found] == pytest.approx([0, 0, 0.01, 0.04])
    assert float(found[3]["closed form (ms)"]) == 100.0
    assert float(found[3]["simulated (ms)"]) == 104.0
    assert "-0.0%" not in report("table", "step-scaling", kept("less", [step(2, simulated=99.999)])).out
    done = report("table", "step-scaling", weak, strong)
    assert "link 5 GB/s, 7 us" in done.out and ERROR in done.out and done.out.count("Scaling: small") == 1


def test_a_step_by_closed_form_alone_has_no_simulated_time(kept):
    (row,) = lines(kept("formula", [step(2, simulated=None)]))
    assert (row["closed form (ms)"], row["simulated (ms)"], row["simulated longer by"]) == ("100.0", "", "")


def test_a_step_on_a_platform_file_has_no_closed_form_and_names_the_file(kept):
    file = kept("file", [step(2, closed_form_ms=None, link_gbs=None, link_us=None, platform="cluster.xml")])
    (row,) = lines(file)
    assert (row["closed form (ms)"], row["simulated longer by"]) == ("", "")
    assert "simulated network cluster.xml" in report("table", "step-scaling", file).out


def test_links_are_never_mixed_and_refused_steps_are_named(kept):
    refused = {"outcome": "refused", "reason": "no_rows", "step_ms": None}
    file = kept("two", [step(1), step(1, link_us=9), step(2, **refused), step(4, **refused)])
    done = report("table", "step-scaling", file)
    assert done.out.count("Scaling: small") == 2
    assert done.out.count("no_rows: weak of 64 images on 2, 4 GPUs") == 1
    assert len(lines(file, "--where", "link_us=9")) == 1


def test_refused_steps_without_any_with_a_time_are_named_with_what_they_are_of(kept):
    refused = {"outcome": "refused", "reason": "no_rows", "step_ms": None}
    lost = [step(2, threads=4, **refused), step(4, threads=2, link_us=9, **refused)]
    done = report("table", "step-scaling", kept("lost", [step(1, threads=2), *lost]))
    assert (done.code, done.out.count("Scaling: small")) == (0, 1)
    text = " ".join(done.out.split())
    assert "link 5 GB/s, 7 us, threads 2 reduce" in text
    of = "No time at all of small, modelled: compute from rows of A processor, link 5 GB/s"
    assert f"{of}, 7 us, threads 4: no_rows: weak of 64 images on 2 GPUs, reduced by ring" in text
    assert f"{of}, 9 us, threads 2: no_rows: weak of 64 images on 4 GPUs, reduced by ring" in text


def test_the_reductions_that_were_refused_are_named_where_there_are_several(kept):
    refused = {"outcome": "refused", "reason": "no_rows", "step_ms": None}
    halves = [step(3, reduce=name, **refused) for name in ("halving", "ring")]
    file = kept("several", [step(2), step(2, reduce="tree"), step(6, reduce="tree", **refused), *halves])
    text = report("table", "step-scaling", file).out
    assert "no_rows: weak of 64 images on 3 GPUs, reduced by halving, ring" in text
    assert "no_rows: weak of 64 images on 6 GPUs, reduced by tree" in text


def test_links_that_are_nearly_alike_or_differ_within_a_node_are_never_mixed(kept):
    near = kept("near", [step(1), step(1, link_gbs=5.001)])
    out = report("table", "step-scaling", near).out
    assert out.count("Scaling: small") == 2
    assert (out.count("link 5 GB/s, 7 us\n"), out.count("link 5.001 GB/s, 7 us\n")) == (1, 1)
    nodes = {"node_link_gbs": 5, "node_link_us": 7}
    file = kept("nodes", [step(1, **nodes), step(1, **nodes | {"node_link_gbs": 100})])
    done = report("table", "step-scaling", file)
    assert done.out.count("Scaling: small") == 2
    assert done.out.count("7 us, within a node 100 GB/s, 7 us") == 1
    older = kept("older", [step(1), step(2, **nodes)])
    assert report("table", "step-scaling", older).out.count("Scaling: small") == 1


def test_a_refused_step_is_named_beside_steps_with_operations(kept):
    refused = {"outcome": "refused", "reason": "no_operations", "step_ms": None, "operations_ms": None}
    file = kept("operations", [step(1, operations_ms=3.0), step(2, **refused)])
    done = report("table", "step-scaling", file)
    assert "with what stands between the convolutions" in done.out
    assert "no_operations: weak of 64 images on 2 GPUs" in done.out


def test_a_networks_name_is_the_title_whatever_is_in_it(kept):
    done = report("table", "step-scaling", kept("comma", [step(1, network="a, b")]))
    assert done.out.startswith("Scaling: a, b\n")


def test_a_column_that_no_step_has_is_named(kept):
    done = report("table", "step-scaling", kept("some", [step(1)]), "--where", "links=5")
    assert (done.code, "--where links=...: there is no such column" in done.err) == (2, True)


def test_steps_from_records_of_several_kinds_are_never_mixed(kept):
    one = {"threads": 2, "machine_class": "amd-f25m17s1-00000000", "choose": "best"}
    file = kept(
        "kinds", [step(2, **one), step(2, **one | {"threads": 1}), step(2, **one | {"choose": "fft"})]
    )
    done = report("table", "step-scaling", file)
    assert done.out.count("Scaling: small") == 3
    assert "7 us, threads 1, choose best" in done.out and "7 us, threads 2, choose fft" in done.out
    assert "amd-f25m17s1-00000000" not in done.out
    other = kept("class", [step(4, **one | {"machine_class": "amd-f26m2s1-00000000"})])
    done = report("table", "step-scaling", file, other, "--where", "threads=2", "--where", "choose=best")
    assert done.out.count("Scaling: small") == 2
    assert "7 us, machine_class amd-f26m2s1-00000000" in done.out


def test_times_of_disturbed_records_are_marked(kept):
    assert report("table", "step-scaling", kept("bad", [step(2, suspect=True)])).out.count("^") == 4


BAD = {
    "a measured step": ([step(2, basis="measured")], "has no modelled steps: `convscope step CONFIG"),
    "an older program's": ([step(2, scaling=None)], "scaling, fabric or batch_per_gpu is missing"),
    "all refused": (
        [step(2, outcome="refused", reason="no_rows")],
        "bad.json.xz: no modelled step with a time",
    ),
    "no rows": ("fast", "no rows of steps"),
    "none": ([], "bad.json.xz: it holds no steps"),
}


@pytest.mark.parametrize("name", BAD)
def test_steps_that_lack_something_are_refused_with_what_to_run(name, kept):
    rows, said = BAD[name]
    done = report("table", "step-scaling", kept("bad", rows))
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_file_that_is_nested_deeply_is_refused(tmp_path):
    (tmp_path / "steps.json").write_text("[" * 100_000)
    done = report("table", "step-scaling", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "no rows of steps" in done.err


def test_without_steps_it_says_how_to_make_some():
    done = report("table", "step-scaling")
    assert (done.code, done.out) == (2, "")
    assert "--fabric simgrid --out DIR" in done.err


def test_the_programs_own_steps_agree_to_a_thousandth(small_results, convscope, run_convscope, tmp_path):
    if not (convscope.parent / "convscope_simgrid").exists():
        pytest.skip("convscope was built without SimGrid (Debian: apt install libsimgrid-dev)")
    config = small_results.parent / "config.json"
    flags = ["--batch", "2", "--per-gpu", "--gpus", "1..1024", "--reduce", "tree,halving"]
    words = [config, "--rows", small_results, *flags, "--link", "1GB/s,5us", "--fabric", "simgrid"]
    done = run_convscope("step", *words, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "closed form" in done.stdout
    found = lines(tmp_path / "out")
    assert {int(row["GPUs"]) for row in found} == {2**power for power in range(11)}
    assert all(abs(float(row["simulated longer by"])) < 1e-3 for row in found)
    assert "model's error on steps: median " in report("table", "step-scaling", tmp_path / "out").out
