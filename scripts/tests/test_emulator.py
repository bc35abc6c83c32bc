"""`convscope verify --device emulator`: every CUDA row is right on tiny layers, and is never timed."""

import csv

SMOKE = "configs/smoke.json"
LAYOUTS = "nchw,nhwc,chwn"
MATHS = "fp32,tf32,3xtf32,bf16,fp16"
REFUSED = {"unsupported", "over_workspace"}


def test_every_cuda_row_is_right_on_the_smoke_config(root, run_convscope, algorithms, tmp_path):
    run = run_convscope(
        *("verify", root / SMOKE, "--device", "emulator", "--isolate", "off", "--out", tmp_path),
        *("--layout", LAYOUTS, "--math", MATHS),
    )
    assert run.returncode == 0, run.stdout + run.stderr
    with (tmp_path / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    verified = {row["algorithm"] for row in rows if row["outcome"] == "verified_only"}
    rows_of_cuda = {entry["id"] for entry in algorithms if entry["device"] == "cuda" and entry["candidate"]}
    assert verified == rows_of_cuda
    assert {row["outcome"] for row in rows} - REFUSED == {"verified_only"}
    assert not any(row["full_median_ms"] for row in rows)
