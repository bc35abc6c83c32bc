"""The stages of a check, in the order of their worth, each with its limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpu_check.place import Place

OURS = "direct*,im2col*,implicit*,fft*,winograd*"
# Every way of cuDNN that costs no profiling of its own: its algorithms forced, Get, the heuristics of the
# graph.
CUDNN = (
    "cudnn.implicit*,cudnn.gemm*,cudnn.direct*,cudnn.fft*,cudnn.winograd*,cudnn.algo_*,cudnn.get*,"
    "cudnn.heur_*"
)
CHWN = "direct.chwn.cuda"  # alone has the layout chwn
# At the configs' cap cuDNN's FFT, GEMM and Winograd, which ask for up to 1.8 GB on AlexNet, are refused, and
# what is left is not cuDNN's best. Without one either side takes what it wants, and its record says how much.
NO_CAP = ("--workspace-cap", "inf")
CAPPED = "alexnet-capped"
# Of the tests in a program that are about devices; those that take its time are about the host.
ON_DEVICES = {"verify_test": ("--gtest_filter=*Device*:SeparateEpilogues*",)}
LAYOUTS = "nchw,nhwc,chwn"
STEP_SECONDS = "60"  # of tuning and comparing


@dataclass(frozen=True)
class Stage:
    """One command.

    `turn` is the most that it may take at a time, `limit` that over all its turns. Stages of a block are
    finished, those that were cut in their first turn too, before the next block begins. `run` says that the
    command is a run of the program's, with a folder, which can be resumed; of those that measure, `cudnn`
    says whether cuDNN is in it, and `weight` how much of the time of the block's stages that measure is this
    one's. `gpus` are the fewest that it is for, `optional` a library that a machine may lack, where the rows
    say `library_missing`.
    """

    name: str
    block: int
    turn: float
    limit: float
    what: str
    command: tuple[str, ...]
    run: bool = False
    weight: float = 0.0
    cudnn: bool = False
    tool: str = ""
    gpus: int = 1
    optional: str = ""


def _once(name: str, block: int, seconds: float, what: str, *command: str, tool: str = "") -> Stage:
    return Stage(name, block, seconds, seconds, what, command, tool=tool)


def _device_test(test: Path) -> Stage:
    words = (str(test), "--gtest_brief=1", *ON_DEVICES.get(test.name, ()))
    return _once(test.name, 1, 15, "device tests", *words)


def _rows(name: str, what: str, *flags: str) -> Stage:
    words = ("{program}", name, "{configs}/alexnet.json", "--device", "cuda", *flags, "--out", "{run}")
    return _once(name, 4, 300, what, *words)


def _sums() -> Stage:
    # A thread for each GPU, without MPI.
    words = ("{program}", "allreduce", "--device", "cuda", "--gpus", "2..{gpus}", "--bytes", "4KiB..256MiB")
    words += ("--time-limit", "0.5", "--json")
    what = "sums of gradients between GPUs, by NCCL and by ours"
    return Stage("allreduce", 4, 240, 240, what, words, gpus=2, optional="NCCL")


def _verify(name: str, block: int, what: str, *flags: str) -> Stage:
    command = ("verify", "{configs}/smoke.json", "--layout", LAYOUTS, *flags, "--device", "cuda")
    cudnn = any(flag.startswith("cudnn") for flag in flags)
    return Stage(name, block, 75, 150, what, command, run=True, cudnn=cudnn)


def _alexnet(
    name: str,
    block: int,
    weight: float,
    what: str,
    *flags: str,
    algorithms: str = "",
    cap: tuple[str, ...] = NO_CAP,
) -> Stage:
    patterns = algorithms or f"{OURS},{CUDNN}"
    command = ("run", "{configs}/alexnet.json", *flags, "--algorithm", patterns, "--device", "cuda", *cap)
    cudnn = algorithms.startswith("cudnn")
    return Stage(name, block, 150, 600, what, command, run=True, weight=weight, cudnn=cudnn)


def _chwn() -> Stage:
    # Of one algorithm, which is a minute's work at the longest --time-limit.
    words = ("run", "{configs}/alexnet.json", "--layout", "chwn", "--algorithm", CHWN, "--device", "cuda")
    words += NO_CAP
    return Stage("alexnet-chwn", 2, 75, 150, f"AlexNet in CHWN, {CHWN}", words, run=True, weight=1)


def _network(name: str, config: str) -> Stage:
    command = ("run", f"{{configs}}/{config}.json", "--pass", "forward", "--algorithm", f"{OURS},{CUDNN}")
    command += ("--device", "cuda", *NO_CAP)
    return Stage(name, 5, 200, 400, f"{name} forward, ours beside cuDNN", command, True, 1)


def _sanitizer(tool: str) -> Stage:
    # Our kernels alone, each group in a process of its own, which the tool follows.
    words = ("--tool", tool, "--target-processes", "all", "--error-exitcode", "1", "{program}", "verify")
    words += ("{configs}/smoke.json", "--layout", LAYOUTS, "--algorithm", OURS, "--device", "cuda")
    words += ("--out", "{run}")
    return _once(f"sanitizer-{tool}", 6, 150, f"compute-sanitizer's {tool}", *words, tool="compute-sanitizer")


def stages_of(place: Place) -> list[Stage]:
    """Return all stages, best first."""
    forward, data, filters = (("--pass", p) for p in ("forward", "backward_data", "backward_filter"))
    nhwc = ("--layout", "nhwc", "--math")
    modes = ("--math", "tf32,3xtf32,bf16,fp16", "--algorithm")
    return [
        _once("info", 0, 60, "versions, devices and measured ceilings", "{program}", "info", "--json"),
        _once("nvidia-smi", 0, 20, "the driver's own report", "-q", tool="nvidia-smi"),
        *(_device_test(test) for test in place.tests),
        _verify("smoke", 1, "small problems verified, fp32"),
        _alexnet("alexnet-forward", 1, 110, "AlexNet forward, ours beside cuDNN", *forward),
        _alexnet("alexnet-backward-data", 1, 75, "AlexNet backward-data, ours beside cuDNN", *data),
        _alexnet("alexnet-backward-filter", 1, 90, "AlexNet backward-filter, ours beside cuDNN", *filters),
        _alexnet("alexnet-nhwc-bf16", 2, 2, "AlexNet in NHWC, bf16", *nhwc, "bf16"),
        _alexnet("alexnet-nhwc-tf32", 2, 2, "AlexNet in NHWC, tf32", *nhwc, "tf32"),
        _alexnet("alexnet-nhwc-fp16", 2, 2, "AlexNet in NHWC, fp16", *nhwc, "fp16"),
        _alexnet("alexnet-3xtf32", 2, 1, "AlexNet in 3xtf32", "--math", "3xtf32"),
        _chwn(),
        # Behind AlexNet, which verifies its rows too: processes for hundreds of groups take a minute.
        _verify("smoke-modes", 2, "small problems verified, other modes, ours", *modes, OURS),
        _alexnet(
            "alexnet-find", 3, 1, "cuDNN's Find and autotuning, answers recorded", "--record", "{answers}",
            algorithms="cudnn.find*,cudnn.autotune*,cudnn.get*,cudnn.heur_*",
        ),
        _alexnet("alexnet-aa", 4, 1, "AlexNet forward twice over: the noise floor", *forward, "--aa"),
        _rows("operations", "what stands between AlexNet's convolutions, ours beside cuDNN's"),
        _rows(
            "step", "a training step of AlexNet, its convolutions inside it and alone",
            "--algorithm", f"{OURS},{CUDNN}", "--time-limit", STEP_SECONDS, *NO_CAP,
        ),
        _sums(),
        _alexnet(CAPPED, 5, 1, "AlexNet forward at the config's workspace cap", *forward, cap=()),
        _network("vgg-16", "vgg_16"),
        _network("resnet-50", "resnet_50"),
        _verify("smoke-modes-cudnn", 5, "small problems verified, other modes, cuDNN's", *modes, CUDNN),
        _alexnet("alexnet-engines", 5, 1, "every engine of cuDNN", *forward, algorithms="cudnn.engine.*"),
        *(_sanitizer(tool) for tool in ("memcheck", "racecheck", "synccheck", "initcheck")),
    ]  # fmt: skip


@dataclass(frozen=True)
class Words:
    """What a stage's command is filled in with."""

    place: Place
    folder: Path
    batch: int = 0
    without_cudnn: bool = False
    gpus: int = 1

    def run_folder(self, stage: Stage) -> Path:
        """Return where a stage's run keeps its records."""
        return self.folder / "runs" / stage.name

    def begin(self, stage: Stage, tool: Callable[[str], str | None]) -> list[str]:
        """Return the command that begins a stage; KeyError where its tool is missing."""
        fill = {
            "{program}": str(self.place.program),
            "{configs}": str(self.place.configs),
            "{run}": str(self.run_folder(stage)),
            "{gpus}": str(self.gpus),
            "{answers}": str(self.folder / "cudnn-answers.json"),
        }
        words = [self._fill(word, fill) for word in stage.command]
        if stage.tool:
            path = tool(stage.tool)
            if path is None:
                raise KeyError(stage.tool)
            return [path, *words]
        if not stage.run:
            return words
        batch = ["--batch", str(self.batch)] if self.batch and stage.weight else []
        return [str(self.place.program), *words, *batch]

    def _fill(self, word: str, fill: dict[str, str]) -> str:
        for name, value in fill.items():
            word = word.replace(name, value)
        if self.without_cudnn and word.startswith(OURS):
            return OURS
        return word

    def resume(self, stage: Stage) -> list[str]:
        """Return the command that goes on with a stage's run."""
        return [str(self.place.program), stage.command[0], "--resume", str(self.run_folder(stage))]
