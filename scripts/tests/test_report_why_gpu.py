"""`convscope-report table why-gpu`: what a row decides of each claim, and input that lacks something."""

import csv
import io
import json
import lzma
import shutil
from pathlib import Path

import pytest
from report_support import DATA, made_up_gpu, report, write_results

from convscope_report import operations, published
from convscope_report.program import ROOT
from convscope_report.table import Cell
from convscope_report.tables.claims import CLAIMS, Row, verdicts
from convscope_report.tables.sweeps import machine
from convscope_report.tables.why_gpu import is_disturbed, machine_of, operand_bytes, registers

MEMORY, CACHE, PEAK = 20e9, 200e9, 200e9


def row(milliseconds=1.0, size=0.0, flops=0.0, **more):
    """A row of a CPU whose tensors have `size` bytes; its ceilings are those above."""
    bound = {"memory": size / MEMORY, "compute": flops / PEAK}
    name = max(bound, key=bound.get)
    known = {
        "traffic": size,
        "copy_bytes": MEMORY,
        "bound": name,
        "reached": 1e3 * bound[name] / milliseconds,
        "flops": flops,
        "peak": PEAK,
        "operands": 4 * flops,
        "cache_bytes": CACHE,
    }
    return Row("conv", "here", "direct", Cell(milliseconds), size, **(known | more))


