"""cuDNN, cuBLAS, cuFFT and NVML as the program uses them, on stand-ins for them and for the CUDA runtime."""

import json
import re
import subprocess
import time

import pytest
from standin_support import of, standin_fixture  # noqa: F401  (a fixture)

# Of the engines that there are not, one is enough.
LIBRARY_ROWS = (
    "cudnn.[a-df-z]*,cudnn.engine.?.cuda,cudnn.engine.127.cuda,im2col_gemm.cublas.cuda,fft.full.cuda"
)
# What a row may say instead of a result.
SENSIBLE = re.compile(
    r"CUDNN_STATUS_NOT_SUPPORTED|cuDNN notes [A-Z_]+: |cuDNN's graph of this problem has 9 engines, 0 to 8"
    r"|cuDNN has no algorithm|(computes|is computed) in fp32 only|the FFT (of whole images )?needs"
    r"|a depthwise convolution has no sum|filter 1x1: a correlation with one tap"
)
CHOOSERS = ["get", "find", "find_transposed", "heur_a", "heur_b", "heur_fallback", "autotune"]
RIGHT_IN_FP32 = [
    *[f"cudnn.{row}.cuda" for row in CHOOSERS],
    *[f"cudnn.{row}.cuda" for row in ("implicit_gemm", "implicit_precomp_gemm", "gemm", "fft", "fft_tiling")],
    *[f"cudnn.{row}.cuda" for row in ("winograd", "winograd_nonfused", "algo_0", "algo_1", "algo_3")],
    *[f"cudnn.engine.{engine}.cuda" for engine in (0, 1, 3, 4)],
    "im2col_gemm.cublas.cuda",
    "fft.full.cuda",
]
RIGHT_IN_16_BITS = [
    *[f"cudnn.{row}.cuda" for row in CHOOSERS],
    *[
        f"cudnn.{row}.cuda"
        for row in ("implicit_gemm", "implicit_precomp_gemm", "algo_0", "algo_1", "algo_3")
    ],
    *[f"cudnn.engine.{engine}.cuda" for engine in (0, 1, 2, 4, 5)],
]


@pytest.mark.parametrize(
    ("math", "right"),
    [
        ("fp32", RIGHT_IN_FP32),
        ("tf32", [row for row in RIGHT_IN_FP32 if row.startswith("cudnn.")] + ["cudnn.engine.2.cuda"]),
        ("bf16", RIGHT_IN_16_BITS),
        ("fp16", RIGHT_IN_16_BITS),
    ],
)
def test_every_row_of_the_libraries_is_right_or_says_why_not(standin, root, math, right):
    config = root / "configs" / "smoke.json" if math in ("fp32", "bf16") else standin.config
    records = standin.rows("verify", "--algorithm", LIBRARY_ROWS, "--math", math,
                           "--layout", "nchw,nhwc", "--isolate", "off", config=config)  # fmt: skip
    assert {record["outcome"] for record in records} == {"verified_only", "unsupported"}
    for record in records:
        if record["outcome"] == "unsupported":
            assert SENSIBLE.search(record["note"]), record["key"]["algorithm"] + ": " + record["note"]
    good = {record["key"]["algorithm"] for record in records if record["outcome"] == "verified_only"}
    assert set(right) - good == set()


def test_the_graph_api_fuses_a_bias_with_and_without_a_relu(standin):
    records = standin.rows(
        "verify", "--algorithm", "cudnn.heur_*,cudnn.autotune.cuda,cudnn.engine.0.cuda,cudnn.get*",
        "--pass", "forward", "--math", "fp32,tf32,fp16", "--layout", "nchw,nhwc",
        "--epilogue", "relu,bias,bias+relu",
    )  # fmt: skip
    assert {record["key"]["algorithm"] for record in records} >= {
        "cudnn.get.separate.cuda",
        "cudnn.heur_a.cuda",
    }
    for record in records:
        line, algorithm = record["key"]["problem"], record["key"]["algorithm"]
        if ".separate" in algorithm:
            continue
        if algorithm == "cudnn.get.cuda":
            assert record["note"].endswith("this algorithm stores its sums as they are")
        elif " fp16 " in line:
            assert "cuDNN fuses a bias of the tensors' type" in record["note"]
        elif "epilogue=relu" in line and algorithm != "cudnn.engine.0.cuda":
            assert record["outcome"] == "unsupported", "heuristics know no engine for it"
        else:
            assert record["outcome"] == "verified_only", (line, algorithm, record["note"])


