"""The program as a user meets it: exit codes, messages, files, and what is left after a kill or a Ctrl-C.

Most runs use convscope_faulty, the same program with the sample algorithm of docs/adding_an_algorithm.md
(plain.cpu) and algorithms that crash or hang, so that nothing here waits for real layers.
"""

import json
import os
import pty
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

LAYER = {"in_channels": 2, "input": [6, 5], "out_channels": 3, "filter": 3}
QUICK = ["--time-limit", "0.05", "--min-samples", "3", "--max-samples", "5", "--batch", "1", "--threads", "1"]
# Tiny tensors would need very many copies to be cold.
QUICK += ["--cache", "hot"]
LINE = "forward fp32 nchw n=1 c=2 hw=6x5 k=3 rs=3x3"


@pytest.fixture(scope="session")
def faulty(convscope: Path) -> Path:
    return convscope.parent / "bench" / "cli" / "convscope_faulty"


def run(program: Path, *arguments: object, **options: object) -> subprocess.CompletedProcess:
    words = [str(program), *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, **options)


def config(folder: Path, layers: int, name: str = "tiny") -> Path:
    path = folder / f"{name}.json"
    entries = [LAYER | {"name": f"conv{i}"} for i in range(layers)]
    path.write_text(json.dumps({"name": name, "layers": entries}))
    return path


def records(folder: Path) -> list[dict]:
    return json.loads((folder / "results.json").read_text())["records"]


def keys(rows: list[dict]) -> list[str]:
    parts = ("layer", "problem", "algorithm", "threads", "cache", "workspace_cap_bytes")
    return sorted(json.dumps([row["key"][part] for part in parts]) for row in rows)


