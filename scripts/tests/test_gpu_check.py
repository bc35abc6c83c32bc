"""scripts/gpu-check in a bundle whose program and tests are stand-ins: what it runs, keeps and says."""

import os
import subprocess

import pytest

PROGRAM = """#!/bin/sh
echo "$*" >>calls
case "$*" in
  "list devices") cat devices ;;
  "info --json") exit "$(cat info_exit)" ;;
esac
"""


@pytest.fixture
def bundle(root, tmp_path):
    """A folder laid out as scripts/bundle makes it, with a GPU that does not exist."""
    folder = tmp_path / "bundle"
    (folder / "bin" / "tests").mkdir(parents=True)
    for name, text in {
        "gpu-check": (root / "scripts" / "gpu-check").read_text(),
        "bin/convscope": PROGRAM,
        "bin/tests/good_test": "#!/bin/sh\nexit 0\n",
    }.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "devices").write_text("  device  name\n  cuda    GPU that does not exist\n")
    (folder / "info_exit").write_text("0")
    return folder


def gpu_check(bundle, out):
    # Without the folders where a real nvidia-smi and compute-sanitizer may be.
    path = os.pathsep.join(["/usr/bin", "/bin"])
    return subprocess.run(
        [bundle / "gpu-check", out], capture_output=True, text=True, env={"PATH": path}, timeout=60
    )


def test_all_of_it_passes_and_leaves_a_log_each_and_a_summary(bundle, tmp_path):
    out = tmp_path / "out"
    run = gpu_check(bundle, out)
    assert run.returncode == 0, run.stdout + run.stderr
    steps = [line.split()[1] for line in run.stdout.splitlines() if line.startswith("passed")]
    assert {"info", "good_test", "verify-smoke", "verify-smoke-tf32", "verify-alexnet", "run-alexnet"} <= set(
        steps
    )
    assert "FAILED" not in run.stdout
    assert all((out / f"{step}.log").is_file() for step in steps)
    assert [line for line in (out / "summary.txt").read_text().splitlines() if line.startswith("passed")]
    calls = (bundle / "calls").read_text().splitlines()
    assert any(call.startswith("verify") and "chwn" in call for call in calls)
    assert any("--record" in call for call in calls)


def test_a_step_that_fails_is_named_and_the_others_go_on(bundle, tmp_path):
    (bundle / "bin" / "tests" / "good_test").write_text("#!/bin/sh\nexit 3\n")
    (bundle / "info_exit").write_text("1")
    run = gpu_check(bundle, tmp_path / "out")
    assert run.returncode == 1
    assert [line.split()[1] for line in run.stdout.splitlines() if line.startswith("FAILED")] == [
        "info",
        "good_test",
    ]
    assert "exit code 3, see good_test.log" in run.stdout
    assert "run-alexnet" in run.stdout


def test_without_a_gpu_nothing_is_run_or_written(bundle, tmp_path):
    (bundle / "devices").write_text("  device  name\n  cpu     a CPU\nno CUDA device: no driver\n")
    run = gpu_check(bundle, tmp_path / "out")
    assert run.returncode == 2
    assert "no driver" in run.stderr
    assert not (tmp_path / "out").exists()
    assert (bundle / "calls").read_text().splitlines() == ["list devices"]
