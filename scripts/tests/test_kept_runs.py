"""results/: runs kept once, compressed and indexed; documents cite runs that are there; the tree is small."""

import json
import lzma
import re
import subprocess
from pathlib import Path

import pytest
from report_support import DATA, report

from convscope_report import kept

LIMIT_BYTES = 15_000_000


def tracked(root) -> list:
    """The files of the tree."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("this is no git checkout")
    names = [name for name in done.stdout.split("\0") if name]
    return [name for name in names if (root / name).is_file()]


def run_of(folder, seconds=0, **changes):
    """A result folder made of the tests' recorded one."""
    folder.mkdir(parents=True)
    document = json.loads((DATA / "basic" / "results.json").read_text(encoding="utf-8"))
    document["environment"] |= {"complete": True, "started": f"2026-01-01T00:00:{seconds:02d}Z"} | changes
    (folder / "results.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def test_a_kept_run_is_the_file_that_the_program_wrote(tmp_path):
    source, results = run_of(tmp_path / "run"), tmp_path / "results"
    results.mkdir()
    done = report("keep", source, "--machine", "mine", "--name", "tiny", "--folder", results)
    assert (done.code, done.err) == (0, "")
    kept = results / "mine" / "tiny.json.xz"
    assert lzma.decompress(kept.read_bytes()) == (source / "results.json").read_bytes()
    assert "mine/tiny," in (results / "index.csv").read_text(encoding="utf-8")
    assert "[mine/tiny](mine/tiny.json.xz)" in (results / "README.md").read_text(encoding="utf-8")
    assert report("index", "--check", "--folder", results).code == 0


def test_a_kept_run_is_reported_as_its_folder_is(convscope, tmp_path):
    kept = tmp_path / "basic.json.xz"
    kept.write_bytes(lzma.compress((DATA / "basic" / "results.json").read_bytes()))
    for table in ("layers", "accuracy", "selection"):
        answers = [report("table", table, path, "--convscope", convscope) for path in (kept, DATA / "basic")]
        assert answers[0].code == 0, answers[0].err
        assert answers[0].out == answers[1].out


def test_a_run_that_xz_compressed_is_read_under_any_name(tmp_path):
    renamed = tmp_path / "basic.json"
    renamed.write_bytes(lzma.compress((DATA / "basic" / "results.json").read_bytes()))
    answers = [report("table", "accuracy", path) for path in (renamed, DATA / "basic")]
    assert answers[0].code == 0, answers[0].err
    assert answers[0].out == answers[1].out


def test_a_machines_folder_holds_runs_of_one_class_of_machine(tmp_path):
    def keep(name, machine_class):
        source = run_of(tmp_path / name)
        document = json.loads((source / "results.json").read_text(encoding="utf-8"))
        for record in document["records"]:
            record["device"]["machine_class"] = machine_class
            record["sampling"]["seed_of_test"] = name
        (source / "results.json").write_text(json.dumps(document), encoding="utf-8")
        return report("keep", source, "--machine", "m", "--name", name, "--folder", tmp_path / "results")

    (tmp_path / "results").mkdir()
    assert keep("first", "amd-f25m17s1-00000000").code == 0
    other = keep("second", "amd-f26m2s1-00000000")
    assert other.code == 2
    assert "measured on amd-f26m2s1-00000000, m/first on amd-f25m17s1-00000000" in other.err
    assert not (tmp_path / "results" / "m" / "second.json.xz").exists()


def test_the_newer_of_two_runs_with_the_same_settings_is_kept(tmp_path):
    results = tmp_path / "results"
    older, newer = run_of(tmp_path / "older", 1), run_of(tmp_path / "newer", 2)

    def keep(source, name):
        return report("keep", source, "--machine", "mine", "--name", name, "--folder", results)

    assert keep(older, "tiny").code == 0
    again = keep(newer, "tiny-2")
    assert again.code == 2
    assert "mine/tiny is a run with the same settings" in again.err
    assert not (results / "mine" / "tiny-2.json.xz").exists()
    assert keep(newer, "tiny").code == 0
    back = keep(older, "tiny")
    assert back.code == 2
    assert "holds a newer run" in back.err
    assert report("keep", newer, "--machine", "other", "--name", "tiny", "--folder", results).code == 0
    assert report("index", "--check", "--folder", results).code == 0


@pytest.mark.parametrize("end", [KeyboardInterrupt, OSError])
def test_an_older_run_is_left_as_it_is_where_keeping_a_newer_one_ends_early(end, tmp_path, monkeypatch):
    older, newer, results = run_of(tmp_path / "older", 1), run_of(tmp_path / "newer", 2), tmp_path / "results"
    assert report("keep", older, "--machine", "mine", "--name", "tiny", "--folder", results).code == 0
    file = results / "mine" / "tiny.json.xz"
    before = file.read_bytes()

    def ended(_):
        raise end

    monkeypatch.setattr(kept, "entry_of", ended)
    with pytest.raises(end):
        kept.keep(newer, "mine", "tiny", results)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_an_unfinished_or_damaged_run_is_not_kept(tmp_path):
    done = report(
        "keep",
        run_of(tmp_path / "run", complete=False),
        "--machine",
        "mine",
        "--folder",
        tmp_path / "results",
    )
    assert done.code == 2
    assert "unfinished" in done.err
    cut = tmp_path / "cut.json.xz"
    cut.write_bytes(lzma.compress(b"{}" * 1000)[:-20])
    done = report("table", "layers", cut)
    assert done.code == 2
    assert "damaged" in done.err


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "mine").touch()
    done = report("keep", run_of(tmp_path / "run"), "--machine", "mine", "--folder", tmp_path)
    assert (done.code, done.out, done.err) == (2, "", f"convscope-report: {tmp_path / 'mine'}: File exists\n")