def journal(folder: Path) -> list[dict]:
    """Every whole line."""
    path = folder / "journal.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def test_a_good_run_leaves_every_file_and_exits_with_0(faulty: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(faulty, "run", config(tmp_path, 1), "--algorithm", "plain.cpu", "--out", out, *QUICK)
    assert done.returncode == 0, done.stderr
    assert [row["outcome"] for row in records(out)] == ["measured", "unsupported", "unsupported"]
    assert records(out)[0]["time"]["full"]["samples_seconds"]
    assert len((out / "results.csv").read_text().splitlines()) == 4
    benchmark = json.loads((out / "benchmark.json").read_text())
    assert benchmark["context"] and benchmark["benchmarks"]
    assert [entry["kind"] for entry in journal(out)].count("record") == 3
    assert str(out) in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def refuse_constant(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


def test_what_is_not_finite_is_null_in_every_file(faulty: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    only = ["--algorithm", "faulty.infinity.verify.cpu", "--pass", "forward", *QUICK]
    assert run(faulty, "run", config(tmp_path, 1), *only, "--out", out).returncode == 1
    (row,) = records(out)
    assert row["outcome"] == "wrong"
    assert row["accuracy"]["relative_l2"] is None
    for file in ("results.json", "benchmark.json"):
        json.loads((out / file).read_text(), parse_constant=refuse_constant)
    for line in (out / "journal.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=refuse_constant)
    fields = (out / "results.csv").read_text().lower().replace("\n", ",").split(",")
    assert not {"nan", "-nan", "inf", "-inf"} & set(fields)


def test_the_default_folder_is_named_after_the_time(faulty: Path, tmp_path: Path) -> None:
    done = run(faulty, "verify", config(tmp_path, 1), "--algorithm", "plain.cpu", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (out,) = (tmp_path / "out").iterdir()
    assert f"out/{out.name}" in done.stdout
    assert {row["outcome"] for row in records(out)} == {"verified_only", "unsupported"}


def test_candidates_that_crash_become_rows_and_exit_code_1(faulty: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    faults = ("segfault.verify", "abort.measure", "throw.plan", "exit.plan")
    globs = ",".join(["plain.cpu", *(f"faulty.{fault}.cpu" for fault in faults)])
    only = ["--algorithm", globs, "--pass", "forward", *QUICK]
    done = run(faulty, "run", config(tmp_path, 2), *only, "--out", out)
    assert done.returncode == 1, done.stderr
    for layer in ("conv0", "conv1"):
        rows = [row for row in records(out) if row["key"]["layer"] == layer]
        outcomes = {row["key"]["algorithm"]: row["outcome"] for row in rows}
        assert outcomes == {
            "plain.cpu": "measured",
            "faulty.segfault.verify.cpu": "crashed",
            "faulty.abort.measure.cpu": "crashed",
            "faulty.throw.plan.cpu": "failed",
            "faulty.exit.plan.cpu": "crashed",
        }
    assert "8 of 10 candidates are wrong or failed" in done.stdout
    assert "faulty.abort.measure.cpu crashed" in done.stdout


def test_a_hang_costs_two_stage_limits_and_then_is_left_out(faulty: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    only = ["--algorithm", "plain.cpu,faulty.loop.verify.cpu", "--pass", "forward", "--batch", "1"]
    done = run(faulty, "verify", config(tmp_path, 4), *only, "--stage-limit", "2.5", "--out", out)
    assert done.returncode == 1, done.stderr
    rows = [row for row in records(out) if row["key"]["algorithm"] == "faulty.loop.verify.cpu"]
    assert [row["outcome"] for row in rows] == ["timeout", "timeout", "unsupported", "unsupported"]
    assert rows[0]["note"] == "no end of verify within 2.5 s"
    assert "--stage-limit 2.5" in rows[0]["rerun"]
    assert rows[2]["reason"] == "left_out_after_failures"
    assert "timeout in conv0" in rows[2]["note"] and "timeout in conv1" in rows[2]["note"]
    assert "2 of 8 candidates are wrong or failed" in done.stdout


def test_a_lost_device_ends_the_run_with_its_rows_and_the_way_on(faulty: Path, tmp_path: Path) -> None:
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


def test_without_isolation_a_lost_device_ends_the_run_in_the_same_way(faulty: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    only = ["--algorithm", "plain.cpu,faulty.lost.verify.cpu", "--pass", "forward", "--batch", "1"]
    done = run(faulty, "verify", config(tmp_path, 3), *only, "--isolate", "off", "--out", out)
    assert done.returncode == 3, done.stderr
    assert "the device cpu was lost" in done.stderr and f"--resume {out}" in done.stderr
    assert "crashed" in [row["outcome"] for row in records(out)]


def test_one_row_is_run_again_by_its_line(faulty: Path, tmp_path: Path) -> None:
    arguments = [
        "run",
        "--case",
        LINE,
        "--algorithm",
        "plain.cpu",
        "--time-limit",
        "0.05",
        "--isolate",
        "off",
    ]
    done = run(faulty, *arguments, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (row,) = records(tmp_path / "out")
    assert row["outcome"] == "measured"


def test_a_dry_run_says_what_it_would_do_and_leaves_nothing(faulty: Path, tmp_path: Path) -> None:
    done = run(faulty, "run", config(tmp_path, 2), "--algorithm", "plain.cpu", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "6 groups, 6 candidates" in done.stdout
    assert "plain.cpu refuses: plain.cpu is written for the forward pass only" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny.json"]


def test_two_series_give_a_noise_floor(faulty: Path, tmp_path: Path) -> None:
    only = ["--algorithm", "plain.cpu", "--pass", "forward"]
    done = run(faulty, "run", config(tmp_path, 1), *only, "--aa", "--out", tmp_path / "out", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "Noise floor" in done.stdout
    assert records(tmp_path / "out")[0]["time"]["repeat"]["samples_seconds"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "a verb is missing"),
        (["rnu"], "there are run, verify"),
        (["verfy"], 'did you mean "verify"'),
        (["run"], "needs a CONFIG"),
        (["run", "{config}", "--bach", "1"], 'did you mean "--batch"'),
        (["run", "{config}", "--batch", "0"], "--batch"),
        (["run", "{config}", "--algorithm", "plian.cpu"], "plain.cpu"),
        (["run", "{config}", "--shard", "3/2"], "--shard"),
        (["run", "{config}", "--stage-limit", "-1"], '--stage-limit: found "-1"; allowed is a number from 0'),
        (["run", "{config}", "--device", "gpu"], 'did you mean "cuda"?'),
        (["run", "{config}", "--device", "cuda:99"], "--device: "),
        (["explain", "n=1", "--device", "gpu"], 'did you mean "cuda"?'),
        (["run", "nowhere.json"], "nowhere.json"),
        (["run", "{config}", "--out", "/proc/nothing"], "/proc/nothing"),
        (["run", "{config}", "--out", "x" * 300], "name too long"),
        (["run", "--resume", "x" * 300], "name too long"),
        (["merge", "x" * 300, "--out", "merged"], "name too long"),
        (["merge", "{folder}", "--out", "x" * 300], "results.json"),
        (["run", "--resume", "{folder}"], "journal.jsonl"),
        (["run", "--resume", "{folder}", "--batch", "2"], "leave out --batch"),
        (["run", "--case", "sideways n=1", "--algorithm", "plain.cpu"], "sideways"),
        (["run", "--case", LINE, "--algorithm", "plan.cpu"], "plain.cpu"),
        (["merge", "{folder}", "--out", "{folder}/merged"], "results.json"),
        (["list", "dogs"], "dogs"),
    ],
)
def test_wrong_usage_gets_one_message_and_exit_code_2(
    faulty: Path, tmp_path: Path, arguments: list[str], says: str
) -> None:
    path = config(tmp_path, 1)
    done = run(faulty, *[word.format(config=path, folder=tmp_path) for word in arguments], cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert says in done.stderr
    assert done.stderr.startswith("convscope: ") and done.stderr.count("\n") == 1, done.stderr
    assert done.stdout == ""


def test_a_folder_that_holds_a_run_is_not_written_over(faulty: Path, tmp_path: Path) -> None:
    arguments = ["verify", config(tmp_path, 1), "--algorithm", "plain.cpu", "--out", tmp_path / "out"]
    assert run(faulty, *arguments).returncode == 0
    again = run(faulty, *arguments)
    assert again.returncode == 2
    assert "--resume" in again.stderr


def test_killed_at_any_moment_a_run_is_finished_by_resume(faulty: Path, tmp_path: Path) -> None:
    path = config(tmp_path, 6)
    only = ["--algorithm", "plain.cpu,faulty.throw.plan.cpu", *QUICK]
    begin = time.monotonic()
    assert run(faulty, "run", path, *only, "--out", tmp_path / "whole").returncode == 1
    whole_seconds = time.monotonic() - begin
    moments = random.Random(5)
    for attempt in range(6):
        out = tmp_path / f"killed{attempt}"
        words = [str(faulty), "run", str(path), *only, "--out", str(out)]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moments.uniform(0, 0.9) * whole_seconds if attempt else 0)
        process.kill()
        process.wait()
        finished = [entry["record"] for entry in journal(out) if entry["kind"] == "record"]
        resumed = run(faulty, "run", "--resume", out) if journal(out) else run(faulty, *words[1:])
        assert resumed.returncode == 1, resumed.stderr
        assert keys(records(out)) == keys(records(tmp_path / "whole"))
        written = [entry["record"] for entry in journal(out) if entry["kind"] == "record"]
        assert written[: len(finished)] == finished, "what was finished must stay"
        assert len(written) == len(records(out)), "nothing may be run twice"
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
    time.sleep(1)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - begin < 5  # a second on a quiet machine
    assert process.returncode == 130, errors
    assert f"--resume {out}" in errors
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


def test_resume_on_another_machine_is_refused(faulty: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert (
        run(faulty, "verify", config(tmp_path, 1), "--algorithm", "plain.cpu", "--out", out).returncode == 0
    )
    lines = (out / "journal.jsonl").read_text().splitlines()
    begun = json.loads(lines[0])
    begun["environment"]["device"]["name"] = "Antikythera mechanism"
    (out / "journal.jsonl").write_text("\n".join([json.dumps(begun), *lines[1:-1]]) + "\n")
    resumed = run(faulty, "run", "--resume", out)
    assert resumed.returncode == 2
    assert "Antikythera mechanism" in resumed.stderr and "another device" in resumed.stderr


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


def test_resume_of_a_finished_run_repeats_nothing(faulty: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert (
        run(faulty, "verify", config(tmp_path, 1), "--algorithm", "plain.cpu", "--out", out).returncode == 0
    )
    before = (out / "journal.jsonl").read_text()
    assert run(faulty, "verify", "--resume", out).returncode == 0
    assert (out / "journal.jsonl").read_text() == before


def test_resume_with_another_build_warns(faulty: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert (
        run(faulty, "verify", config(tmp_path, 1), "--algorithm", "plain.cpu", "--out", out).returncode == 0
    )
    lines = (out / "journal.jsonl").read_text().splitlines()
    begun = json.loads(lines[0])
    begun["environment"]["program"]["commit"] = "0123abcd"
    (out / "journal.jsonl").write_text("\n".join([json.dumps(begun), *lines[1:-1]]) + "\n")
    resumed = run(faulty, "run", "--resume", out)
    assert resumed.returncode == 0
    assert "0123abcd" in resumed.stderr
    assert len(records(out)) == 3


def test_shards_merge_into_the_whole(faulty: Path, tmp_path: Path) -> None:
    path = config(tmp_path, 3)
    only = ["--algorithm", "plain.cpu"]
    assert run(faulty, "verify", path, *only, "--out", tmp_path / "whole").returncode == 0
    parts = [tmp_path / f"part{i}" for i in (1, 2)]
    for i, part in enumerate(parts, 1):
        assert run(faulty, "verify", path, *only, "--shard", f"{i}/2", "--out", part).returncode == 0
    assert records(parts[0]) and records(parts[1])
    merged = run(faulty, "merge", *parts, "--out", tmp_path / "merged")
    assert merged.returncode == 0, merged.stderr
    assert keys(records(tmp_path / "merged")) == keys(records(tmp_path / "whole"))
    assert json.loads((tmp_path / "merged" / "benchmark.json").read_text())["benchmarks"] == []
    assert merged.stderr == ""
    half = run(faulty, "merge", parts[0], "--out", tmp_path / "half")
    assert half.returncode == 0
    assert "shard 2/2 is missing" in half.stderr


def test_folders_that_contradict_each_other_are_not_merged(faulty: Path, tmp_path: Path) -> None:
    only = ["--algorithm", "plain.cpu", "--pass", "forward", *QUICK]
    for name in ("a", "b"):
        assert run(faulty, "run", config(tmp_path, 1), *only, "--out", tmp_path / name).returncode == 0
    merged = run(faulty, "merge", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "merged")
    assert merged.returncode == 2
    assert "conv0" in merged.stderr and "plain.cpu" in merged.stderr
    assert not (tmp_path / "merged").exists()


def terminal_output(words: list[str], environment: dict[str, str]) -> str:
    """What the program writes when standard output and error are a terminal."""
    parent, child = pty.openpty()
    process = subprocess.Popen(words, stdout=child, stderr=child, env=os.environ | environment)
    os.close(child)
    text = b""
    try:
        while chunk := os.read(parent, 65536):
            text += chunk
    except OSError:  # how Linux says that the other side is closed
        pass
    os.close(parent)
    assert process.wait() == 0
    return text.decode()


def test_a_terminal_gets_colour_and_progress_unless_it_wants_none(faulty: Path, tmp_path: Path) -> None:
    words = [
        str(faulty),
        "run",
        str(config(tmp_path, 1)),
        "--algorithm",
        "plain.cpu",
        "--pass",
        "forward",
        *QUICK,
    ]
    colourful = terminal_output([*words, "--out", str(tmp_path / "a")], {"TERM": "xterm", "NO_COLOR": ""})
    assert "\x1b[" in colourful and "conv0" in colourful
    plain = terminal_output([*words, "--out", str(tmp_path / "b")], {"TERM": "xterm", "NO_COLOR": "1"})
    assert not any(f"\x1b[{code}m" in plain for code in ("1", "0", "32", "1;32", "31", "2"))


def test_the_real_program_has_real_algorithms(convscope: Path) -> None:
    done = run(convscope, "list", "algorithms", "--json")
    assert done.returncode == 0, done.stderr
    assert "direct.cpu" in done.stdout
    assert "faulty" not in done.stdout
