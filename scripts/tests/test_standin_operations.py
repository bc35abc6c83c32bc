"""`convscope operations` on the CUDA device, played by the stand-in for the CUDA runtime.

With nvcc its kernels run as PTX, without it as the host's compiler made them.
"""

import csv
import json

import pytest
from standin_support import (  # noqa: F401  (some are fixtures)
    QUICK,
    play_fixture,
    program_fixture,
    standin_fixture,
    started_fixture,
)

CONFIG = {
    "name": "small",
    "batch": {"cpu": 2, "cuda": 3},
    "layers": [
        {
            "name": "first",
            "in_channels": 2,
            "input": [17, 16],
            "out_channels": 19,
            "filter": 3,
            "pad": 1,
            "after": ["bias", "relu", "lrn", "pool 3x3/2"],
        },
        {
            "name": "block",
            "in_channels": 19,
            "input": [8, 7],
            "out_channels": 19,
            "filter": 1,
            "before": "mean 3x3/1 pad 1 uncounted",
            "after": ["batch_norm", "relu"],
        },
        {
            "name": "sum",
            "in_channels": 19,
            "input": [8, 7],
            "out_channels": 19,
            "filter": 1,
            "after": ["batch_norm", "add block", "relu", "mean 3x3/1 pad 1", "mean 8x7/1"],
        },
        {
            "name": "last",
            "in_channels": 38,
            "reads": ["sum", {"reads": "block", "before": "mean 8x7/1"}],
            "input": [1, 1],
            "out_channels": 40,
            "filter": 1,
            "after": ["bias", "relu"],
        },
    ],
}
# Of each layer, of the last one's concatenation with the copy of its parts; the gradient that is added, since
# several read the block; updates and codes.
ROWS = 10 + 8 + 10 + 9 + 1 + 4 * 2
NORMS = {"batch_norm", "batch_norm+relu"}
SUMS = {"add", "add+relu"}
OPERATIONS = {"bias", "relu", "bias+relu", "lrn", "pool", "mean", "copy", "update", "1bit", *NORMS, *SUMS}
FORWARD_NORM = "cudnnBatchNormalizationForwardTraining"
BACKWARD_NORM = "cudnnBatchNormalizationBackward"
NOT_CUDNNS = {
    "copy": "a plain copy is the CUDA runtime's, as ours is",
    "update": "cuDNN has no update of parameters",
    "1bit": "cuDNN has no 1-bit codec",
}


@pytest.fixture
def operations(play, tmp_path):
    """Return a function that runs the verb; it returns exit code, output and rows, as a table has them."""

    def run(*faults, devices="cuda", more=()):
        config = tmp_path / "small.json"
        config.write_text(json.dumps(CONFIG))
        # A launch so long that one is a sample.
        settings = QUICK | {"launch_nanoseconds": 300_000, "faults": list(faults)}
        out = tmp_path / "out"
        code, said = play(
            settings, "operations", config, "--device", devices, "--time-limit", "0.001", "--out", out, *more
        )
        table = out / "operations.csv"
        rows = list(csv.DictReader(table.open())) if table.is_file() else []
        return code, said, rows

    return run


def test_all_of_ours_are_right_and_timed(operations):
    code, said, rows = operations()
    assert code == 0, said
    ours = [row for row in rows if row["provider"] == "convscope"]
    assert {row["operation"] for row in ours} == OPERATIONS
    assert len(ours) == ROWS
    for row in ours:
        assert row["outcome"] == "measured", row
        assert (row["device"], row["batch"]) == ("cuda", "3")
        assert float(row["relative_l2"]) < 2e-6, row
        assert row["disturbed"] == "0", row
        if row["operation"] == "copy":  # no launch, but a call of the runtime's
            continue
        # Batch normalisation takes three launches, a bias's gradient and a code two, everything else one.
        sums = row["operation"].startswith("bias") and row["direction"] == "backward"
        launches = 3 if row["operation"] in NORMS else 2 if sums or row["operation"] == "1bit" else 1
        assert float(row["median_ms"]) == pytest.approx(0.3 * launches, rel=0.1), row
    assert "NVIDIA H200, stand-in (virtual time)" in said


def test_devices_are_measured_one_after_the_other(operations):
    code, said, rows = operations(devices="cpu,cuda", more=("--threads", "1"))
    assert code == 0, said
    ours = [(row["device"], row["problem"]) for row in rows if row["provider"] == "convscope"]
    assert [device for device, _ in ours] == ["cpu"] * ROWS + ["cuda"] * ROWS
    assert {row["batch"] for row in rows if row["device"] == "cpu"} == {"2"}
    assert not [row for row in rows if row["provider"] == "onednn" and row["device"] == "cuda"]
    [rerun] = {row["rerun"] for row in rows if row["device"] == "cuda"}
    assert "--device cuda --batch 3 --time-limit" in rerun