@pytest.mark.parametrize("flag", ["--machine", "--name"])
@pytest.mark.parametrize("name", ["../../zzz", "a/b", "two words", ".hidden", "..", ""])
def test_a_run_is_kept_in_the_folder_and_under_a_name_only(flag, name, tmp_path):
    names = {"--machine": "mine", "--name": "tiny"} | {flag: name}
    words = [word for pair in names.items() for word in pair]
    done = report("keep", run_of(tmp_path / "run"), *words, "--folder", tmp_path / "in" / "results")
    assert (done.code, done.out) == (2, "")
    assert f"{name!r} cannot be the name of a {'run' if flag == '--name' else 'machine'}" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_a_stale_index_is_found(tmp_path):
    results = tmp_path / "results"
    assert report("keep", run_of(tmp_path / "run"), "--machine", "mine", "--folder", results).code == 0
    (results / "mine" / "run.json.xz").rename(results / "mine" / "renamed.json.xz")
    done = report("index", "--check", "--folder", results)
    assert done.code == 1
    assert "index.csv is stale" in done.out


def test_the_index_is_what_the_kept_runs_say():
    done = report("index", "--check")
    assert (done.code, done.out) == (0, ""), done.err


def cited(text: str, machine: str = "") -> set:
    """The runs and files that a document names, below results/.

    With the path, or a run by MACHINE/NAME alone; in a page of one machine also a run of the paper's by its
    name alone.
    """
    found = re.findall(r"results/([A-Za-z0-9_.*{}/-]+)", text)
    found += re.findall(r"(?<![\w./-])((?:[a-z0-9.]+-)+\d+-cores/[A-Za-z0-9_.-]+)", text)
    if machine:
        found += [f"{machine}/{name}" for name in re.findall(r"(?<![\w./-])paper-[a-z0-9-]+", text)]
    paths = {path.rstrip("./").removesuffix(".json.xz") for path in found}
    return {path for path in paths if path and not path.startswith(("MACHINE", "RUN", "*", "published"))}


def machine_of(name: str) -> str:
    """The machine whose page a document is, if any."""
    parts = Path(name).parts
    return parts[1] if parts[0] == "results" and len(parts) > 2 else ""


def test_documents_cite_runs_that_are_there(root):
    missing = []
    for name in tracked(root):
        if not name.endswith(".md"):
            continue
        for path in cited((root / name).read_text(encoding="utf-8"), machine_of(name)):
            file = root / "results" / path
            if not file.exists() and not file.with_name(file.name + ".json.xz").is_file():
                missing.append(f"{name}: results/{path}")
    assert missing == []


# A run that an experiment's page names without its machine, which the page has named before.
BARE = re.compile(r"`(alexnet-[a-z0-9-]+|(?!results/)[a-z0-9-]+(?:/[a-z0-9-]+)*\.json\.xz)`")


def test_runs_that_experiments_name_without_their_machine_are_there(root):
    pages = sorted((root / "docs/experiments").glob("*.md"))
    named = {(page.name, name) for page in pages for name in BARE.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 5
    missing = [
        (page, name)
        for page, name in sorted(named)
        if not any((root / "results").rglob(name.removesuffix(".json.xz") + ".json.xz"))
    ]
    assert missing == []


def test_a_citation_is_seen():
    text = "of [it](../results/amd/alexnet.json.xz) and `results/index.csv`, in results/."
    assert cited(text) == {"amd/alexnet", "index.csv"}
    named = "### alexnet: A amd-zen4-2-cores/gone, B results/amd-2-cores/2026/paper/runs/again, sm_90-2 cores"
    assert cited(named) == {"amd-zen4-2-cores/gone", "amd-2-cores/2026/paper/runs/again"}
    assert machine_of("results/amd-2-cores/paper/compare.md") == "amd-2-cores"
    assert machine_of("results/README.md") == machine_of("docs/gpu.md") == ""
    assert cited("A paper-base, B again; out/paper-x", "amd-2-cores") == {"amd-2-cores/paper-base"}


def test_the_tree_can_travel(root):
    sizes = {name: (root / name).lstat().st_size for name in tracked(root)}
    largest = sorted(sizes, key=sizes.get)[-5:]
    assert sum(sizes.values()) <= LIMIT_BYTES, f"the largest files: {', '.join(largest)}"


def test_no_kept_run_is_large(root):
    for file in Path(root, "results").glob("*/*.json.xz"):
        assert file.stat().st_size < 1_000_000, file


def test_the_examples_of_help_name_kept_runs_that_are_there(root):
    from convscope_report.cli import VERBS

    named = {word for verb in VERBS.values() for word in verb.example.split() if word.startswith("results/")}
    assert len(named) > 1
    assert [name for name in sorted(named) if not any(root.glob(name))] == []
