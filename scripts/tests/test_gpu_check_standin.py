"""gpu-check with the program itself and stand-ins for the CUDA runtime and NVIDIA's libraries: the whole
rehearsal.

Kernels run as PTX in virtual time, but for those that only keep a GPU busy, which do nothing.
"""

import json
import re
import shutil
import tarfile

import pytest
from gpu_check_support import Bundle, rows_of, summary_of
from standin_support import QUICK

from gpu_check import archive, cli, plan, state, summary

LAYERS = [{"name": "conv3", "in_channels": 8, "input": [7, 7], "out_channels": 8, "filter": 3, "pad": 1}]


def settle_standin(bundle, convscope, folder):
    """Make a bundle's program the stand-in's, with tiny configs; returns the environment that it runs in."""
    program, libraries = convscope.with_name("convscope_standin"), convscope.parent / "standin_libraries"
    if not program.is_file() or not libraries.is_dir():
        pytest.skip(f"{program} or {libraries} is not built")
    shutil.copy(program, bundle.program)
    for name in ("alexnet", "vgg_16", "resnet_50", "smoke"):
        samples = {"min_samples": 2, "max_samples": 2}
        config = {"name": name, "batch": {"cuda": 2}, "measuring": samples, "layers": LAYERS}
        (bundle.folder / "configs" / f"{name}.json").write_text(json.dumps(config))
    settings = folder / "standin.json"
    said = QUICK | {"lazy_loading": False, "launch_nanoseconds": 60_000_000}
    settings.write_text(json.dumps(said))
    return {"LD_LIBRARY_PATH": str(libraries), "CONVSCOPE_STANDIN": str(settings)}


@pytest.fixture
def node(root, convscope, tmp_path):
    """A bundle whose program is the stand-in's, and the environment that it runs in."""
    bundle = Bundle(root, tmp_path / "bundle")
    return bundle, settle_standin(bundle, convscope, tmp_path)


def test_all_stages_of_the_real_program_end_with_rows_an_archive_and_a_summary(node, tmp_path):
    bundle, environment = node
    # fft32's kernels would take half of the time; the stages of verification have it.
    bundle.setup = (
        f"from gpu_check import plan; plan.OURS = '{plan.OURS.replace('fft*', 'fft16*,fft.full*')}'; "
        "plan.STEP_SECONDS = '0.1'"
    )
    first = bundle.check(tmp_path / "check", "--minutes", "0.3", environment=environment, timeout=120)
    assert first.returncode in (cli.TIME_IS_UP, cli.BAD), first.stdout + first.stderr
    run = bundle.check("--resume", tmp_path / "check", environment=environment, timeout=600)
    assert run.returncode in (cli.GOOD, cli.BAD), run.stdout + run.stderr
    lines = summary_of(run)
    assert len(lines) <= summary.LINES
    assert any(line.startswith("DONE; ") for line in lines)
    assert re.search(r"cuDNN 9\.\d+", lines[0])
    done = state.load(tmp_path / "check")
    ends = {name: progress.status for name, progress in done.stages.items()}
    assert set(ends.values()) <= {"passed", "failed", "left out"}, ends
    rows = rows_of(tmp_path / "check")
    assert {row.direction for row in rows["alexnet-backward-data"]} == {"backward_data"}
    for name in ("alexnet-forward", "alexnet-nhwc-bf16", "vgg-16"):
        providers = {row.provider for row in rows[name]}
        assert {"convscope", "cudnn"} <= providers, name
    assert any(row.seconds and row.provider == "convscope" for row in rows["alexnet-forward"])
    assert any(row.algorithm == "cudnn.autotune.cuda" for row in rows["alexnet-find"])
    assert any(row.algorithm.startswith("cudnn.engine.") for row in rows["alexnet-engines"])
    assert done.stages["operations"].status == "passed"
    assert done.stages["step"].status == "passed"
    assert "answers" in json.loads((tmp_path / "check" / "cudnn-answers.json").read_text())
    kept = tmp_path / "check.tar.xz"
    assert kept.stat().st_size <= archive.LIMIT_BYTES
    with tarfile.open(kept) as tar:
        assert {f"check/runs/{name}/results.json" for name in rows} <= set(tar.getnames())