def test_choosers_are_measured_and_select_says_what_their_choices_cost(standin):
    process, out = standin.run("run", "--algorithm", "cudnn.[a-df-z]*,cudnn.engine.[01].cuda", "--knobs", "3")
    assert process.returncode == 0, process.stdout + process.stderr
    records = json.loads((out / "results.json").read_text())["records"]
    for row in CHOOSERS:
        outcomes = {record["outcome"] for record in of(records, f"cudnn.{row}.cuda")}
        assert outcomes == {"measured"}, row
    tuned = of(records, "cudnn.engine.1.cuda")[0]
    assert [offer["name"] for offer in tuned["answer"]["offers"]] == [
        "engine 1",
        "engine 1 k2=0 k3=0",
        "engine 1 k2=0 k3=1",
        "engine 1 k2=1 k3=0",
    ]
    select = subprocess.run(
        [standin.program, "select", out, "--json"], capture_output=True, text=True, check=False
    )
    assert select.returncode == 0, select.stderr
    assert "cudnn.get.cuda" in select.stdout


def test_nothing_that_loads_or_waits_is_left_to_the_time_in_which_work_is_held_back(standin):
    rows = "cudnn.get.cuda,cudnn.heur_a.cuda,im2col_gemm.cublas.cuda,fft.full.cuda,direct.tiled.cuda"
    process, out = standin.run("run", "--algorithm", rows, config=standin.one_layer, lazy_loading=True)
    assert process.returncode == 0, process.stdout + process.stderr
    records = json.loads((out / "results.json").read_text())["records"]
    measured = [record for record in records if record["outcome"] == "measured"]
    assert {record["key"]["algorithm"] for record in measured} == set(rows.split(","))
    assert {record["time"]["full"]["not_held"] for record in measured} == {0}


def test_what_an_execution_is_given_is_described_once_and_not_for_each_run(standin):
    # Many more descriptors than a plan, its verification and the tensors' one copy take; far fewer than runs.
    count, at = 20, 50
    number = ("--min-samples", count, "--max-samples", count, "--time-limit", 30, "--cache", "hot")
    fault = {"call": "cudnnBackendFinalize", "at": at, "status": "CUDNN_STATUS_BAD_PARAM"}
    only = ("--algorithm", "cudnn.heur_a.cuda", "--pass", "forward")
    [record] = standin.rows("run", *only, *number, script={"calls": [fault]}, config=standin.one_layer)
    assert record["outcome"] == "measured", record["note"]
    assert count * record["time"]["iterations_per_sample"] > 4 * at