def test_a_device_that_is_lost_ends_the_run_with_what_was_measured(operations):
    code, said, rows = operations({"kernel": "pool", "at": 2, "error": 700})
    assert code == 3, said
    assert "cudaErrorIllegalAddress" in said
    assert {row["operation"] for row in rows} == {"bias", "relu", "bias+relu", "lrn"}


@pytest.fixture
def beside_cudnn(standin, tmp_path):
    """Return a function that runs the verb with a scripted cuDNN; it returns the process and its rows."""
    standin.library("libcudnn.so.9")

    def run(script=None):
        config = tmp_path / "small.json"
        config.write_text(json.dumps(CONFIG))
        process, out = standin.run("operations", "--time-limit", "0.001", config=config, script=script)
        rows = csv.DictReader((out / "operations.csv").open())
        return process, [row for row in rows if row["provider"] == "cudnn"]

    return run


def test_cudnns_are_right_and_named_by_their_functions(beside_cudnn):
    process, rows = beside_cudnn()
    assert process.returncode == 0, process.stdout + process.stderr
    others = [row for row in rows if row["operation"] not in NOT_CUDNNS]
    for row in rows:
        if row not in others:
            assert (row["outcome"], row["note"]) == ("refused", NOT_CUDNNS[row["operation"]])
    assert {row["outcome"] for row in others} == {"measured"}
    assert all(float(row["relative_l2"]) < 2e-6 and int(row["samples"]) >= 6 for row in others)
    assert {(row["operation"], row["direction"]): row["implementation"] for row in others} == {
        ("bias", "forward"): "cudnnAddTensor",
        ("bias", "backward"): "cudnnConvolutionBackwardBias",
        ("relu", "forward"): "cudnnActivationForward",
        ("relu", "backward"): "cudnnActivationBackward",
        ("bias+relu", "forward"): "cudnnAddTensor, cudnnActivationForward",
        ("bias+relu", "backward"): "cudnnActivationBackward, cudnnConvolutionBackwardBias",
        ("lrn", "forward"): "cudnnLRNCrossChannelForward",
        ("lrn", "backward"): "cudnnLRNCrossChannelBackward",
        ("pool", "forward"): "cudnnPoolingForward",
        ("pool", "backward"): "cudnnPoolingBackward",
        ("mean", "forward"): "cudnnPoolingForward",
        ("mean", "backward"): "cudnnPoolingBackward",
        ("batch_norm", "forward"): FORWARD_NORM,
        ("batch_norm", "backward"): BACKWARD_NORM,
        ("batch_norm+relu", "forward"): f"{FORWARD_NORM}, cudnnActivationForward",
        ("batch_norm+relu", "backward"): f"cudnnActivationBackward, {BACKWARD_NORM}",
        ("add", ""): "cudnnAddTensor",
        ("add+relu", ""): "cudnnAddTensor, cudnnActivationForward",
    }


def test_a_missing_cudnn_is_the_reason_of_its_rows(beside_cudnn):
    process, rows = beside_cudnn({"missing": {"libraries": ["libcudnn.so.9"]}})
    assert process.returncode == 0, process.stdout + process.stderr
    assert {row["outcome"] for row in rows} == {"refused"}
    notes = [row["note"] for row in rows if row["operation"] not in NOT_CUDNNS]
    assert all("libcudnn.so.9" in note for note in notes), notes


def test_what_cudnn_refuses_or_fails_costs_its_own_rows_only(beside_cudnn):
    calls = [
        {"call": "cudnnPoolingForward", "status": "CUDNN_STATUS_NOT_SUPPORTED"},
        {"call": "cudnnSetLRNDescriptor", "status": "CUDNN_STATUS_BAD_PARAM"},
        {"call": "cudnnAddTensor", "status": "CUDNN_STATUS_EXECUTION_FAILED"},
        {"call": "cudnnBatchNormalizationForwardTraining", "status": "CUDNN_STATUS_EXECUTION_FAILED"},
    ]
    process, rows = beside_cudnn({"calls": calls})
    assert process.returncode == 1, process.stdout + process.stderr
    others = [row for row in rows if row["operation"] not in NOT_CUDNNS]
    found = {(row["operation"], row["outcome"]) for row in others if row["direction"] != "backward"}
    assert found == {
        ("bias", "wrong"),
        ("bias+relu", "wrong"),
        ("add", "wrong"),
        ("add+relu", "wrong"),
        ("batch_norm", "wrong"),
        ("batch_norm+relu", "wrong"),
        ("relu", "measured"),
        ("lrn", "refused"),
        ("pool", "refused"),
        ("mean", "refused"),
    }
    [pooling] = [row for row in rows if (row["operation"], row["direction"]) == ("pool", "forward")]
    assert "cudnnPoolingForward: CUDNN_STATUS_NOT_SUPPORTED" in pooling["note"]
