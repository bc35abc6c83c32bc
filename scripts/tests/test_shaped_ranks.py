"""`scripts/shaped-ranks`: MPI ranks in network namespaces; skipped where they are denied, refusals aside."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from convscope_report.program import ROOT

SCRIPT = ROOT / "scripts/shaped-ranks"


def listed(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def ranks():
    """A function that starts the script with such words; nothing of it may be left when the test ends."""
    if os.geteuid() != 0:
        pytest.skip("only root may make network namespaces")
    for program in ("ip", "tc", "mpirun"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program} (Debian: apt install iproute2 libopenmpi-dev)")
    trial = f"convscope-test-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", trial], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"network namespaces are denied: {made.stderr.strip()}")
    subprocess.run(["ip", "netns", "del", trial], check=True)
    links = listed("ip", "-brief", "link").splitlines()
    started = []

    def start(*words):
        process = subprocess.Popen(
            [SCRIPT, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        assert process.poll() is not None
        assert f"shaped-ranks-{process.pid}-" not in listed("ip", "netns", "list")
        assert not list(Path(tempfile.gettempdir()).glob(f"shaped-ranks-{process.pid}-*"))
    assert {line.split()[0] for line in links} == {
        line.split()[0] for line in listed("ip", "-brief", "link").splitlines()
    }


def test_two_ranks_on_a_shaped_link_sum_right(ranks, convscope):
    if not (convscope.parent / "convscope_mpi.so").exists():
        pytest.skip("convscope was built without MPI")
    words = ["--gpus", "2", "--bytes", "1MiB", "--time-limit", "0.1", "--max-samples", "6", "--json"]
    process = ranks(2, "50MB/s", "--", convscope, "allreduce", *words)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    rows = json.loads(out)
    assert {row["reduce"] for row in rows} == {"tree", "ring", "halving", "hierarchical", "striped", "mpi"}
    for row in rows:
        assert (row["outcome"], row["fabric"], row["gpus"]) == ("good", "mpi", 2)
        # Loaded machines take longer, but no link is faster than its token bucket, whose burst is 2%.
        assert row["median_ms"] > 0.95 * 1e3 * (1 << 20) / 50e6


def test_each_rank_has_a_link_of_its_own(ranks):
    process = ranks(3, "1.5GB/s", "--", "sh", "-c", "ip -brief -4 address show wire; tc qdisc show dev wire")
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    for rank in (1, 2, 3):
        assert out.count(f"10.99.0.{rank}/24") == 1
    assert out.count("tbf") == out.count("rate 12Gbit") == 3


def test_a_command_that_fails_gives_its_exit_code(ranks):
    process = ranks(2, "50MB/s", "--", "sh", "-c", "exit 7")
    process.communicate(timeout=60)
    assert process.returncode == 7


def test_the_folder_of_temporary_files_may_have_a_blank(ranks, monkeypatch, tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    process = ranks(2, "50MB/s", "--", "true")
    errors = process.communicate(timeout=60)[1]
    assert (process.returncode, list(folder.iterdir())) == (0, []), errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_ranks_and_takes_everything_down(ranks, number):
    process = ranks(2, "50MB/s", "--", "sh", "-c", "echo here; sleep 3600")
    assert process.stdout.readline() == "here\n"
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 128 + number


def test_what_a_killed_run_left_is_taken_down_by_the_next(ranks):
    killed = ranks(2, "50MB/s", "--", "sh", "-c", "echo here; sleep 3600")
    assert killed.stdout.readline() == "here\n"
    killed.kill()
    killed.wait()
    assert f"shaped-ranks-{killed.pid}-hub" in listed("ip", "netns", "list")
    assert ranks(2, "50MB/s", "--", "true").wait(timeout=60) == 0


@pytest.fixture
def script(monkeypatch, tmp_path):
    """The script as a module, on a machine where `ip`, `tc` and `mpirun` do nothing and the user is root."""
    loader = SourceFileLoader("shaped_ranks", str(SCRIPT))
    module = module_from_spec(spec_from_loader("shaped_ranks", loader))
    loader.exec_module(module)
    for program in ("ip", "tc", "mpirun"):
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module.os, "geteuid", lambda: 0)
    return module


GOOD = ["2", "50MB/s", "--", "true"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "expected N RATE -- COMMAND"),
        (["2", "50MB/s", "--"], "expected N RATE -- COMMAND"),
        (["2", "50MB/s", "true", "now"], "expected N RATE -- COMMAND"),
        (["1", "50MB/s", "--", "true"], 'N: found "1"; allowed are 2 to 250'),
        (["two", "50MB/s", "--", "true"], 'N: found "two"'),
        (["2", "50", "--", "true"], 'RATE: found "50"; write bytes a second'),
        (["2", "0.5B/s", "--", "true"], 'RATE: found "0.5B/s"'),
    ],
)
def test_bad_usage_is_named(script, capsys, words, said):
    assert script.main(words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("program", ["ip", "tc", "mpirun"])
def test_a_missing_program_is_named_with_its_package(script, capsys, tmp_path, program):
    (tmp_path / program).unlink()
    assert script.main(GOOD) == 2
    said = capsys.readouterr().err
    assert f"there is no `{program}`" in said and "apt-get install" in said


def test_who_is_not_root_is_told_so(script, capsys, monkeypatch):
    monkeypatch.setattr(script.os, "geteuid", lambda: 1000)
    assert script.main(GOOD) == 2
    assert "only root" in capsys.readouterr().err


def test_denied_namespaces_are_refused_with_the_words_of_ip(script, capsys, tmp_path):
    (tmp_path / "ip").write_text(
        '#!/bin/sh\n[ "$2" = add ] || exit 0\necho Operation not permitted >&2; exit 1\n'
    )
    assert script.main(GOOD) == 2
    said = capsys.readouterr().err
    assert "Operation not permitted" in said and "NET_ADMIN" in said


def test_an_mpirun_that_a_signal_ended_is_told_by_the_exit_code(script, tmp_path):
    (tmp_path / "ip").write_text('#!/bin/sh\n[ "$2" != exec ] || kill -9 $$\n')
    assert script.main(GOOD) == 128 + signal.SIGKILL


def test_a_full_disk_is_said(script, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "agent")

    monkeypatch.setattr(script, "write_agent", full)
    assert script.main(GOOD) == 2
    assert capsys.readouterr().err == "shaped-ranks: [Errno 28] No space left on device: 'agent'\n"
