"""scripts/headlines: numbers in documents come from the results' index, and stale ones are found."""

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "headlines"


def checkout(folder: Path, text: str) -> Path:
    """A checkout with one run in its index and one document; returns the document."""
    (folder / "results").mkdir()
    (folder / "results" / "index.csv").write_text("run,ratio,behind\nmine/tiny,2.41,\n")
    (folder / "README.md").write_text(text)
    return folder / "README.md"


def headlines(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [str(SCRIPT), "--root", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_number_is_filled_in_from_the_index(tmp_path):
    document = checkout(tmp_path, "It is <!--=mine/tiny:ratio-->1.00x<!--/--> as fast.\n")
    assert headlines(tmp_path).returncode == 0
    assert document.read_text() == "It is <!--=mine/tiny:ratio-->2.41x<!--/--> as fast.\n"
    assert headlines(tmp_path, "--check").returncode == 0


def test_a_stale_number_is_named_and_left_alone_by_check(tmp_path):
    text = "It is <!--=mine/tiny:ratio-->1.00x<!--/--> as fast.\n"
    document = checkout(tmp_path, text)
    done = headlines(tmp_path, "--check")
    assert done.returncode == 1
    assert "README.md: mine/tiny ratio is 2.41x, not 1.00x" in done.stdout
    assert document.read_text() == text


def test_a_run_or_column_that_the_index_lacks_is_an_error(tmp_path):
    checkout(tmp_path, "<!--=mine/gone:ratio-->1x<!--/-->")
    done = headlines(tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "headlines: README.md: results/index.csv has no run mine/gone\n",
    )
    (tmp_path / "README.md").write_text("<!--=mine/tiny:behind-->1<!--/-->")
    assert "no behind of mine/tiny" in headlines(tmp_path).stderr


def test_a_folder_that_is_no_checkout_is_named(tmp_path):
    done = headlines(tmp_path)
    assert done.returncode == 2
    said = f"headlines: [Errno 2] No such file or directory: '{tmp_path}/results/index.csv'\n"
    assert done.stderr == said


def test_the_numbers_of_this_checkout_are_those_of_the_index(root):
    done = headlines(root, "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
