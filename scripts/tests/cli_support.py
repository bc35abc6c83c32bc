"""For the tests of the program as a user meets it: running it, and reading what it leaves.

Most runs use convscope_faulty, the same program with the sample algorithm of docs/adding_an_algorithm.md
(plain.cpu) and algorithms that crash or hang, so that nothing there waits for real layers.
"""

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
import time
from pathlib import Path

LAYER = {"in_channels": 2, "input": [6, 5], "out_channels": 3, "filter": 3}
QUICK = ["--time-limit", "0.05", "--min-samples", "3", "--max-samples", "5", "--batch", "1", "--threads", "1"]
# Tiny tensors would need very many copies to be cold.
QUICK += ["--cache", "hot"]


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


def terminal_output(words: list, environment: dict[str, str], columns: int = 0) -> str:
    """What a program that ends with 0 writes where its output and errors go to a terminal, `columns` wide."""
    parent, child = pty.openpty()
    if columns:
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(words, stdout=child, stderr=child, env=environment)
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


def process_of_rank(rank: int, program: str, folder: Path) -> int:
    """Return the process of a rank of the job that writes to this folder, once it is there."""
    for _ in range(600):
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
                variables = (process / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            is_program = words[0].endswith(program.encode()) and str(folder).encode() in words
            if is_program and f"OMPI_COMM_WORLD_RANK={rank}".encode() in variables:
                return int(process.name)
        time.sleep(0.05)
    raise AssertionError(f"there is no rank {rank}")
