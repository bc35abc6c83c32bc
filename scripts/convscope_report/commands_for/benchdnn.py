"""oneDNN's benchdnn. Source: oneDNN, tests/benchdnn/doc/driver_conv.md, knobs_dir.md, knobs_attr.md."""

from convscope_report.commands_for.problem import NotExpressible, Problem

ABOUT = (
    "benchdnn of oneDNN 3 (2.x says --cfg, not --dt). With layout `any` the library chooses its own, so "
    "its time has no reorders: compare it with kernel_median_ms of onednn records where they have one."
)
DIRECTIONS = {"forward": "FWD_D", "backward_data": "BWD_D", "backward_filter": "BWD_W"}
MATH = {
    "fp32": "--dt=f32",
    "tf32": "--dt=f32 --attr-fpmath=tf32",
    "bf16": "--dt=bf16",
    "fp16": "--dt=f16",
}
TAGS = {"nchw": "any", "nhwc": "axb"}


def command(problem: Problem) -> str:
    """Return the line that times this problem."""
    if problem.math not in MATH:
        raise NotExpressible(f"no math mode {problem.math}")
    if problem.layout not in TAGS:
        raise NotExpressible(f"layout {problem.layout} is not written here")
    tag = TAGS[problem.layout]
    engine = "cpu" if problem.device == "cpu" else "gpu"
    return (
        f"benchdnn --conv --mode=P --engine={engine} --dir={DIRECTIONS[problem.direction]}"
        f" {MATH[problem.math]} --stag={tag} --wtag=any --dtag={tag} {problem.benchdnn}"
    )
