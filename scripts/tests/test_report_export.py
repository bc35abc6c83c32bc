"""`convscope-report export`: one command a problem, as the tools' own documentation spells them."""

import json

import pytest
from report_support import DATA

from convscope_report.cli import main
from convscope_report.results import load
from convscope_report.verbs.export import TOOLS, NotExpressible, benchdnn, cutlass, miopen, script

GROUPED = dict(
    device="cuda",
    math="fp32",
    layout="nchw",
    batch=4,
    in_channels=96,
    input_h=27,
    input_w=31,
    out_channels=256,
    output_h=14,
    output_w=31,
    filter_h=5,
    filter_w=3,
    stride_h=2,
    stride_w=1,
    pad_h=2,
    pad_w=1,
    dilation_h=1,
    dilation_w=1,
    groups=2,
    benchdnn="g2mb4ic96ih27iw31oc256oh14ow31kh5kw3sh2sw1ph2pw1",
    **{"pass": "backward_filter"},
)


def changed(**fields):
    return GROUPED | fields


def test_benchdnn():
    assert benchdnn(GROUPED) == (
        "benchdnn --conv --mode=P --engine=gpu --dir=BWD_W --dt=f32 --stag=any --wtag=any --dtag=any "
        "g2mb4ic96ih27iw31oc256oh14ow31kh5kw3sh2sw1ph2pw1"
    )
    nhwc = benchdnn(changed(layout="nhwc", math="tf32", device="cpu", **{"pass": "forward"}))
    assert "--engine=cpu --dir=FWD_D --dt=f32 --attr-fpmath=tf32 --stag=axb --wtag=any --dtag=axb" in nhwc


def test_miopen():
    assert miopen(GROUPED) == (
        "MIOpenDriver conv -n 4 -c 96 -H 27 -W 31 -k 256 -y 5 -x 3 -p 2 -q 1 -u 2 -v 1 -l 1 -j 1 -g 2 "
        "-m conv -F 4 -t 1 -V 0"
    )
    nhwc = miopen(changed(layout="nhwc", math="bf16", **{"pass": "backward_data"}))
    assert nhwc.startswith("MIOpenDriver convbfp16 ") and "-I NHWC -f NHWC -O NHWC -F 2" in nhwc


def test_cutlass():
    assert cutlass(GROUPED) == (
        "cutlass_profiler --operation=Conv2d --conv_kind=wgrad --n=4 --h=27 --w=31 --c=96 --k=256 --r=5 "
        "--s=3 --p=14 --q=31 --g=2 --pad_h=2 --pad_w=1 --stride_h=2 --stride_w=1 --dilation_h=1 "
        "--dilation_w=1 "
        "--conv_mode=cross --Activation=f32:nhwc --Filter=f32:nhwc --Output=f32:nhwc --accumulator-type=f32 "
        "--op_class=simt"
    )
    assert "f16:nhwc" in cutlass(changed(math="fp16")) and "tensorop" in cutlass(changed(math="tf32"))


@pytest.mark.parametrize(
    ("tool", "fields", "words"),
    [
        (benchdnn, {"math": "3xtf32"}, "no math mode 3xtf32"),
        (benchdnn, {"layout": "chwn"}, "layout chwn"),
        (miopen, {"math": "tf32"}, "no math mode tf32"),
        (miopen, {"layout": "chwn"}, "no layout chwn"),
        (cutlass, {"math": "3xtf32"}, "no math mode"),
        (cutlass, {"layout": "chwn"}, "no layout chwn"),
    ],
)
def test_what_a_tool_lacks_is_said(tool, fields, words):
    with pytest.raises(NotExpressible, match=words):
        tool(changed(**fields))


@pytest.mark.parametrize("tool", TOOLS)
def test_a_fused_problem_is_not_written_as_one_without_its_epilogue(tool):
    lines = script(load([DATA / "fused"]).records, tool).splitlines()
    assert sum("the epilogue bias+relu is not written here" in line for line in lines) == 3
    assert [line for line in lines if line and not line.startswith("#")] == []


def test_a_name_of_several_lines_is_no_command():
    records = load([DATA / "schema1"]).records
    lines = script(records.assign(layer="conv\necho no"), "benchdnn").splitlines()
    assert [line.split(" ")[0] for line in lines if line and not line.startswith("#")] == ["benchdnn"]


@pytest.mark.parametrize("tool", ["benchdnn", "miopen", "cutlass"])
def test_one_command_a_problem(tool, tmp_path, capsys, run_convscope):
    config = {
        "name": "two",
        "passes": ["forward", "backward_filter"],
        "math": "fp32",
        "layers": [
            {"name": "a", "in_channels": 2, "input": [5, 6], "out_channels": 4, "filter": 3, "pad": 1},
            {"name": "b", "in_channels": 4, "input": [5, 5], "out_channels": 2, "filter": 1, "stride": 2},
        ],
    }
    path = tmp_path / "two.json"
    path.write_text(json.dumps(config))
    out = tmp_path / "out"
    flags = ("--batch", "1", "--algorithm", "direct.cpu,im2col_gemm.cpu", "--isolate", "off", "--out", out)
    assert run_convscope("verify", path, *flags).returncode == 0
    assert main(["export", tool, str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "#!/bin/sh"
    commands = [line for line in lines if line and not line.startswith("#")]
    assert len(commands) == 4 and len(set(commands)) == 4
    assert sum(line.startswith("# two a: ") for line in lines) == 2
