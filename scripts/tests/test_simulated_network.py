"""Modelled rows on a simulated network, by the program with its simulator beside it."""

import json
import shutil
import subprocess

import pytest

from convscope_report.program import ROOT

KEPT = ROOT / "results" / "amd-zen4-2-cores"
LINK = ["--link", "5GB/s,5us"]
SIMULATED = [*LINK, "--fabric", "simgrid"]
# Sixteen hosts with links of their own as LINK's, all behind one of twice the bandwidth.
CLUSTER = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="all" prefix="gpu-" suffix="" radical="0-15" speed="1Gf" bw="5GBps" lat="2.5us"
           bb_bw="10GBps" bb_lat="0us"/>
</platform>
"""


@pytest.fixture
def cluster(tmp_path):
    file = tmp_path / "cluster.xml"
    file.write_text(CLUSTER)
    return file


def run(program, *words):
    return subprocess.run(
        [program, *map(str, words)], capture_output=True, text=True, timeout=120, check=False, cwd=ROOT
    )


@pytest.fixture
def rows(convscope):
    """A function that returns the rows of a command."""
    if not (convscope.parent / "convscope_simgrid").exists():
        pytest.skip("convscope was built without SimGrid (Debian: apt install libsimgrid-dev)")

    def rows_of(*words):
        done = run(convscope, *words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return rows_of


def sums(*network, gpus="2..16"):
    return ["allreduce", "--basis", "modelled", "--gpus", gpus, "--bytes", "64MiB", *network]


def steps(*network, overlap="none,layer"):
    kept = f"{KEPT}/alexnet.json.xz,{KEPT}/alexnet-batch-1.json.xz"
    words = ["step", "alexnet", "--rows", kept, "--batch", 16, "--gpus", 16, "--reduce", "ring,tree"]
    return [*words, "--overlap", overlap, "--compress", "none,1bit", *network]


def test_every_reduction_takes_what_the_closed_form_says_and_says_that_it_was_simulated(rows):
    formula, simulated = rows(*sums(*LINK)), rows(*sums(*SIMULATED))
    assert len(formula) == len(simulated) == 4 * 5
    for by_formula, row in zip(formula, simulated, strict=True):
        assert row["median_ms"] == pytest.approx(by_formula["median_ms"], rel=1e-3)
        assert row["wire_bytes_per_gpu"] == pytest.approx(by_formula["wire_bytes_per_gpu"])
        assert (row["basis"], row["fabric"], row["platform"]) == ("modelled", "simgrid", None)
        assert row["fabric_version"].startswith("SimGrid ")
        assert by_formula["fabric"] == "closed form"
        assert row["rerun"].endswith("--link 5GB/s,5us --fabric simgrid")


def test_a_row_on_a_platform_file_names_it_and_its_shared_link_costs_time(rows, cluster):
    formula, simulated = rows(*sums(*LINK)), rows(*sums("--platform", cluster))
    hashes = {row["platform_hash"] for row in simulated}
    assert len(hashes) == 1 and None not in hashes
    for by_formula, row in zip(formula, simulated, strict=True):
        assert row["platform"] == str(cluster)
        assert row["link_gbs"] is None
        assert row["rerun"].endswith(f"--platform {cluster}")
        if row["gpus"] == 2:
            assert row["median_ms"] == pytest.approx(by_formula["median_ms"], rel=1e-3)
        elif (row["reduce"], row["gpus"]) != ("tree", 4):  # two messages at once, at most
            assert row["median_ms"] > 1.2 * by_formula["median_ms"]


def test_a_step_takes_simulated_times_with_every_overlap_and_compression(rows, cluster):
    formula, same, shared = rows(*steps(*LINK)), rows(*steps(*SIMULATED)), rows(*steps("--platform", cluster))
    assert len(formula) == len(same) == len(shared) == 6
    for by_formula, unshared, row in zip(formula, same, shared, strict=True):
        assert unshared["step_ms"] == pytest.approx(by_formula["step_ms"], rel=1e-3)
        assert row["comm_alone_ms"] > 1.5 * by_formula["comm_alone_ms"]
        assert row["compute_ms"] == by_formula["compute_ms"]
        assert row["buckets"] == by_formula["buckets"]
        assert row["step_ms"] == pytest.approx(row["compute_ms"] + row["exposed_ms"])
        assert row["platform_hash"]
    none, layer = (next(row for row in shared if row["overlap"] == overlap) for overlap in ("none", "layer"))
    assert layer["exposed_ms"] < none["exposed_ms"]


def test_more_gpus_than_hosts_are_refused_row_by_row(rows, cluster):
    for row in rows(*sums("--platform", cluster, gpus="16,32")):
        assert row["reason"] == (None if row["gpus"] == 16 else "too_few_hosts")


def test_a_bad_platform_file_is_named_with_what_is_wrong_in_it(rows, convscope, cluster, tmp_path):
    assert rows(*sums("--platform", cluster, gpus="2"))
    for text, says in [
        ("", "EOF in prolog"),
        (CLUSTER.replace("5GBps", "5GB per second"), "unknown unit"),
        (CLUSTER[:200], "Invalid XML"),
    ]:
        bad = tmp_path / "bad.xml"
        bad.write_text(text)
        for words in (sums("--platform", bad), steps("--platform", bad)):
            done = run(convscope, *words)
            assert done.returncode == 2
            assert f"--platform: {bad}: SimGrid: " in done.stderr
            assert says in done.stderr
            assert done.stderr.count("\n") == 1


def test_without_its_simulator_the_program_runs_and_refuses_the_rows(convscope, cluster, tmp_path):
    alone = tmp_path / "convscope"
    shutil.copy(convscope, alone)
    for network in (SIMULATED, ["--platform", cluster]):
        done = run(alone, *sums(*network), "--json")
        assert done.returncode == 1, done.stderr
        for row in json.loads(done.stdout):
            assert row["reason"] == "library_missing" or row["reduce"] == "halving"
            assert "libsimgrid-dev" in row["note"] or row["reduce"] == "halving"
    assert run(alone, *sums(*LINK)).returncode == 0
