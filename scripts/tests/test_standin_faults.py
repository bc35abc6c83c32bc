"""What the user gets when a CUDA library is missing, of a wrong version, fails, hangs or loses the device."""

import pytest
from standin_support import of, standin_fixture  # noqa: F401  (a fixture)

GET, HEURISTIC, FIND = "cudnn.get.cuda", "cudnn.heur_a.cuda", "cudnn.find.cuda"
BLAS, FFT = "im2col_gemm.cublas.cuda", "fft.full.cuda"


def verified(standin, rows, script):
    """Verify these rows on the tiny config's first layer; return a dictionary of its records."""
    records = standin.rows("verify", "--algorithm", ",".join(rows), "--pass", "forward", script=script)
    first = [record for record in records if record["key"]["layer"] == "3x3"]
    return {record["key"]["algorithm"]: record for record in first}


@pytest.mark.parametrize(
    ("library", "rows"),
    [
        (["libcudnn.so.9"], [GET, HEURISTIC]),
        (["libcublas.so.13", "libcublas.so.12"], [BLAS, FFT]),
        (["libcufft.so.12", "libcufft.so.11"], [FFT]),
    ],
)
def test_a_missing_library_is_named_with_where_it_was_looked_for(standin, library, rows):
    records = verified(standin, [GET, HEURISTIC, BLAS, FFT], {"missing": {"libraries": library}})
    for row, record in records.items():
        if row in rows:
            assert (record["outcome"], record["reason"]) == ("unsupported", "library_missing")
            # The loader that plays it hides no files: where the toolkit is installed, they are found.
            assert record["note"].startswith(f"{' or '.join(library)} was ")
            assert "not found where" in record["note"] or "cannot be loaded: /" in record["note"]
        else:
            assert record["outcome"] == "verified_only"


@pytest.mark.parametrize(
    ("function", "row", "words"),
    [
        ("cudnnBackendExecute", GET, "cuDNN 9.1.2 was found; cuDNN 9 is needed"),
        ("cublasCgemmStridedBatched", BLAS, "cuBLAS 12.3.4 was found"),
        ("cufftSetWorkArea", FFT, "cuFFT 11.5.6 was found"),
    ],
)
def test_a_library_that_lacks_a_function_is_told_with_its_version_and_the_one_needed(
    standin, function, row, words
):
    script = {
        "missing": {"functions": [function]},
        "cudnn": {"version": 90102},
        "cublas": {"version": [12, 3, 4]},
        "cufft": {"version": [11, 5, 6]},
    }
    record = verified(standin, [row], script)[row]
    assert (record["outcome"], record["reason"]) == ("unsupported", "library_missing")
    assert words in record["note"]
    assert f"no function {function}" in record["note"]
    assert "needed" in record["note"]


@pytest.mark.parametrize(("version", "text"), [(8907, "8.9.7"), (100100, "10.1.0")])
def test_a_cudnn_of_another_major_version_is_not_used(standin, version, text):
    record = verified(standin, [GET], {"cudnn": {"version": version}})[GET]
    assert (record["outcome"], record["reason"]) == ("unsupported", "library_missing")
    assert f"cuDNN {text} was found; cuDNN 9 is needed" in record["note"]


def test_an_error_of_a_call_is_told_in_the_librarys_words_and_costs_its_row_only(standin):
    script = {
        "calls": [
            {
                "call": "cudnnConvolutionForward",
                "status": "CUDNN_STATUS_EXECUTION_FAILED",
                "words": "the sun",
            },
            {"call": "cublasSgemmStridedBatched", "status": 7},
            {"call": "cufftMakePlanMany64", "at": 2, "status": 8},
        ]
    }
    records = verified(standin, [GET, HEURISTIC, BLAS, FFT], script)
    words = {
        GET: "cudnnConvolutionForward: CUDNN_STATUS_EXECUTION_FAILED: the sun",
        BLAS: "cublasGemmStridedBatched: an invalid value was passed",
        FFT: "cufftMakePlanMany64: CUFFT_INVALID_SIZE",
    }
    for row, told in words.items():
        assert records[row]["outcome"] == "failed"
        assert told in records[row]["note"]
    assert records[HEURISTIC]["outcome"] == "verified_only"


def test_what_the_installation_lacks_for_an_engine_is_refused_and_not_failed(standin):
    status = "CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING"
    records = verified(
        standin, [GET, HEURISTIC], {"calls": [{"call": "cudnnBackendFinalize", "status": status}]}
    )
    assert records[GET]["outcome"] == "verified_only"
    assert (records[HEURISTIC]["outcome"], records[HEURISTIC]["reason"]) == ("unsupported", "library_missing")
    assert status in records[HEURISTIC]["note"]


def test_the_nth_call_may_fail_alone(standin):
    script = {"calls": [{"call": "cudnnBackendFinalize", "at": 3, "status": "CUDNN_STATUS_BAD_PARAM"}]}
    records = verified(standin, [HEURISTIC, "cudnn.heur_b.cuda"], script)
    assert sorted(record["outcome"] for record in records.values()) == ["failed", "verified_only"]


@pytest.mark.parametrize(
    ("call", "status", "row"),
    [
        ("cudnnCreate", "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", GET),
        ("cublasCreate_v2", 3, BLAS),
        ("cufftMakePlanMany64", 2, FFT),
    ],
)
def test_a_library_without_memory_is_no_failure_of_the_row(standin, call, status, row):
    record = verified(standin, [row], {"calls": [{"call": call, "status": status}]})[row]
    assert (record["outcome"], record["reason"]) == ("out_of_memory", "out_of_memory")


@pytest.mark.parametrize(
    ("call", "status", "row"),
    [
        ("cudnnConvolutionForward", "CUDNN_STATUS_EXECUTION_FAILED", GET),
        ("cudnnBackendExecute", "CUDNN_STATUS_INTERNAL_ERROR", HEURISTIC),
        ("cublasSgemmStridedBatched", 13, BLAS),
        ("cufftExecR2C", 6, FFT),
    ],
)
def test_a_call_that_loses_the_device_costs_its_own_row_and_no_other(standin, call, status, row):
    fault = {"call": call, "status": status, "loses_the_device": 700}
    records = verified(standin, [GET, HEURISTIC, BLAS, FFT], {"calls": [fault]})
    assert {name for name, record in records.items() if record["outcome"] == "crashed"} == {row}
    assert {record["outcome"] for name, record in records.items() if name != row} == {"verified_only"}
    # It names the call as well as the runtime's error.
    assert call.replace("cublasSgemm", "cublasGemm") in records[row]["note"]


def test_a_library_call_that_never_returns_costs_its_row_the_limit_and_no_other(standin):
    script = {"calls": [{"call": "cudnnFindConvolutionForwardAlgorithm", "at": 1, "hangs": True}]}
    only = ["--algorithm", f"{GET},{FIND}", "--pass", "forward", "--stage-limit", "8"]
    records = standin.rows("run", *only, script=script, config=standin.one_layer)
    [hung] = of(records, FIND)
    assert hung["outcome"] == "timeout"
    assert hung["note"] == "no end of plan within 8.0 s"
    assert of(records, GET)[0]["outcome"] == "measured"
