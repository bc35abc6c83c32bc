"""NVIDIA's cutlass_profiler. Source: CUTLASS, media/docs/profiler.md (Convolution Arguments)."""

from convscope_report.commands_for.problem import NotExpressible, Problem

ABOUT = (
    "cutlass_profiler, for NVIDIA GPUs. CUTLASS convolves NHWC tensors only: nchw problems are written with "
    "NHWC tensors, so transforms that such a caller needs are not in its time."
)
DIRECTIONS = {"forward": "fprop", "backward_data": "dgrad", "backward_filter": "wgrad"}
# Element type and class of instruction. fp32 is simt: tensor cores would round it to tf32.
MATH = {
    "fp32": ("f32", "simt"),
    "tf32": ("f32", "tensorop"),
    "bf16": ("bf16", "tensorop"),
    "fp16": ("f16", "tensorop"),
}


def command(problem: Problem) -> str:
    """Return the line that times this problem."""
    if problem.math not in MATH:
        raise NotExpressible(f"no math mode {problem.math}")
    if problem.layout == "chwn":
        raise NotExpressible("no layout chwn")
    kind, op_class = MATH[problem.math]
    tensors = " ".join(f"--{name}={kind}:nhwc" for name in ("Activation", "Filter", "Output"))
    return (
        f"cutlass_profiler --operation=Conv2d --conv_kind={DIRECTIONS[problem.direction]}"
        f" --n={problem.batch} --h={problem.input_h} --w={problem.input_w} --c={problem.in_channels}"
        f" --k={problem.out_channels} --r={problem.filter_h} --s={problem.filter_w}"
        f" --p={problem.output_h} --q={problem.output_w} --g={problem.groups}"
        f" --pad_h={problem.pad_h} --pad_w={problem.pad_w}"
        f" --stride_h={problem.stride_h} --stride_w={problem.stride_w}"
        f" --dilation_h={problem.dilation_h} --dilation_w={problem.dilation_w} --conv_mode=cross"
        f" {tensors} --accumulator-type=f32 --op_class={op_class}"
    )