CASES = {
    "memory binds and a cache could feed it": (row(size=15e6, flops=1e6), "confirms refutes refutes"),
    "arithmetic binds, from registers": (row(size=1e6, flops=150e6), "refutes confirms refutes"),
    "neither is reached to a half": (row(size=5e6, flops=90e6), "undecided confirms undecided"),
    "slow, and a cache could feed it": (row(size=5e6, flops=10e6), "undecided undecided undecided"),
    "slow, and memory is idle": (row(size=1e6, flops=40e6), "refutes undecided undecided"),
    "slow, and its buffers are not idle": (
        row(size=1e6, flops=40e6, traffic=5e6),
        "undecided undecided undecided",
    ),
    "two threads a core": (row(size=15e6, one_thread_a_core=False), "confirms refutes undecided"),
    "memory binds on a GPU": (row(size=15e6, is_gpu=True), "confirms refutes confirms"),
    "a slow row of a GPU": (row(size=5e6, flops=10e6, is_gpu=True), "undecided undecided undecided"),
    "element-wise at the speed of memory": (
        row(size=15e6, operands=None, element_wise=True),
        "confirms refutes refutes",
    ),
    "a library that does not say what it executes": (
        row(size=15e6, flops=0.0, bound=None, reached=None, operands=None),
        "undecided undecided undecided",
    ),
    "no bandwidth of a cache": (row(size=1e6, flops=150e6, cache_bytes=None), "refutes undecided refutes"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_row_decides_by_its_own_numbers(name):
    made, said = CASES[name]
    assert verdicts(made) == said.split()


def test_every_claim_has_words_and_a_source():
    known = published.rows_of("gpu_claims")
    assert tuple(claim["claim"] for claim in known) == CLAIMS
    assert all(claim["says"] and claim["source"] for claim in known)


def test_every_published_gpu_has_a_source_and_the_sizes_that_it_names():
    for gpu in published.rows_of("gpu_memory"):
        assert "NVIDIA" in gpu["source"]
        assert float(gpu["memory_gbs"]) > 0
        assert bool(gpu["lanes"]) == bool(gpu["processors"])


def test_registers_are_those_of_the_instruction_set():
    known = {"AVX3_DL": 2048, "AVX2": 512, "NEON_BF16": 512, "SSE4": 256, "sm_90": None, None: None}
    assert {name: registers(name) for name in known} == known
    # 100 multiply-adds read three numbers of four bytes each.
    assert operand_bytes(200) == 1200


def lines(done, table):
    """The rows of the tables whose name ends so."""
    rows = csv.reader(io.StringIO(done.out))
    return [line for line in rows if line and line[0].endswith(table) and line[1] == "measured"]


def why_gpu(*paths, code=0):
    done = report("table", "why-gpu", *paths, "--format", "csv")
    assert done.code == code, done.err
    return done


def test_a_gpu_with_records_is_not_called_unmeasured(tmp_path):
    made_up_gpu(tmp_path / "gpu")
    for name in ("results.json", "results.csv"):
        file = tmp_path / "gpu" / name
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("made-up GPU", "NVIDIA H200 (made up)"), encoding="utf-8")
    done = why_gpu(DATA / "basic", tmp_path / "gpu")
    unmeasured = [line[2] for line in lines(done, "Claims") if line[3] == "not measured"]
    assert "H200 SXM" not in unmeasured
    assert "H100 SXM5" in unmeasured


def test_a_layer_that_a_machine_lacks_has_a_line_that_says_so(tmp_path):
    made_up_gpu(tmp_path / "gpu", outcome="wrong", of="hw=10x10")
    rows = lines(why_gpu(DATA / "basic", tmp_path / "gpu"), ": convolutions")
    assert ["conv2 forward", "made-up GPU", "not measured"] in [line[2:5] for line in rows]
    assert sum(line[4] == "not measured" for line in rows) == 3


def test_without_activations_and_with_one_machine_the_table_says_what_to_run():
    done = report("table", "why-gpu", DATA / "basic")
    assert done.code == 0
    assert "`convscope operations NETWORK --out DIR`" in done.out
    assert "One machine: name the results of others" in done.out
    both = report("table", "why-gpu", DATA / "fused", DATA / "basic", DATA / "operations")
    assert "One machine" not in both.out
    assert "convscope operations NETWORK" not in both.out


def test_a_separate_form_gives_an_activation_and_decides_where_it_is_shown_to_be_longer():
    run = ROOT / "results" / "intel-f6m167-2-cores" / "alexnet-1-thread-bias-relu.json.xz"
    rows = {line[2]: line[4:] for line in lines(why_gpu(run), ": activations")}
    assert rows["conv5 bias+relu forward"][0] == "winograd.mixed.separate.cpu less fused"
    assert rows["conv5 bias+relu forward"][-3:] == ["confirms", "refutes", "refutes"]
    assert rows["conv2 bias+relu forward"][-3:] == ["undecided"] * 3  # 2% longer, and the intervals overlap
    assert "conv3 bias+relu forward" not in rows  # its separate form is the faster one


def test_operations_of_a_gpu_are_rows_of_the_machine_of_its_runs():
    kept = ROOT / "results" / "nvidia-h100-80gb-hbm3"
    done = why_gpu(kept / "alexnet-forward.json.xz", kept / "operations" / "operations-alexnet.json.xz")
    [machine] = {line[2] for line in lines(done, "Machines")}
    rows = {line[2]: line for line in lines(done, ": activations")}
    assert rows["conv1 bias+relu forward"][3] == machine
    assert rows["conv1 bias+relu forward"][-3:] == ["confirms", "refutes", "confirms"]


def test_an_operation_is_suspect_where_over_a_quarter_of_its_samples_were_disturbed():
    assert is_disturbed({"samples": 100, "disturbed": 30})
    assert not is_disturbed({"samples": 100, "disturbed": 25})
    assert not is_disturbed({"samples": 100, "disturbed": None})


def test_operations_of_a_second_gpu_are_not_the_firsts():
    facts = {"device_name": "A GPU", "machine_class": "a-gpu-00000000", "threads": 1}
    assert machine_of({"device": "cuda", **facts}) == "A GPU (a-gpu-00000000)"
    assert machine_of({"device": "cuda:1", **facts}) == "A GPU (a-gpu-00000000, cuda:1)"
    assert machine_of({"device": "cuda:1", **facts}) == machine(
        {"device": "cuda", "device_index": 1, **facts}
    )
    assert machine_of({"device_name": "A CPU", "threads": 2}) == "A CPU, 2 threads"


def test_each_row_of_operations_has_the_caches_of_its_own_gpu(tmp_path):
    document = json.loads((DATA / "operations" / "operations.json").read_text(encoding="utf-8"))
    document["environment"] |= {
        "gpu": {"index": 0, "l2_bytes": 50},
        "other_gpus": [{"index": 1, "l2_bytes": 40}],
    }
    for row, device in zip(document["rows"], ("cuda", "cuda:1", "cuda:2"), strict=False):
        row["device"] = device
    file = tmp_path / "operations.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    first, second, unknown, other = (row["hardware"] for row in operations.read(file)[:4])
    assert (first["l2_bytes"], second["l2_bytes"], unknown) == (50, 40, {})
    assert other == document["environment"]["device"]


def test_only_operations_are_no_results():
    done = report("table", "why-gpu", DATA / "operations")
    assert done.code == 2
    assert (
        f"{DATA / 'operations' / 'operations.json'}: holds operations only; name a run beside it" in done.err
    )


def test_kept_operations_and_those_of_a_machine_without_runs_are_read(tmp_path):
    document = json.loads((DATA / "operations" / "operations.json").read_text(encoding="utf-8"))
    measured = [row for row in document["rows"] if row["outcome"] == "measured"]
    best = measured[0]["copy_gbs"]
    measured[-1]["copy_gbs"] = best / 2
    text = json.dumps(document).replace("Intel(R) Xeon(R) Processor", "another")
    kept = tmp_path / "operations.json.xz"
    kept.write_bytes(lzma.compress(text.encode()))
    done = why_gpu(DATA / "basic", kept)
    machines = {line[2]: line for line in lines(done, "Machines")}
    alone = next(line for name, line in machines.items() if name.startswith("another"))
    assert float(alone[3]) == pytest.approx(best) and alone[5] == ""
    assert {line[4] for line in lines(done, ": activations")} == {"convscope"}


def test_operations_of_a_stand_in_for_a_gpu_are_refused(tmp_path):
    text = (DATA / "operations" / "operations.json").read_text(encoding="utf-8")
    text = text.replace("Intel(R) Xeon(R) Processor", "a stand-in (virtual time)")
    (tmp_path / "operations.json").write_text(text, encoding="utf-8")
    words = ["table", "why-gpu", DATA / "basic", tmp_path]
    done = report(*words)
    assert (done.code, done.out) == (2, "")
    assert "operations.json: the device's time is virtual" in done.err
    assert report("--virtual-time", *words).code == 0


def test_the_filter_of_passes_takes_directions():
    rows = lines(why_gpu(DATA / "basic", DATA / "operations"), ": activations")
    assert any("backward" in line[2] for line in rows)
    done = report("table", "why-gpu", DATA / "basic", DATA / "operations", "--where", "pass=forward",
                  "--format", "csv")  # fmt: skip
    names = [line[2] for line in lines(done, ": activations")]
    assert names and not any("backward" in name for name in names)


def changed_run(folder: Path, change) -> Path:
    """Return a copy of the basic run after `change(record, line of the CSV)` of each record."""
    shutil.copytree(DATA / "basic", folder)
    document = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for record, line in zip(document["records"], rows, strict=True):
        change(record, line)
    write_results(folder, document, rows)
    return folder


def test_a_share_of_a_suspect_ceiling_is_marked(tmp_path):
    def too_fast(record, line):
        if line["percent_of_ceiling"]:
            line |= {"percent_of_ceiling": "150", "suspect_ceiling": "true"}
        else:
            line["suspect_ceiling"] = ""

    why = "behind a share: its ceiling is suspect, measured too low"
    marked = report("table", "why-gpu", changed_run(tmp_path / "run", too_fast), "--format", "markdown")
    assert (marked.code, marked.err) == (0, "")
    assert "^150.0%" in marked.out and why in marked.out
    forward = report("table", "why-gpu", DATA / "basic", "--where", "pass=forward", "--format", "markdown")
    assert (forward.code, why in forward.out) == (0, False)
    # An older folder, whose results.csv has no such column.
    assert why in report("table", "why-gpu", DATA / "basic", "--format", "markdown").out


def test_hardware_that_nobody_knows_has_no_registers(tmp_path):
    def other_hardware(record, line):
        record["device"] |= {"name": "RISC", "instructions": "RVV", "cores": 0, "l1_bytes": 0}
        line |= {"device_name": "RISC", "instructions": "RVV"}

    done = why_gpu(changed_run(tmp_path / "run", other_hardware))
    (machine,) = lines(done, "Machines")
    assert machine[2].startswith("RISC")
    assert machine[7] == machine[9] == ""  # registers, L1
    threads = [line for line in lines(done, "Claims") if line[5] == "threads"]
    assert all(line[6:8] == ["0", "0"] for line in threads)


def test_records_with_hot_caches_decide_nothing(tmp_path):
    def hot(record, line):
        record["key"]["cache"] = line["cache"] = "hot"

    done = report("table", "why-gpu", changed_run(tmp_path / "run", hot))
    assert (done.code, done.out) == (2, "")
    assert "with cold caches" in done.err


BAD = {
    "not JSON": ("{", "no rows of operations"),
    "nested": ("[" * 100_000, "no rows of operations"),
    "no rows": ('{"rows": [], "environment": {"device": {}}}', "no rows of operations"),
    "of another program": ('{"records": []}', "no rows of operations"),
    "a row that is none": ('{"rows": [7], "environment": {"device": {}}}', "row 0 is no object"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_damaged_file_is_named(name, tmp_path):
    text, said = BAD[name]
    (tmp_path / "operations.json").write_text(text, encoding="utf-8")
    done = report("table", "why-gpu", DATA / "basic", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert said in done.err and "operations.json" in done.err


@pytest.mark.parametrize(
    ("column", "value"), [("median_ms", None), ("bytes", 0), ("layer", 3), ("copy_gbs", True)]
)
def test_a_row_with_a_wrong_value_is_named(column, value, tmp_path):
    document = json.loads((DATA / "operations" / "operations.json").read_text(encoding="utf-8"))
    document["rows"][1][column] = value
    (tmp_path / "operations.json").write_text(json.dumps(document), encoding="utf-8")
    done = report("table", "why-gpu", DATA / "basic", tmp_path)
    assert done.code == 2
    assert f"row 1: {column} is {value!r}" in done.err