# Answers in the form that `run --record` writes, by hand: of all problems.
LEGACY_OFFERS = [
    {"name": "GEMM", "notes": ["FMA_MATH"], "workspace_bytes": 123, "seconds": 0.001},
    {"name": "IMPLICIT_GEMM", "notes": ["FMA_MATH"], "workspace_bytes": 0, "seconds": 0.002},
    {"name": "FFT", "notes": ["FMA_MATH"], "refusal": "FFT: CUDNN_STATUS_NOT_SUPPORTED_SHAPE"},
]
BY_HAND = [
    {
        "problem": "forward",
        "algorithm": "cudnn.get.cuda",
        "answer": {"offers": [LEGACY_OFFERS[1], LEGACY_OFFERS[0]]},
    },
    {
        "problem": "forward",
        "algorithm": "cudnn.find.cuda",
        "answer": {
            "offers": LEGACY_OFFERS,
            "chosen": 0,
            "repeats": ["GEMM", "IMPLICIT_GEMM", "GEMM", "GEMM", "IMPLICIT_GEMM"],
        },
    },
    {
        "problem": "forward",
        "algorithm": "cudnn.heur_a.cuda",
        "answer": {
            "offers": [
                {"name": "engine 34 k2=5 k14=3", "notes": ["TENSOR_CORE"], "workspace_bytes": 1048575},
                {
                    "name": "engine 12",
                    "refusal": "cudnnBackendFinalize: CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH: why",
                },
                {"name": "engine 28 k2=1", "notes": ["WINOGRAD"], "workspace_bytes": 4097, "seconds": 0.006},
                {"name": "engine 28 k2=3", "notes": ["WINOGRAD"], "workspace_bytes": 4097, "seconds": 0.002},
                {"name": "engine 0", "notes": ["NUMERICAL_NOTE_99"], "workspace_bytes": 0, "seconds": 0.012},
            ]
        },
    },
]


def choices(answers):
    """Return what was chosen in a list of recorded answers, by problem and row."""
    found = {}
    for one in answers:
        answer = one["answer"]
        chosen = None if answer["chosen"] is None else answer["offers"][answer["chosen"]]["name"]
        found[one["problem"], one["algorithm"]] = (chosen, answer["repeats"], len(answer["offers"]))
    return found


def test_a_recording_replays_to_the_same_choices(standin):
    rows = "cudnn.get.cuda,cudnn.find*,cudnn.heur_[ab].cuda,cudnn.autotune.cuda,cudnn.gemm.cuda"
    first, again = standin.folder / "first.json", standin.folder / "again.json"
    standin.rows(
        "run",
        "--algorithm",
        rows,
        "--pass",
        "forward",
        "--record",
        first,
        script={"cudnn": {"answers": BY_HAND}},
    )
    standin.rows("run", "--algorithm", rows, "--pass", "forward", "--record", again,
                 script={"cudnn": {"answers": first.name}})  # fmt: skip
    recorded = choices(json.loads(first.read_text())["answers"])
    assert choices(json.loads(again.read_text())["answers"]) == recorded
    by_row = {row: choice for (problem, row), choice in recorded.items() if "hw=7x6" in problem}
    assert by_row["cudnn.find.cuda"] == (
        "GEMM",
        ["GEMM", "IMPLICIT_GEMM", "GEMM", "GEMM", "IMPLICIT_GEMM"],
        3,
    )
    assert by_row["cudnn.get.cuda"] == ("IMPLICIT_GEMM", [], 2)
    assert by_row["cudnn.heur_a.cuda"] == ("engine 28 k2=1", [], 5)
    assert by_row["cudnn.autotune.cuda"] == ("engine 28 k2=3", [], 5)
    # What Find learnt of its workspace is so for the algorithm forced, too.
    assert by_row["cudnn.gemm.cuda"][0] == "GEMM"


def test_answers_keep_refusals_and_notes_that_this_program_does_not_know(standin):
    records = standin.rows("verify", "--algorithm", "cudnn.heur_a.cuda,cudnn.find.cuda", "--pass", "forward",
                           "--math", "tf32,fp32", script={"cudnn": {"answers": BY_HAND}})  # fmt: skip
    graph = {record["key"]["problem"].split()[1]: record for record in of(records, "cudnn.heur_a.cuda")}
    assert graph["tf32"]["implementation"] == "engine 34 k2=5 k14=3"
    assert graph["tf32"]["workspace_bytes"] == 1048575
    offers = {offer["name"]: offer for offer in graph["fp32"]["answer"]["offers"]}
    assert "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH" in offers["engine 12"]["refusal"]
    assert offers["engine 34 k2=5 k14=3"]["refusal"].startswith("cuDNN notes TENSOR_CORE")
    assert offers["engine 0"]["notes"] == ["NUMERICAL_NOTE_99"]
    found = of(records, "cudnn.find.cuda")[0]["answer"]["offers"]
    assert found[-1]["refusal"].startswith("FFT: CUDNN_STATUS_NOT_SUPPORTED_SHAPE")


