"""The wide tiles of the Hopper kernels as nvcc compiled them, from verification to a table.

The smoke config's problems are so small that 128x64 is the best tile of them all. A wider one wins where it
saves the 132 multiprocessors a round (algorithms/implicit_gemm/cuda/boxed_product.cpp, boxed_gradient.cpp):
with 67 groups, say, that take one wide tile each and several narrow ones.
"""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from standin_support import (  # noqa: F401  (some are fixtures)
    QUICK,
    play_fixture,
    program_fixture,
    rows_of,
    started_fixture,
)

HOPPER = "implicit_gemm.hopper.cuda"
GROUPS = 67
# 168 pixels, and residues of 144 and 156.
STRIDED = {"input": [24, 25], "stride": 2, "pad": [0, 1]}
LAYERS = [
    # 132 pixels, 97 columns: 67 tiles of 256x128, 134 of 128x128 and of 256x96, 268 of 128x64.
    {"name": "forward", "input": [12, 12], "filter": [1, 2], "in_channels": 8, "out_channels": 97},
    # 121 pixels: 67 tiles of 128x128, 134 of 128x64.
    {"name": "fewer", "input": [11, 12], "filter": [1, 2], "in_channels": 8, "out_channels": 97},
    # 65 columns fit in 96.
    {"name": "data", "input": [12, 11], "filter": 1, "in_channels": 65, "out_channels": 8},
    {"name": "fewer_data", "input": [11, 11], "filter": 1, "in_channels": 65, "out_channels": 8},
    # Two tiles of 128x128 and 128x96, one of 128x192.
    {"name": "many", "input": [11, 12], "filter": [1, 2], "in_channels": 8, "out_channels": 131},
    STRIDED | {"name": "strided", "filter": [2, 1], "in_channels": 8, "out_channels": 80},
    STRIDED | {"name": "strided_data", "filter": 2, "in_channels": 80, "out_channels": 8},
    # 9 taps of 8 groups.
    {"name": "filter", "input": [6, 6], "filter": 3, "in_channels": 65, "out_channels": 129, "groups": 8},
    # As many tiles in runs of pixels.
    {"name": "runs", "input": [130, 132], "filter": 1, "in_channels": 8, "out_channels": 97, "groups": 1},
    {
        "name": "fewer_runs",
        "input": [120, 129],
        "filter": [1, 2],
        "in_channels": 8,
        "out_channels": 97,
        "groups": 1,
    },
    {
        "name": "runs_of_96",
        "input": [130, 132],
        "filter": 1,
        "in_channels": 8,
        "out_channels": 96,
        "groups": 1,
    },
    {
        "name": "runs_of_70",
        "input": [67, 129],
        "filter": 1,
        "in_channels": 8,
        "out_channels": 70,
        "groups": 1,
    },
    {
        "name": "runs_of_192",
        "input": [67, 129],
        "filter": 1,
        "in_channels": 8,
        "out_channels": 192,
        "groups": 1,
    },
    # 121 pixels are two runs of 64, and three boxes.
    {"name": "data_runs", "input": [11, 11], "filter": 1, "in_channels": 128, "out_channels": 8},
    {
        "name": "filter_runs",
        "input": [13, 13],
        "filter": 3,
        "in_channels": 128,
        "out_channels": 129,
        "groups": 8,
    },
]
# Groups that share a line of 128 bytes take boxes of pixels, others runs.
WIDE = [
    ("forward", "forward", "256x128", "boxes", "bf16"),
    ("fewer", "forward", "128x128", "boxes", "bf16"),
    ("data", "backward_data", "256x96", "boxes", "bf16"),
    ("fewer_data", "backward_data", "128x96", "boxes", "bf16"),
    ("many", "forward", "128x192", "boxes", "bf16"),
    ("data", "backward_filter", "128x128", "boxes", "bf16"),
    ("filter", "backward_filter", "256x128", "boxes", "bf16"),
    ("runs", "forward", "256x128", "runs", "bf16"),
    ("fewer_runs", "forward", "128x128", "runs", "bf16"),
    ("runs_of_96", "forward", "256x96", "runs", "bf16"),
    ("runs_of_70", "forward", "128x96", "runs", "tf32"),
    ("runs_of_192", "forward", "128x192", "runs", "fp16"),
    ("data_runs", "backward_filter", "128x128", "runs", "bf16"),
    ("filter_runs", "backward_filter", "256x128", "runs", "bf16"),
    ("strided", "forward", "256x96", "boxes", "tf32"),
    ("strided_data", "backward_data", "256x96", "boxes", "fp16"),
]
SETTINGS = QUICK | {"skipped": [*QUICK["skipped"], "ceilings"], "launch_nanoseconds": 60_000_000}


def whole(layer):
    """The layer with the channels of all its groups."""
    groups = layer.get("groups", GROUPS)
    channels = {name: groups * layer[name] for name in ("in_channels", "out_channels")}
    return layer | {"groups": groups} | channels


@pytest.fixture
def config(tmp_path):
    """A config of problems for which a wide tile is the best."""
    file = tmp_path / "wide.json"
    measuring = {"min_samples": 2, "max_samples": 2}
    document = {
        "name": "wide",
        "batch": {"cuda": 1},
        "measuring": measuring,
        "layers": list(map(whole, LAYERS)),
    }
    file.write_text(json.dumps(document))
    return file


def asked(out, *more, math="bf16"):
    chosen = ("--algorithm", HOPPER, "--math", math, "--layout", "nhwc", "--stage-limit", "300")
    return ("--device", "cuda", *chosen, "--out", out, *more)


@pytest.mark.parametrize(("layer", "direction", "tile", "loads", "math"), WIDE)
def test_a_wide_tile_is_right_as_nvcc_compiled_it(
    play, config, tmp_path, layer, direction, tile, loads, math
):
    out = tmp_path / "out"
    of = ("--layer", layer, "--pass", direction)
    code, said = play(SETTINGS | {"tensor_sums": "truncated"}, "verify", config, *asked(out, *of, math=math))
    assert code == 0, said
    assert "standin: " not in said, "a race, or another warning of the interpreter"
    [row] = rows_of(out)
    assert row["outcome"] == "verified_only"
    assert f"{tile} tiles, {loads} of" in row["implementation"]


# A record is `measured` where it was right before it was timed and after.
def test_wide_tiles_are_measured_resumed_and_reported(started, play, config, convscope, root, tmp_path):
    out = tmp_path / "out"
    process = started(SETTINGS, "run", config, *asked(out, "--layer", "forward,fewer", "--pass", "forward"))
    journal = out / "journal.jsonl"
    while not (journal.is_file() and '"kind":"record"' in journal.read_text()):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (out / "results.json").exists()
    code, said = play(SETTINGS, "run", "--resume", out)
    assert code == 0, said
    assert "time is virtual" in said
    rows = {row["layer"]: row for row in rows_of(out)}
    assert {row["outcome"] for row in rows.values()} == {"measured"}
    assert "256x128 tiles" in rows["forward"]["implementation"]
    assert "128x128 tiles" in rows["fewer"]["implementation"]
    report = [sys.executable, root / "scripts" / "convscope-report", "--virtual-time"]
    table = ["table", "--convscope", convscope, "layers", out]
    shown = subprocess.run([*report, *table], capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert "implicit_gemm.hopper" in shown.stdout
