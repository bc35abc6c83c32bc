"""One archive of a check, rewritten after every stage.

A stage that is over is compressed once: xz streams add up.
"""

from __future__ import annotations

import contextlib
import functools
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

from gpu_check.state import STATE_FILE, State, write_atomically

try:
    import lzma

    _compress = functools.partial(lzma.compress, preset=3)
    SUFFIX = ".tar.xz"
except ImportError:  # a Python built without it; tar and Python read both kinds
    import gzip

    _compress = gzip.compress
    SUFFIX = ".tar.gz"

LIMIT_BYTES = 16_000_000
LOG_BYTES = 64 * 1024
PARTS = ".parts"


def trimmed(data: bytes, limit: int = LOG_BYTES) -> bytes:
    """Shorten a log in its middle."""
    if len(data) <= limit:
        return data
    half = limit // 2
    return data[:half] + f"\n... {len(data) - 2 * half} bytes left out ...\n".encode() + data[-half:]


def _part(members: Iterable[tuple[str, bytes]]) -> bytes:
    plain = bytearray()
    for name, data in members:
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(data), 0o644
        plain += info.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % tarfile.BLOCKSIZE)
    return _compress(bytes(plain))


def _files_of_run(run: Path, final: bool) -> list[Path]:
    # The journal is needed to go on from; of a run that is over results.json says the same and more. A step
    # and operations have files of their own.
    whole = final and (run / "results.json").is_file()
    names = ["results.json", *([] if whole else ["journal.jsonl"]), "tasks.json", "operations.json"]
    return [run / name for name in names if (run / name).is_file()]


def _members(folder: Path, stage: str, final: bool) -> list[tuple[str, bytes]]:
    members = []
    with contextlib.suppress(OSError):
        log = folder / "logs" / f"{stage}.log"
        members.append((f"{folder.name}/logs/{stage}.log", trimmed(log.read_bytes())))
    for path in _files_of_run(folder / "runs" / stage, final):
        with contextlib.suppress(OSError):
            members.append((f"{folder.name}/{path.relative_to(folder)}", path.read_bytes()))
    return members


def _stage_part(folder: Path, stage: str, final: bool) -> bytes:
    cached = folder / PARTS / (stage + SUFFIX)
    if final:
        with contextlib.suppress(OSError):
            return cached.read_bytes()
    else:
        cached.unlink(missing_ok=True)
    part = _part(_members(folder, stage, final))
    if final:
        with contextlib.suppress(OSError):
            cached.parent.mkdir(exist_ok=True)
            write_atomically(cached, part)
    return part


def write_archive(archive: Path, folder: Path, state: State, order: list[str]) -> list[str]:
    """Replace the archive by all of the check that fits, the stages in `order` of worth.

    Returns:
        The stages that did not fit.

    Raises:
        OSError: the disk takes no more; the archive of before is still there.

    """
    small = [STATE_FILE, "summary.txt", "cudnn-answers.json"]
    members = [
        (f"{folder.name}/{name}", (folder / name).read_bytes()) for name in small if (folder / name).is_file()
    ]
    end = _compress(bytes(2 * tarfile.BLOCKSIZE))
    parts, left_out = [_part(members)], []
    room = LIMIT_BYTES - len(parts[0]) - len(end)
    for stage in order:
        progress = state.of(stage)
        if progress.status == "waiting":
            continue
        part = _stage_part(folder, stage, progress.status in ("passed", "failed", "cut"))
        if len(part) > room:
            left_out.append(stage)
            continue
        parts.append(part)
        room -= len(part)
    write_atomically(archive, b"".join([*parts, end]))
    return left_out


def _files_in(data: bytes) -> dict[Path, bytes]:
    files = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar.getmembers():
            inside = Path(*Path(member.name).parts[1:])
            if not member.isfile() or ".." in inside.parts or inside == Path():
                raise ValueError(f"it has {member.name}, which no check leaves")
            source = tar.extractfile(member)
            assert source is not None
            files[inside] = source.read()
    if Path(STATE_FILE) not in files:
        raise ValueError(f"it has no {STATE_FILE}")
    return files


def unpack(archive: Path, folder: Path) -> None:
    """Put an archive's files into `folder`, none where it is damaged.

    The state comes last: without it, after a kill or on a full disk, the folder is no check yet.

    Raises:
        ValueError: it is no archive of a check.
        OSError: it cannot be read, or the disk takes no more.

    """
    data = archive.read_bytes()
    try:
        files = _files_in(data)
    except Exception as error:  # tarfile and each decompressor have kinds of their own for damaged bytes
        raise ValueError(f"{archive}: no archive of a check, or damaged: {error}") from error
    for inside in sorted(files, key=lambda path: path == Path(STATE_FILE)):
        target = folder / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, files[inside])
