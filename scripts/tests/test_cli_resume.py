"""What is left after a hang, a lost device, a kill or a Ctrl-C, and how a run goes on from there."""

import json
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from cli_support import QUICK, config, journal, keys, records, run


def test_a_hang_costs_two_stage_limits_and_then_is_left_out(faulty: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    only = ["--algorithm", "plain.cpu,faulty.loop.verify.cpu", "--pass", "forward", "--batch", "1"]
    done = run(faulty, "verify", config(tmp_path, 4), *only, "--stage-limit", "1.5", "--out", out)
    assert done.returncode == 1, done.stderr
    rows = [row for row in records(out) if row["key"]["algorithm"] == "faulty.loop.verify.cpu"]
    assert [row["outcome"] for row in rows] == ["timeout", "timeout", "unsupported", "unsupported"]
    assert rows[0]["note"] == "no end of verify within 1.5 s"
    assert "--stage-limit 1.5" in rows[0]["rerun"]
    assert rows[2]["reason"] == "left_out_after_failures"
    assert "timeout in conv0" in rows[2]["note"] and "timeout in conv1" in rows[2]["note"]
    assert "2 of 8 candidates are wrong or failed" in done.stdout


def test_a_lost_device_ends_the_run_with_its_records_and_the_way_on(faulty: Path, tmp_path: Path) -> None:
    out, script = tmp_path / "out", tmp_path / "device"
    script.write_text("." + 100 * "!")  # the first worker gets it
    only = ["--algorithm", "plain.cpu", "--pass", "forward", "--batch", "1"]
    environment = {**os.environ, "FAULTY_DEVICE": str(script)}
    done = run(faulty, "verify", config(tmp_path, 6), *only, "--out", out, env=environment)
    assert done.returncode == 3, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("convscope: the device cpu was lost: CUDA-capable device(s) is/are busy")
    assert last.endswith(f"; go on with: convscope verify --resume {out}")
    assert [row["outcome"] for row in records(out)] == ["verified_only"]
    resumed = run(faulty, "verify", "--resume", out)
    assert resumed.returncode == 0, resumed.stderr
    assert [row["outcome"] for row in records(out)] == 6 * ["verified_only"]
    by_the_other_verb = run(faulty, "run", "--resume", out)
    assert by_the_other_verb.returncode == 0, by_the_other_verb.stderr
    assert "no correct measured record" not in by_the_other_verb.stdout, "nothing was to be measured"


def test_without_isolation_a_lost_device_ends_the_run_in_the_same_way(faulty: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    only = ["--algorithm", "plain.cpu,faulty.lost.verify.cpu", "--pass", "forward", "--batch", "1"]
    done = run(faulty, "verify", config(tmp_path, 3), *only, "--isolate", "off", "--out", out)
    assert done.returncode == 3, done.stderr
    assert "the device cpu was lost" in done.stderr and f"--resume {out}" in done.stderr
    assert "crashed" in [row["outcome"] for row in records(out)]


@pytest.mark.parametrize(("verb", "lines"), [("run", (0, 2, 9)), ("verify", (1, 3, 7))])
def test_killed_at_any_moment_a_run_is_finished_by_resume(
    faulty: Path, tmp_path: Path, verb: str, lines: tuple[int, ...]
) -> None:
    """The moment is a little after the journal has so many lines; after none of them, it is at once."""
    flags = QUICK if verb == "run" else ["--batch", "1", "--threads", "1"]
    only = [verb, config(tmp_path, 3), "--algorithm", "plain.cpu,faulty.throw.plan.cpu", *flags]
    assert run(faulty, *only, "--out", tmp_path / "whole").returncode == 1
    moments = random.Random(5)
    for written in lines:
        out = tmp_path / f"killed{written}"
        words = [str(faulty), *map(str, only), "--out", str(out)]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(journal(out)) < written:
            assert process.poll() is None
            time.sleep(0.002)
        time.sleep(moments.uniform(0, 0.1) if written else 0)
        process.kill()
        process.wait()
        finished = [entry["record"] for entry in journal(out) if entry["kind"] == "record"]
        resumed = run(faulty, verb, "--resume", out) if journal(out) else run(faulty, *words[1:])
        assert resumed.returncode == 1, resumed.stderr
        assert keys(records(out)) == keys(records(tmp_path / "whole"))
        done = [entry["record"] for entry in journal(out) if entry["kind"] == "record"]
        assert done[: len(finished)] == finished, "what was finished must stay"
        assert len(done) == len(records(out)), "nothing may be run twice"
        rows = {json.dumps(row["key"]): row for row in records(out)}
        for row in finished:  # the ranking is known only when all are there
            ranking = rows[json.dumps(row["key"])]["ranking"]
            assert rows[json.dumps(row["key"])] == {**row, "ranking": ranking}


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for_child(pid: int) -> int:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if found := children(pid):
            return found[0]
        time.sleep(0.005)
    raise AssertionError("no worker was started")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("isolate", ["on", "off"])
def test_ctrl_c_ends_at_once_with_the_files_written(faulty: Path, tmp_path: Path, isolate: str) -> None:
    out = tmp_path / "out"
    only = [
        "--algorithm",
        "faulty.throw.plan.cpu,faulty.loop.verify.cpu",
        "--pass",
        "forward",
        "--isolate",
        isolate,
    ]
    words = [str(faulty), "verify", str(config(tmp_path, 2)), *only, "--batch", "1", "--out", str(out)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not any(entry["kind"] == "record" for entry in journal(out)):
        assert process.poll() is None
        time.sleep(0.01)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - begin < 5  # a second on a quiet machine
    assert process.returncode == 130
    assert f"--resume {out}" in errors
    assert [row["outcome"] for row in records(out)] == ["failed"]


@pytest.mark.parametrize("isolate", ["on", "off"])
def test_ctrl_c_while_a_candidate_is_measured(faulty: Path, tmp_path: Path, isolate: str) -> None:
    """What a thread that was let go still reports must not end the process before its files are written."""
    out = tmp_path / "out"
    words = [str(faulty), "run", str(config(tmp_path, 1)), "--algorithm", "plain.cpu", "--pass", "forward"]
    words += ["--batch", "1", "--threads", "1", "--cache", "hot", "--isolate", isolate, "--out", str(out)]
    words += ["--time-limit", "60", "--min-samples", "1000000", "--max-samples", "1000000"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not any(entry["kind"] == "ceilings" for entry in journal(out)):
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.5)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=30)
    assert time.monotonic() - begin < 5  # a second on a quiet machine
    assert process.returncode == 130, errors
    assert f"--resume {out}" in errors
    assert "0 right, 0 wrong or failed, 0 refused\n" in said, "no reason beside the interruption"
    assert records(out) == []


def test_one_folder_has_one_writer(faulty: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    only = ["--algorithm", "faulty.loop.verify.cpu", "--pass", "forward", "--out", str(out)]
    process = subprocess.Popen(
        [str(faulty), "verify", str(config(tmp_path, 1)), *only], stdout=subprocess.DEVNULL
    )
    wait_for_child(process.pid)
    for arguments in (["--resume", out], [config(tmp_path, 1), *only]):
        second = run(faulty, "verify", *arguments)
        assert second.returncode == 2
        assert "is being written by another process" in second.stderr
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130


@pytest.fixture
def finished(faulty: Path, tmp_path: Path) -> Path:
    """The folder of a run of one layer, all of which is done."""
    out = tmp_path / "out"
    assert (
        run(faulty, "verify", config(tmp_path, 1), "--algorithm", "plain.cpu", "--out", out).returncode == 0
    )
    return out


def rewrite(out: Path, part: str, name: str, value: str) -> None:
    """Makes a journal say that a part of its environment was another, and that its end is missing."""
    first, *others = (out / "journal.jsonl").read_text().splitlines()
    begun = json.loads(first)
    begun["environment"][part][name] = value
    (out / "journal.jsonl").write_text("\n".join([json.dumps(begun), *others[:-1]]) + "\n")


def test_resume_on_another_machine_is_refused(faulty: Path, finished: Path) -> None:
    rewrite(finished, "device", "name", "Antikythera mechanism")
    resumed = run(faulty, "run", "--resume", finished)
    assert resumed.returncode == 2
    assert "Antikythera mechanism" in resumed.stderr and "another device" in resumed.stderr


def test_resume_of_a_run_by_another_protocol_is_refused(faulty: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    only = ["--algorithm", "plain.cpu", "--pass", "forward"]
    assert run(faulty, "run", config(tmp_path, 2), *only, *QUICK, "--out", out).returncode == 0
    written = (out / "journal.jsonl").read_text()
    older = re.sub(r'"protocol": ?2', '"protocol": 1', written)
    assert older != written
    (out / "journal.jsonl").write_text("\n".join(older.splitlines()[:-1]) + "\n")
    resumed = run(faulty, "run", "--resume", out)
    assert resumed.returncode == 2
    assert "begun by version 1 of the measuring protocol" in resumed.stderr


def test_a_worker_dies_with_its_parent(faulty: Path, tmp_path: Path) -> None:
    only = ["--algorithm", "faulty.loop.verify.cpu", "--pass", "forward", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        [str(faulty), "verify", str(config(tmp_path, 1)), *only], stdout=subprocess.DEVNULL
    )
    worker = wait_for_child(process.pid)
    time.sleep(0.3)
    process.kill()
    process.wait()
    end = time.monotonic() + 10
    while is_running(worker) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_running(worker)


def test_resume_of_a_finished_run_repeats_nothing(faulty: Path, finished: Path) -> None:
    before = (finished / "journal.jsonl").read_text()
    assert run(faulty, "verify", "--resume", finished).returncode == 0
    assert (finished / "journal.jsonl").read_text() == before


def test_resume_with_another_build_warns(faulty: Path, finished: Path) -> None:
    rewrite(finished, "program", "commit", "0123abcd")
    resumed = run(faulty, "run", "--resume", finished)
    assert resumed.returncode == 0
    assert "0123abcd" in resumed.stderr
    assert len(records(finished)) == 3
