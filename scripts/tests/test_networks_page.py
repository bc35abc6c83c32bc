"""docs/experiments/networks.md and the errors that modelled tables print, against the kept measurements."""

import json
import lzma
import re
import statistics
import subprocess
from pathlib import Path

import pytest
from report_support import report

PAGE = "docs/experiments/networks.md"
SMALLEST = 4096  # bytes; its tree shows the latency
SIMGRID = 7  # its column in the table of sums, as cells of a line split at "|"


def kept(root: Path, what: str) -> dict:
    """Return the rows of the kept files by rate in MB/s and ranks."""
    files = {}
    for path in sorted(root.glob(f"results/*/networks/{what}-*.json.xz")):
        rate, ranks = re.fullmatch(rf"{what}-(\d+)MBs-(\d+)\.json", path.stem).groups()
        files[int(rate), int(ranks)] = json.loads(lzma.decompress(path.read_bytes()))["rows"]
    assert files
    return files


def links(root: Path) -> dict:
    """Return by rate and ranks the link whose tree of the smallest size takes the time that was measured."""
    found = {}
    for (rate, ranks), rows in kept(root, "allreduce").items():
        tree = next(row for row in rows if (row["reduce"], row["bytes"]) == ("tree", SMALLEST))
        messages = 2 * (ranks - 1).bit_length()
        found[rate, ranks] = round(1e3 * tree["median_ms"] / messages - SMALLEST / rate)
    return found


