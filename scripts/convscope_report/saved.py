"""Runs by name: those that a user saved to compare later ones with, and those that results/ keeps.

A saved run is the results.json of one run as the program wrote it, compressed: out/saved/NAME.json.xz, and
where it was saved with its program a copy of that: NAME.program. It is this checkout's own: git ignores it,
there is no index, and a name is taken until its file is removed.
"""

import contextlib
import difflib
import lzma
import shutil
from pathlib import Path

from convscope_report import ReportError, kept, run_files

FOLDER = run_files.SAVED_FOLDER
PROGRAM_SUFFIX = ".program"


def names() -> list:
    """Return the names of the saved runs, sorted."""
    return sorted(file.name.removesuffix(kept.SUFFIX) for file in FOLDER.glob(f"*{kept.SUFFIX}"))


def free_file(name: str) -> Path:
    """Return where a run of this name would be; raise ReportError where the name is taken or is none."""
    kept.refuse_bad_name(name, "run")
    file = FOLDER / f"{name}{kept.SUFFIX}"
    if file.exists():
        raise ReportError(f"{name}: a run of this name is saved; choose another name, or remove {file}")
    return file


def save(source: Path, name: str, program: Path | None = None) -> Path:
    """Save a finished run under a name, and its program where one is given; return the run's file."""
    target = free_file(name)
    file, _ = run_files.finished(source)
    partial = target.with_suffix(".partial")
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
        if program is not None:
            shutil.copy2(program, FOLDER / f"{name}{PROGRAM_SUFFIX}")
        partial.write_bytes(lzma.compress(run_files.content_of(file)))
        partial.rename(target)
    except OSError as fault:
        for unfinished in (partial, FOLDER / f"{name}{PROGRAM_SUFFIX}"):
            with contextlib.suppress(OSError):
                unfinished.unlink()
        raise ReportError(f"{target}: cannot be written: {fault.strerror}") from fault
    return target


def program(name: str) -> Path:
    """Return the program that is meant by its path or by the name of a run that was saved with it."""
    if Path(name).is_file():
        return Path(name).resolve()
    file = FOLDER / f"{name}{PROGRAM_SUFFIX}"
    if file.is_file():
        return file
    named = (path.name.removesuffix(PROGRAM_SUFFIX) for path in FOLDER.glob(f"*{PROGRAM_SUFFIX}"))
    there = ", ".join(sorted(named))
    raise ReportError(
        f"{name}: no program, and no run that was saved with its program (scripts/bench --save NAME); "
        f"saved with one: {there or 'none'}"
    )


def find(run: str) -> Path:
    """Return the folder or file that is meant by a path, the name of a saved run, or that of a kept one.

    A folder without a run, as bench/ is one, hides no name. Raises ReportError with the names there are.
    """
    path = Path(run)
    if path.is_file() or (path.is_dir() and run_files.holds_a_run(path)):
        return path
    for folder in (FOLDER, kept.FOLDER):
        file = folder / f"{run}{kept.SUFFIX}"
        if file.is_file():
            return file
    if path.is_dir():
        run_files.locate(path)  # says what the folder lacks
    raise ReportError(unknown(run))


def unknown(run: str) -> str:
    """Return that there is no such run, which name is near, and all names, kept ones by machine."""
    saved, kept_names = names(), sorted(map(kept.name_of, kept.files(kept.FOLDER)))
    # The name within its machine's folder is near, too: "alexnet" is meant for MACHINE/alexnet.
    near = difflib.get_close_matches(run, saved + kept_names, n=1)
    near = near or [name for name in kept_names if name.endswith(f"/{run}")]
    lines = [
        f"{run}: no result folder, no file, and no name of a run"
        + (f"; did you mean {near[0]}?" if near else "")
    ]
    lines.append("  saved (--save): " + (", ".join(saved) or "none"))
    for machine in dict.fromkeys(name.partition("/")[0] for name in kept_names):
        own = [name.partition("/")[2] for name in kept_names if name.startswith(f"{machine}/")]
        lines.append(f"  kept as {machine}/...: " + ", ".join(own))
    return "\n".join(lines)
