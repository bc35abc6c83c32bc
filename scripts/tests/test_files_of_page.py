"""scripts/files-of-page: the files that a Markdown page shows, written as they stand there."""

import subprocess
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
PAGE = """# A page

```cpp file=a.cpp
int a[] = {1, 2};  // brackets [ ] and ; mean nothing here
```

```
not a file
```

```cmake file=CMakeLists.txt
convscope_algorithm(plain)
```
"""


def write_files(page: Path, folder: Path) -> subprocess.CompletedProcess:
    command = [str(SCRIPTS / "files-of-page"), str(page), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_block_with_a_name_becomes_a_file(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    folder = tmp_path / "new" / "folder"
    assert write_files(tmp_path / "page.md", folder).returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == ["CMakeLists.txt", "a.cpp"]
    assert (folder / "a.cpp").read_text() == "int a[] = {1, 2};  // brackets [ ] and ; mean nothing here\n"


def test_a_file_that_is_the_same_is_not_written_again(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    write_files(page, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    page.write_text(PAGE.replace("plain", "plainer"))
    write_files(page, tmp_path)
    assert (tmp_path / "a.cpp").stat().st_mtime_ns == before[tmp_path / "a.cpp"]
    assert "plainer" in (tmp_path / "CMakeLists.txt").read_text()


def test_a_page_without_files_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("```\nnot a file\n```\n")
    done = write_files(tmp_path / "page.md", tmp_path)
    assert done.returncode == 1
    assert "shows no file" in done.stderr


def test_the_sample_algorithm_is_a_whole_folder(tmp_path: Path) -> None:
    write_files(SCRIPTS.parent / "docs" / "adding_an_algorithm.md", tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"CMakeLists.txt", "plain.hpp", "plain.cpp", "plain_test.cpp"}
