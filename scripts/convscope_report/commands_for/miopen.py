"""AMD's MIOpenDriver. Source: MIOpen, driver/conv_driver.hpp (AddCmdLineArgs) and driver/main.cpp."""

from convscope_report.commands_for.problem import NotExpressible, Problem

ABOUT = (
    "MIOpenDriver, for AMD GPUs: -F 1, 2, 4 are forward, backward-data, backward-filter; -V 0 checks nothing."
)
DIRECTIONS = {"forward": 1, "backward_data": 2, "backward_filter": 4}
PROGRAMS = {"fp32": "conv", "fp16": "convfp16", "bf16": "convbfp16"}


def command(problem: Problem) -> str:
    """Return the line that times this problem."""
    if problem.math not in PROGRAMS:
        raise NotExpressible(f"no math mode {problem.math}")
    if problem.layout not in ("nchw", "nhwc"):
        raise NotExpressible(f"no layout {problem.layout}")
    layout = problem.layout.upper()
    layouts = "" if layout == "NCHW" else f" -I {layout} -f {layout} -O {layout}"
    return (
        f"MIOpenDriver {PROGRAMS[problem.math]} -n {problem.batch} -c {problem.in_channels}"
        f" -H {problem.input_h} -W {problem.input_w} -k {problem.out_channels}"
        f" -y {problem.filter_h} -x {problem.filter_w} -p {problem.pad_h} -q {problem.pad_w}"
        f" -u {problem.stride_h} -v {problem.stride_w} -l {problem.dilation_h} -j {problem.dilation_w}"
        f" -g {problem.groups} -m conv{layouts} -F {DIRECTIONS[problem.direction]} -t 1 -V 0"
    )