def measured_alone(standin, script):
    """Measure one algorithm on one layer; return the record."""
    only = ("--algorithm", "direct.tiled.cuda", "--pass", "forward")
    [record] = standin.rows("run", *only, script=script, config=standin.one_layer)
    return record


def test_nvml_tells_what_slows_the_device_down(standin):
    readings = {
        "clock_mhz": [1980, 1980, 1200],
        "power_mw": [700000],
        "temperature_c": [91],
        "reasons": [0x44],
    }
    record = measured_alone(standin, {"nvml": readings})
    health = record["health"]
    assert (health["power_watts"], health["temperature_celsius"]) == (700, 91)
    assert health["throttle_reasons"] == "power cap, hot (hardware)"
    assert health["throttled"], "the driver holds it down, whatever its clock"


def test_a_gpu_at_its_power_cap_is_not_throttled(standin):
    health = measured_alone(standin, {"nvml": {"reasons": [0x04]}})["health"]
    assert (health["throttle_reasons"], health["throttled"]) == ("power cap", False)


def test_nvml_of_an_older_driver_is_asked_by_the_older_name(standin):
    script = {"nvml": {"reasons": [4]}, "missing": {"functions": ["nvmlDeviceGetCurrentClocksEventReasons"]}}
    record = measured_alone(standin, script)
    assert record["health"]["throttle_reasons"] == "power cap"


def test_nvml_is_asked_for_the_clock_once_a_sample_and_for_the_rest_each_50_ms(standin):
    count, before_the_first, clock_seconds = 60, 15, 0.01
    number = ("--min-samples", count, "--max-samples", count, "--time-limit", 30, "--cache", "hot")
    rising = {
        "clock_mhz": [*range(2000, 6000)],
        "clock_milliseconds": 1e3 * clock_seconds,
        "temperature_c": [*range(1, 4000)],
    }
    only = ("--algorithm", "cudnn.get.cuda", "--pass", "forward")
    begin = time.monotonic()
    [record] = standin.rows("run", *only, *number, script={"nvml": rising}, config=standin.one_layer)
    wall_seconds = time.monotonic() - begin
    measured = record["time"]
    assert measured["iterations_per_sample"] > 1, "a question a launch would be another number"
    assert measured["full"]["n"] == measured["single"]["n"] == count
    # The n-th question gets the n-th number: medians are those of the questions in the middle.
    samples = 2 * count
    assert record["health"]["clock_mhz"] == 2000 + before_the_first + (samples - 1) / 2
    # The highest temperature is the number of questions for it. However busy the machine: each for the clock
    # takes its time, so that one in five comes 50 ms after the last for the rest; and all of them took no
    # longer than the run.
    often = record["health"]["temperature_celsius"]
    assert (before_the_first + samples) * clock_seconds / 0.05 <= often <= 1 + wall_seconds / 0.05


def test_nothing_is_known_without_nvml_or_of_what_it_does_not_tell(standin):
    for script in (
        {"missing": {"libraries": ["libnvidia-ml.so.1"]}},
        {"calls": [{"call": "nvmlInit_v2", "status": 9}]},
        {"nvml": {"power_mw": [], "clock_mhz": [], "temperature_c": [], "reasons": []}},
    ):
        record = measured_alone(standin, script)
        assert record["outcome"] == "measured"
        assert (record["health"]["clock_mhz"], record["health"]["power_watts"]) == (None, None)
        assert record["health"]["throttle_reasons"] == ""
