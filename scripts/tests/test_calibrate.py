"""`convscope calibrate` as a user runs it: what it keeps, what the next run knows, what a stop leaves."""

import json
import os
import shutil
import signal
import subprocess
import time

import pytest

SMALL = ("calibrate", "--batch", "1", "--threads", "1", "--seconds", "0.3")
ONE = ("run", "--case", "n=1 c=8 hw=8x8 k=8 rs=3x3", "--algorithm", "direct.cpu", "--threads", "1")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache of a user."""
    monkeypatch.setenv("CONVSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "resolution"


@pytest.fixture(scope="module")
def calibrated(convscope, tmp_path_factory):
    """What a calibration said, and the cache that it left."""
    folder = tmp_path_factory.mktemp("calibrated") / "cache"
    environment = os.environ | {"CONVSCOPE_CACHE": str(folder)}
    done = subprocess.run([convscope, *SMALL], env=environment, capture_output=True, text=True, check=False)
    return done, folder


def runs_in(folder):
    return sorted(path.parent.name for path in folder.glob("*/results.json"))


def test_what_is_calibrated_is_kept_and_known_to_the_next_run(
    run_convscope, calibrated, monkeypatch, tmp_path
):
    done, folder = calibrated
    monkeypatch.setenv("CONVSCOPE_CACHE", str(folder))
    (kept,) = folder.glob("resolution/*/cpu-1-threads*")
    if done.returncode == 1:  # other tests run beside this one
        assert f"too few to say what it resolves; what was measured is in {kept}" in done.stderr
        assert kept.name.endswith(".new") and runs_in(kept) == ["1", "2", "3"]
        return
    assert done.returncode == 0, done.stderr
    assert f"Kept in {kept}\n" in done.stdout
    assert runs_in(kept) == ["1", "2", "3"]
    again = run_convscope("calibrate", "--threads", "1", "--if-unknown")
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert "calibrating" not in again.stderr
    run = run_convscope(*ONE, "--time-limit", "0.05", "--out", tmp_path / "run")
    assert run.returncode == 0, run.stderr
    (known,) = json.loads((tmp_path / "run" / "results.json").read_text())["environment"]["resolution"]
    assert (known["device"], known["threads"]) == ("cpu", 1)
    assert f"within {100 * known['within_run']:.1f}% in one run ({known['pairs']} pairs)" in done.stdout


def set_resolution(kept, share, hours):
    """Makes every repeat so much longer, as if measured so many hours ago on a quiet machine."""
    for file in kept.glob("*/results.json"):
        document = json.loads(file.read_text())
        for record in document["records"]:
            record["health"] |= {"disturbed": False, "throttled": False}
            if (record["time"] or {}).get("repeat"):
                median = record["time"]["full"]["median_seconds"]
                record["time"]["repeat"]["median_seconds"] = (1 + share) * median
        file.write_text(json.dumps(document))
        os.utime(file, (time.time() - 3600 * hours,) * 2)


def test_a_wide_calibration_is_called_so_and_measured_anew_after_an_hour(
    run_convscope, convscope, calibrated, cache
):
    done, folder = calibrated
    assert done.returncode in (0, 1), done.stderr
    shutil.copytree(folder, cache.parent)
    (measured,) = cache.glob("*/cpu-1-threads*")
    kept = measured.rename(measured.with_suffix(""))
    for share, hours in ((0.01, 2), (0.3, 0)):
        set_resolution(kept, share, hours)
        known = run_convscope("calibrate", "--threads", "1", "--if-unknown")
        assert (known.returncode, known.stderr) == (0, "")
        assert f"agree within {100 * share:.1f}% in one run" in known.stdout
        assert ("That is wide: " in known.stdout) == (share > 0.05)
    set_resolution(kept, 0.3, 2)
    anew = subprocess.Popen([convscope, *SMALL, "--if-unknown"], stderr=subprocess.PIPE, text=True)
    assert anew.stderr.readline().startswith("convscope: calibrating ")
    anew.send_signal(signal.SIGINT)
    anew.communicate()


def test_an_interrupted_calibration_leaves_what_was_kept(convscope, cache):
    command = [str(convscope), *SMALL[:-1], "600"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list(cache.glob("*/*.new/1/journal.jsonl")):
        time.sleep(0.05)
    (unfinished,) = cache.glob("*/*.new")
    kept = unfinished.with_suffix("")
    (kept / "1").mkdir(parents=True)
    (kept / "1" / "results.json").write_text("{}")
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    assert said.startswith("convscope: calibrating ") and " with 1 thread, " in said
    assert "interrupted; what was kept of this machine before stays as it was\n" in said
    assert process.returncode == 130
    assert runs_in(kept) == ["1"]


@pytest.mark.parametrize("devices", ["emulator", "cpu,emulator"])
def test_a_device_without_times_is_refused_before_anything_is_measured(run_convscope, cache, devices):
    done = run_convscope("calibrate", "--device", devices)
    assert done.returncode == 2
    assert "--device: found emulator; allowed are devices that have times" in done.stderr
    assert not cache.exists()
