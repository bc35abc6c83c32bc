"""The verb `export`: command lines of other benchmarks for the problems of a result.

Sources: oneDNN, tests/benchdnn/doc/driver_conv.md, knobs_dir.md and knobs_attr.md; MIOpen,
driver/conv_driver.hpp (AddCmdLineArgs) and driver/main.cpp; CUTLASS, media/docs/profiler.md (Convolution
Arguments).
"""

from collections.abc import Callable
from dataclasses import dataclass

from convscope_report.results import dictionaries
from convscope_report.verbs import Verb, add_out, add_results, load, write_or_print


class NotExpressible(Exception):
    """The tool has no such convolution; the text is the reason."""


@dataclass(frozen=True)
class Tool:
    """Another benchmark: what is to be known of it, and its line for a record; raises NotExpressible."""

    about: str
    command: Callable[[dict], str]


def of_math(modes: dict, record: dict):
    """Return what a tool calls the record's math mode."""
    if record["math"] not in modes:
        raise NotExpressible(f"no math mode {record['math']}")
    return modes[record["math"]]


def benchdnn(record: dict) -> str:
    """Return oneDNN's line."""
    directions = {"forward": "FWD_D", "backward_data": "BWD_D", "backward_filter": "BWD_W"}
    modes = {"fp32": "f32", "tf32": "f32 --attr-fpmath=tf32", "bf16": "bf16", "fp16": "f16"}
    tags = {"nchw": "any", "nhwc": "axb"}
    math = of_math(modes, record)
    if record["layout"] not in tags:
        raise NotExpressible(f"layout {record['layout']} is not written here")
    tag = tags[record["layout"]]
    engine = "cpu" if record["device"] == "cpu" else "gpu"
    return (
        f"benchdnn --conv --mode=P --engine={engine} --dir={directions[record['pass']]}"
        f" --dt={math} --stag={tag} --wtag=any --dtag={tag} {record['benchdnn']}"
    )


def miopen(record: dict) -> str:
    """Return AMD's line."""
    directions = {"forward": 1, "backward_data": 2, "backward_filter": 4}
    program = of_math({"fp32": "conv", "fp16": "convfp16", "bf16": "convbfp16"}, record)
    if record["layout"] not in ("nchw", "nhwc"):
        raise NotExpressible(f"no layout {record['layout']}")
    layouts = " -I NHWC -f NHWC -O NHWC" if record["layout"] == "nhwc" else ""
    sizes = (
        "-n {batch} -c {in_channels} -H {input_h} -W {input_w} -k {out_channels} -y {filter_h} -x {filter_w}"
        " -p {pad_h} -q {pad_w} -u {stride_h} -v {stride_w} -l {dilation_h} -j {dilation_w} -g {groups}"
    ).format_map(record)
    return f"MIOpenDriver {program} {sizes} -m conv{layouts} -F {directions[record['pass']]} -t 1 -V 0"


def cutlass(record: dict) -> str:
    """Return NVIDIA's line."""
    directions = {"forward": "fprop", "backward_data": "dgrad", "backward_filter": "wgrad"}
    kind = of_math({"fp32": "f32", "tf32": "f32", "bf16": "bf16", "fp16": "f16"}, record)
    # fp32 is simt: tensor cores would round it to tf32.
    op_class = "simt" if record["math"] == "fp32" else "tensorop"
    if record["layout"] == "chwn":
        raise NotExpressible("no layout chwn")
    sizes = (
        "--n={batch} --h={input_h} --w={input_w} --c={in_channels} --k={out_channels} --r={filter_h}"
        " --s={filter_w} --p={output_h} --q={output_w} --g={groups} --pad_h={pad_h} --pad_w={pad_w}"
        " --stride_h={stride_h} --stride_w={stride_w} --dilation_h={dilation_h} --dilation_w={dilation_w}"
    ).format_map(record)
    tensors = " ".join(f"--{name}={kind}:nhwc" for name in ("Activation", "Filter", "Output"))
    return (
        f"cutlass_profiler --operation=Conv2d --conv_kind={directions[record['pass']]} {sizes}"
        f" --conv_mode=cross {tensors} --accumulator-type=f32 --op_class={op_class}"
    )


TOOLS = {
    "benchdnn": Tool(
        "benchdnn of oneDNN 3 (2.x says --cfg, not --dt). With layout `any` the library chooses its own, so "
        "its time has no reorders: compare it with kernel_median_ms of onednn records where they have one.",
        benchdnn,
    ),
    "miopen": Tool(
        "MIOpenDriver, for AMD GPUs: -F 1, 2, 4 are forward, backward-data, backward-filter; -V 0 checks "
        "nothing.",
        miopen,
    ),
    "cutlass": Tool(
        "cutlass_profiler, for NVIDIA GPUs. CUTLASS convolves NHWC tensors only: nchw problems are written "
        "with NHWC tensors, so transforms that such a caller needs are not in its time.",
        cutlass,
    ),
}


def arguments(parser) -> None:
    """TOOL, RESULTS... and -o."""
    parser.add_argument("tool", choices=TOOLS, metavar="TOOL", help="One of: " + ", ".join(TOOLS) + ".")
    add_results(parser)
    add_out(parser)


def run(options) -> int:
    """Write the script."""
    write_or_print(script(load(options).records, options.tool), options.out)
    return 0


def script(records, tool: str) -> str:
    """One command a problem in the records' order; for what the tool lacks, a comment with the reason."""
    lines = ["#!/bin/sh", f"# {TOOLS[tool].about}"]
    for record in dictionaries(records.drop_duplicates(["problem", "device"])):
        what = f"{record['network'] or 'single problem'} {record['layer'] or ''}: {record['problem']}"
        lines += ["", f"# {' '.join(what.split())}"]  # a name of several lines would be commands
        try:
            if record["epilogue"] != "none":
                raise NotExpressible(f"the epilogue {record['epilogue']} is not written here")
            lines.append(TOOLS[tool].command(record))
        except NotExpressible as reason:
            lines.append(f"# not possible with {tool}: {reason}")
    return "\n".join(lines) + "\n"


EXPORT = Verb(
    "Print the command lines of another benchmark for the same problems, as a shell script.",
    """\
  convscope-report export benchdnn out/alexnet -o alexnet_benchdnn.sh
  convscope-report export miopen out/alexnet --where pass=forward""",
    arguments,
    run,
)
