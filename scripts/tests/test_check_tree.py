"""scripts/check-tree on planted trees: what it must find, and what it must let pass."""

import shutil
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "check-tree"
GOOD = """bench/               the harness
  core/              plain data
  device/            where work runs
    cpu/ cuda/       one folder for each
docs/
scripts/
"""


def check(top: Path, tree: str, folders: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    for folder in ("bench/core", "bench/device/cpu", "bench/device/cuda", *folders):
        (top / folder).mkdir(parents=True, exist_ok=True)
        (top / folder / "a.hpp").touch()
    script = top / "scripts" / "check-tree"
    for folder in (script.parent, top / "docs"):
        folder.mkdir()
    shutil.copy(SCRIPT, script)
    (top / "docs" / "architecture.md").write_text(
        f"# Title\n\n```\nother/\n```\n\n## Tree\n\n```\n{tree}```\n"
    )
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    return subprocess.run([str(script)], capture_output=True, text=True, check=False)


def test_a_tree_that_is_true_passes(tmp_path: Path) -> None:
    done = check(tmp_path, GOOD)
    assert done.returncode == 0, done.stdout


def test_a_folder_that_is_missing_in_the_tree_is_named(tmp_path: Path) -> None:
    done = check(tmp_path, GOOD, ("bench/report", "results"))
    assert done.returncode == 1
    assert "bench/report/ is not in the tree" in done.stdout
    assert "results/ is not in the tree" in done.stdout
    assert "2 faults" in done.stdout


def test_a_folder_that_does_not_exist_is_named_with_its_parents(tmp_path: Path) -> None:
    done = check(tmp_path, GOOD.replace("cuda/  ", "metal/ "))
    assert done.returncode == 1
    assert "bench/device/metal/ is in the tree and does not exist" in done.stdout


def test_folders_below_the_second_level_may_be_left_out(tmp_path: Path) -> None:
    assert check(tmp_path, GOOD.replace("    cpu/ cuda/       one folder for each\n", "")).returncode == 0


def test_what_git_ignores_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("/build/\n")
    assert check(tmp_path, GOOD, ("build",)).returncode == 0


def test_more_than_sixty_lines_are_too_many(tmp_path: Path) -> None:
    done = check(tmp_path, GOOD + "text\n" * 60)
    assert done.returncode == 1
    assert "the tree has 66 lines; at most 60" in done.stdout


def test_a_page_without_a_tree_is_an_error(tmp_path: Path) -> None:
    done = check(tmp_path, GOOD)
    page = tmp_path / "docs" / "architecture.md"
    page.write_text("# Title\n")
    done = subprocess.run(
        [str(tmp_path / "scripts" / "check-tree")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "no code block" in done.stdout
