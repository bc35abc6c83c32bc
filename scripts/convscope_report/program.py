"""Calls the C++ program for what it computes itself: who wins, selection, policies, the algorithms."""

import json
import shutil
import subprocess
from pathlib import Path

from convscope_report import ReportError

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "convscope"


def find(path: str | None) -> Path:
    """Return the program: the path given, build/convscope of this checkout, or `convscope` on the PATH."""
    if path is not None:
        if not Path(path).is_file():
            raise ReportError(
                f"--convscope {path}: no such file; name the built program, as in build/convscope"
            )
        return Path(path).resolve()
    found = BUILT if BUILT.is_file() else shutil.which("convscope")
    if found is None:
        raise ReportError(
            f"{BUILT} is not built, and this needs it; run scripts/build, or name it by --convscope PATH"
        )
    return Path(found)


def too_old(path: str | None, lacking: str) -> ReportError:
    """Return what is said of a program that prints less than this package reads."""
    return ReportError(f"{find(path)} lacks {lacking}: it is too old; run scripts/build")


def output_of(path: str | None, *arguments) -> str:
    """Return what the program prints when called with the arguments."""
    program = find(path)
    try:
        answer = subprocess.run(
            [str(program), *map(str, arguments)],
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",  # what it says of a file may quote the file's bytes
            check=False,
        )
    except OSError as fault:
        raise ReportError(f"{program}: cannot be run: {fault.strerror}; name the built program") from fault
    if answer.returncode != 0:
        said = answer.stderr.strip().removeprefix("convscope: ") or f"exit code {answer.returncode}"
        raise ReportError(f"`convscope {arguments[0]}` says: {said}")
    return answer.stdout


def ask(path: str | None, *arguments):
    """Return the JSON that the program prints when called with the arguments and --json."""
    try:
        return json.loads(output_of(path, *arguments, "--json"))
    except json.JSONDecodeError as fault:
        raise ReportError(
            f"`convscope {arguments[0]}` printed no JSON ({fault}); "
            f"{find(path)} is of another version: run scripts/build"
        ) from fault