def run(convscope: Path, root: Path, *words) -> str:
    command = [convscope, *map(str, words)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def of_sum(row: dict) -> tuple:
    return row["reduce"], row["bytes"]


def of_step(row: dict) -> tuple:
    return row["reduce"], row["overlap"], row["compress"]


def modelled_sums(convscope: Path, root: Path, link: str, ranks: int, rows: list, *more) -> dict:
    sizes = ",".join(map(str, dict.fromkeys(row["bytes"] for row in rows)))
    reductions = ",".join(dict.fromkeys(row["reduce"] for row in rows))
    words = ["--link", link, "--gpus", ranks, "--bytes", sizes, "--reduce", reductions, *more]
    printed = run(convscope, root, "allreduce", "--basis", "modelled", *words, "--json")
    return {of_sum(row): row["median_ms"] for row in json.loads(printed)}


def modelled_steps(convscope: Path, root: Path, link: str, ranks: int, rows: list) -> dict:
    words = rows[0]["rerun"].split()
    given = [words[words.index(flag) + 1] for flag in ("--rows", "--batch")]
    asked = ["--reduce", "tree,ring", "--overlap", "none,layer", "--compress", "none,1bit"]
    printed = run(
        convscope, root, "step", "alexnet", "--rows", given[0], "--batch", given[1], "--gpus", ranks,
        "--link", link, *asked, "--json",
    )  # fmt: skip
    modelled = json.loads(printed)
    replaced = f"{given[0]} was replaced: measure and keep the steps again"
    assert modelled[0]["compute_ms"] == pytest.approx(rows[0]["compute_ms"]), replaced
    return {of_step(row): row["step_ms"] for row in modelled}


def scaling(root: Path) -> list:
    """Return the kept files of the steps that were simulated, strong and weak."""
    return [root / f"results/amd-zen4-2-cores/networks/scaling-{name}.json.xz" for name in ("strong", "weak")]


def line(*cells) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def error(measured: float, modelled: float) -> float:
    return 100 * abs(measured / modelled - 1)


def sums(convscope: Path, root: Path, has_simgrid: bool) -> tuple:
    """Return the lines of the page's table of sums and the closed form's errors in percent."""
    lines, errors = [], []
    for (rate, ranks), latency in sorted(links(root).items(), reverse=True):
        link = f"{rate}MB/s,{latency}us"
        rows = [row for row in kept(root, "allreduce")[rate, ranks] if row["bytes"] > SMALLEST]
        formula = modelled_sums(convscope, root, link, ranks, rows)
        simulated = (
            modelled_sums(convscope, root, link, ranks, rows, "--fabric", "simgrid") if has_simgrid else {}
        )
        for row in rows:
            measured, modelled = row["median_ms"], formula[of_sum(row)]
            cells = [f"{rate} MB/s, {latency} us", ranks, row["reduce"], f"{row['bytes'] >> 20} MiB"]
            cells += [f"{measured:.1f}", f"{modelled:.1f}"]
            cells += [f"{simulated[of_sum(row)]:.1f}"] if has_simgrid else []
            lines.append(line(*cells, f"{measured / modelled:.2f}"))
            errors.append(error(measured, modelled))
    return lines, errors


def steps(convscope: Path, root: Path) -> tuple:
    """Return the lines of the page's table of steps and the closed form's errors in percent."""
    lines, errors = [], []
    for (rate, ranks), rows in sorted(kept(root, "step").items()):
        modelled = modelled_steps(convscope, root, f"{rate}MB/s,{links(root)[rate, ranks]}us", ranks, rows)
        for row in rows:
            step = row["step_ms"]
            codes = ", 1bit" if row["compress"] == "1bit" else ""
            lines.append(
                line(ranks, row["reduce"] + codes, row["overlap"], f"{row['compute_ms']:.1f}", f"{step:.1f}",
                     f"{modelled[of_step(row)]:.1f}", f"{step / modelled[of_step(row)]:.2f}")
            )  # fmt: skip
            errors.append(error(step, modelled[of_step(row)]))
    return lines, errors


def words_of(errors: list) -> str:
    return f"median {statistics.median(errors):.0f}%, largest {max(errors):.0f}%"


def test_the_page_has_the_table_of_sums(convscope, root):
    has_simgrid = (convscope.parent / "convscope_simgrid").exists()
    page = (root / PAGE).read_text().splitlines()
    if not has_simgrid:
        page = [
            "|".join(cells[:SIMGRID] + cells[SIMGRID + 1 :]) for cells in (text.split("|") for text in page)
        ]
    lines, errors = sums(convscope, root, has_simgrid)
    assert "\n".join(lines) in "\n".join(page), "\n".join(lines)
    assert f"Sums: {words_of(errors)}." in (root / PAGE).read_text(), words_of(errors)


def test_the_page_has_the_table_of_steps(convscope, root):
    lines, errors = steps(convscope, root)
    page = (root / PAGE).read_text()
    assert "\n".join(lines) in page, "\n".join(lines)
    assert f"Steps: {words_of(errors)}." in page, words_of(errors)


def test_the_page_has_the_table_of_scaling(root):
    done = report("table", "step-scaling", *scaling(root), "--where", "overlap=layer", "--format", "markdown")
    assert done.code == 0, done.err
    table = "\n".join(text for text in done.out.splitlines() if text.startswith("|"))
    assert table.count("\n") > 15
    page = (root / PAGE).read_text()
    assert table in page, table
    rows = [row for file in scaling(root) for row in json.loads(lzma.decompress(file.read_bytes()))["rows"]]
    timed = [row for row in rows if row["outcome"] == "good"]
    assert all(row["step_ms"] == pytest.approx(row["closed_form_ms"], rel=1e-5) for row in timed)
    ring = {
        row["overlap"]: row["step_ms"]
        for row in timed
        if (row["reduce"], row["gpus"], row["scaling"]) == ("ring", 1024, "strong")
    }
    assert f"({ring['none']:.1f} ms, by layer {ring['layer']:.1f})" in page


@pytest.mark.parametrize("fabric", ["closed form", "simgrid"])
def test_the_kept_steps_to_1024_gpus_are_what_is_modelled_today(convscope, root, fabric):
    if fabric == "simgrid" and not (convscope.parent / "convscope_simgrid").exists():
        pytest.skip("convscope was built without SimGrid (Debian: apt install libsimgrid-dev)")
    for file in scaling(root):
        document = json.loads(lzma.decompress(file.read_bytes()))
        words = document["argv"][1:]
        for flag in ["--out", *["--fabric"] * (fabric == "closed form")]:
            del words[words.index(flag) : words.index(flag) + 2]
        words[words.index("--reduce") + 1] = "tree"  # the others take minutes to simulate
        expected = [row for row in document["rows"] if row["reduce"] == "tree" and row["outcome"] == "good"]
        assert {row["fabric"] for row in expected} == {"simgrid"}
        assert max(row["gpus"] for row in expected) == 1024
        now = [row for row in json.loads(run(convscope, root, *words, "--json")) if row["outcome"] == "good"]
        column = "step_ms" if fabric == "simgrid" else "closed_form_ms"
        assert [row["step_ms"] for row in now] == pytest.approx([row[column] for row in expected], rel=1e-6)


def test_every_kept_row_is_right_and_was_really_sent(root):
    for what in ("allreduce", "eager", "step"):
        for rows in kept(root, what).values():
            assert {row["outcome"] for row in rows} == {"good"}
            assert {row["fabric"] for row in rows} == {"mpi"}
            assert {row["basis"] for row in rows} == {"replayed" if what == "step" else "measured"}


def printed(convscope: Path, root: Path, *words) -> set:
    """Return what the tables of a modelled command say about the model's error."""
    text = run(convscope, root, *words, "--link", "5GB/s,5us")
    tables = text.count("modelled, closed form")
    said = re.findall(r"^  model's error on .*$", text, re.MULTILINE)
    assert tables == len(said) > 0
    return set(said)


def test_modelled_tables_say_what_the_page_says(convscope, root):
    said = printed(convscope, root, "allreduce", "--basis", "modelled", "--gpus", "2,4", "--bytes", "1MiB")
    errors = words_of(sums(convscope, root, False)[1])
    assert said == {f"  model's error on sums: {errors} ({PAGE})"}
    kept_records = "results/amd-zen4-2-cores/alexnet-batch-64.json.xz"
    said = printed(convscope, root, "step", "alexnet", "--rows", kept_records, "--batch", 128, "--gpus", 2)
    errors = words_of(steps(convscope, root)[1])
    assert said == {f"  model's error on steps: {errors} ({PAGE})"}


def test_modelled_rows_have_the_errors_of_the_page(convscope, root):
    kept_records = "results/amd-zen4-2-cores/alexnet-batch-64.json.xz"
    step = ["step", "alexnet", "--rows", kept_records, "--batch", 128, "--gpus", 2]
    sum_of = ["allreduce", "--basis", "modelled", "--gpus", "2,4", "--bytes", "1MiB"]
    for words, errors in ((step, steps(convscope, root)[1]), (sum_of, sums(convscope, root, False)[1])):
        rows = json.loads(run(convscope, root, *words, "--link", "5GB/s,5us", "--json"))
        expected = {(round(statistics.median(errors)) / 100, round(max(errors)) / 100)}
        assert {(row["model_error_median"], row["model_error_largest"]) for row in rows} == expected


def test_the_guide_says_the_same(convscope, root):
    guide = " ".join((root / "docs/step.md").read_text().split())
    for what, made in (("sums", sums(convscope, root, False)), ("steps", steps(convscope, root))):
        assert f"{what}: {words_of(made[1])}" in guide


def test_the_page_says_what_sending_at_once_saves(root):
    page = " ".join((root / PAGE).read_text().split())
    usual = {of_sum(row): row["median_ms"] for row in kept(root, "allreduce")[50, 4]}
    at_once = {of_sum(row): row["median_ms"] for row in kept(root, "eager")[50, 4]}
    for reduce in ("ring", "halving", "striped"):
        key = reduce, 4 << 20
        assert f"{reduce} {usual[key]:.0f} ms and {at_once[key]:.0f}" in page, (usual[key], at_once[key])
