"""`convscope verify --device emulator`: every CUDA row is right on tiny layers, and is never timed."""

import csv

import pytest
from standin_support import REFUSED, ROUNDED, SMOKE

LAYOUTS = "nchw,nhwc,chwn"


@pytest.fixture(scope="module")
def rows(root, run_convscope, tmp_path_factory):
    """What verification says of all modes of math."""
    found = []
    for maths, layers in (("fp32,3xtf32", ()), ("tf32,bf16,fp16", ROUNDED)):
        out = tmp_path_factory.mktemp("verified") / "out"
        run = run_convscope(
            *("verify", root / SMOKE, "--device", "emulator", "--isolate", "off", "--out", out),
            *("--layout", LAYOUTS, "--math", maths, *layers),
        )
        assert run.returncode == 0, run.stdout + run.stderr
        with (out / "results.csv").open() as file:
            found += csv.DictReader(file)
    return found


def test_every_cuda_row_is_right_on_the_smoke_config(rows, algorithms):
    verified = {(row["algorithm"], row["math"]) for row in rows if row["outcome"] == "verified_only"}
    assert verified == {
        (entry["id"], math)
        for entry in algorithms
        if entry["device"] == "cuda" and entry["candidate"]
        for math in entry["math"]
    }
    assert {row["outcome"] for row in rows} - REFUSED == {"verified_only"}
    assert not any(row["full_median_ms"] for row in rows)
