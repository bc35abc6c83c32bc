"""Runs by name: `save`, `runs`, and `compare` of names; what a name may be, and what an unknown one says."""

import json
import lzma
import shutil

import pytest
from report_support import DATA, recorded, report

from convscope_report import kept, saved


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """An empty folder of saved runs."""
    monkeypatch.setattr(saved, "FOLDER", tmp_path / "saved")
    return saved.FOLDER


@pytest.fixture
def finished(tmp_path):
    """A finished run, whatever its recorded one says of itself."""
    return with_environment(tmp_path / "run", complete=True)


def with_environment(folder, **changes):
    shutil.copytree(recorded("same_a"), folder)
    file = folder / "results.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    document["environment"] |= changes
    file.write_text(json.dumps(document), encoding="utf-8")
    return folder


def test_a_saved_run_is_compared_by_its_name(finished, folder):
    done = report("save", finished, "--name", "before")
    assert (done.code, done.err) == (0, "")
    file = folder / "before.json.xz"
    assert done.out == f"saved as before: {file}\n"
    assert lzma.decompress(file.read_bytes()) == (finished / "results.json").read_bytes()
    assert list(folder.iterdir()) == [file]
    compared = report("compare", "before", recorded("same_b"), "--where", "layer=b")
    assert compared.code == 0, compared.err
    assert "A before, B " in compared.out and " SAME" in compared.out


def test_a_name_is_taken_once(finished, folder):
    assert report("save", finished, "--name", "before", "--check").code == 0
    assert not folder.exists(), "--check writes nothing"
    assert report("save", finished, "--name", "before").code == 0
    content = (folder / "before.json.xz").read_bytes()
    for check in ([], ["--check"]):
        again = report("save", DATA / "basic", "--name", "before", *check)
        assert again.code == 2
        assert f"choose another name, or remove {folder / 'before.json.xz'}" in again.err
    assert (folder / "before.json.xz").read_bytes() == content


@pytest.mark.parametrize("name", ["", "../before", "a/b", ".hidden", "-n", "two words"])
def test_what_is_no_name_is_refused(finished, name):
    done = report("save", finished, f"--name={name}")
    assert done.code == 2
    assert "cannot be the name of a run" in done.err


def test_an_unfinished_run_is_not_saved(tmp_path, folder):
    done = report("save", with_environment(tmp_path / "run", complete=False), "--name", "before")
    assert done.code == 2
    assert "unfinished" in done.err
    assert not folder.exists()


def test_an_unknown_run_is_told_the_names_there_are(finished):
    assert "saved (--save): none" in report("runs", "nothing").err
    report("save", finished, "--name", "before")
    for words in (["runs", "befor"], ["compare", "befor", recorded("same_b")]):
        done = report(*words)
        assert done.code == 2
        assert "befor: no result folder, no file, and no name of a run; did you mean before?" in done.err
        assert "saved (--save): before\n" in done.err
        assert "kept as amd-zen4-2-cores/...: alexnet, " in done.err
    assert "did you mean amd-zen4-2-cores/alexnet?" in report("runs", "alexnet").err


def test_a_name_is_found_as_a_path_first_then_saved_then_kept(finished, monkeypatch, tmp_path):
    kept_file = kept.FOLDER / "amd-zen4-2-cores" / "alexnet.json.xz"
    assert report("runs", "amd-zen4-2-cores/alexnet").out == f"{kept_file}\n"
    report("save", finished, "--name", "before")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "before").mkdir()
    assert saved.find("before") == saved.FOLDER / "before.json.xz", "a folder without a run hides no name"
    assert report("runs").out.startswith(f"before {saved.FOLDER / 'before.json.xz'}\n")
    (tmp_path / "run").rename(tmp_path / "before" / "run")
    shutil.copy(tmp_path / "before" / "run" / "results.json", tmp_path / "before")
    assert report("runs", "before").out == "before\n"


def test_a_folder_without_a_run_and_a_damaged_file_are_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    assert "no results.json in this folder" in report("runs", tmp_path / "empty").err
    (tmp_path / "cut.json").write_text("{")
    assert "cut off" in report("runs", tmp_path / "cut.json").err
