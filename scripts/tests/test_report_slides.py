"""`convscope-report table slides`: the speed-ups of the slides' two times, and what their text says."""

import json
import lzma
from types import SimpleNamespace

import pytest
from report_support import report

from convscope_report.tables.slides import claim, sentences, slides


def test_speed_ups_follow_from_the_two_times_and_the_closed_forms(convscope):
    (table,) = slides(None, SimpleNamespace(convscope=str(convscope)))
    lines = {(row[0], row[1]): row[2:6] for row in table.rows}
    assert len(lines) == 6
    for (batch, gpus), (compute, tree, ring, one_bit) in lines.items():
        alone = 200 * batch / 256
        assert compute == pytest.approx(alone / gpus)
        levels = {2: 1, 4: 2}[gpus]
        assert tree == pytest.approx(alone / (compute + 2 * levels * 45), rel=1e-4)
        share = 2 * (gpus - 1) / gpus
        assert ring == pytest.approx(alone / (compute + share * 45), rel=1e-4)
        assert one_bit == pytest.approx(alone / (compute + share * 45 / 31.49), rel=1e-3)


def test_what_the_text_says_is_compared_and_nothing_else_is_claimed(convscope):
    (table,) = slides(None, SimpleNamespace(convscope=str(convscope)))
    said = {(row[0], row[1]): row[6:] for row in table.rows}
    assert said[256, 2] == said[256, 4] == said[512, 2] == [None, None]
    assert said[128, 2] == ["worse than one GPU (s. 26)", "tree yes, ring no"]
    assert said[512, 4][1].startswith("tree yes; 1-bit 1.49")


def test_what_could_make_the_1_bit_step_so_long_is_said_as_the_page_says_it(convscope, root):
    """51 ms: arithmetic of the slides' numbers, beside what a codec on an H100 was measured to take."""
    (table,) = slides(None, SimpleNamespace(convscope=str(convscope)))
    [said] = [note for note in table.footnotes if note.startswith("Slide 30")]
    assert "that step takes 153 ms, 51 more: what a codec of 4.9 GB/s takes, or 1.1 transfers" in said
    kept = "results/nvidia-h100-80gb-hbm3/operations/operations-alexnet"
    rows = json.loads(lzma.decompress((root / f"{kept}.json.xz").read_bytes()))
    rows = [row for row in rows["rows"] if row["operation"] == "1bit" and row["outcome"] == "measured"]
    values = sum(row["bytes"] for row in rows) / 16
    rate = 4e-6 * values / sum(row["median_ms"] for row in rows)
    page = " ".join((root / "docs/tables.md").read_text(encoding="utf-8").split())
    assert f"{values * 1e-6:.2f} million values, at {rate:.0f} GB/s of gradient (`{kept}`)" in page
    assert f"336 GB/s are {336 * 4 / 16:.0f} GB/s of gradient" in page


@pytest.mark.parametrize(
    ("case", "gain", "agrees"),
    [
        ((128, 2), {"tree": 1.2, "ring": 0.9}, "tree no, ring yes"),
        ((512, 4), {"tree": 2.0, "striped": 2.62}, "tree no; 1-bit 1.00 times that"),
    ],
)
def test_a_model_that_disagrees_is_said_to(case, gain, agrees):
    assert claim(*case, gain)[1] == agrees


def own_rows(batches=(4, 8, 16), gpus=(1, 2, 4), transfer=45.0, one=200.0):
    """Modelled steps without overlap: `one` ms on one GPU at the middle batch, compute shared evenly."""
    rows = []
    for batch in batches:
        alone = one * batch / batches[1] if len(batches) > 1 else one
        for count in gpus:
            for reduce, compress in (("tree", "none"), ("ring", "none"), ("striped", "1bit")):
                sent = {"tree": 2 * (count // 2), "ring": 2 * (count - 1) / count}.get(reduce, 0.0) * transfer
                step = alone / count + sent
                rows.append(
                    {
                        "network": "small",
                        "batch": batch,
                        "gpus": count,
                        "basis": "modelled",
                        "reduce": reduce,
                        "compress": compress,
                        "overlap": "none",
                        "outcome": "good",
                        "device_name": "A processor",
                        "link_gbs": 2.5,
                        "step_ms": step,
                        "compute_ms": alone / count,
                        "comm_alone_ms": sent,
                        "speedup": alone / step,
                    }
                )
    return rows


@pytest.fixture
def folder(tmp_path):
    def write(rows):
        (tmp_path / "steps.json").write_text(json.dumps({"rows": rows}), encoding="utf-8")
        return tmp_path

    return write


def test_a_machines_own_inputs_stand_beside_those_of_the_paper(folder, convscope):
    options = SimpleNamespace(convscope=str(convscope), steps=[folder(own_rows())])
    (table,) = slides(None, options)
    assert "small, modelled: compute from rows of A processor, link 2.5 GB/s" in table.circumstances
    assert [(row[0], row[6]) for row in table.rows] == [
        (128, 4),
        (128, 4),
        (256, 8),
        (256, 8),
        (512, 16),
        (512, 16),
    ]
    for row in table.rows:  # the same two times give the same speed-ups
        assert row[2:5] == pytest.approx([cell.value for cell in row[7:10]], rel=1e-4)
        assert not any(cell.suspect for cell in row[7:11])
        assert row[12] is None or row[12].split(";")[0] == row[13].split(";")[0]
    (slide_27,) = (note for note in table.footnotes if note.startswith("Slide 27"))
    assert "here 0.23 (45 of 200 ms at batch 8)" in slide_27


def test_times_of_disturbed_records_are_marked(folder, convscope):
    rows = [row | {"suspect": row["batch"] == 8} for row in own_rows()]
    done = report("table", "slides", folder(rows), "--convscope", convscope)
    assert done.code == 0 and done.out.count("^") == 2 * 4 + 1
    assert "^ from records that were throttled or disturbed while measured" in done.out


def test_each_slide_has_one_sentence_with_and_without_a_machine(folder, convscope):
    for steps in ([], [folder(own_rows(transfer=1.0))]):
        (table,) = slides(None, SimpleNamespace(convscope=str(convscope), steps=steps))
        for slide in ("26", "27", "30"):
            (said,) = (note for note in table.footnotes if note.startswith(f"Slide {slide} "))
            assert said.endswith(".") and ("here" in said or "this machine's" in said) == bool(steps)
        said = next(note for note in table.footnotes if note.startswith("Slide 26"))
        assert "With the slides' times a tree with 3 of 3 and a ring with 0 of 3 agrees" in said
        if steps:
            assert "with this machine's a tree with 0 of 3" in said


def test_how_far_the_model_is_from_what_was_measured_stands_below_it(folder, convscope):
    (table,) = slides(None, SimpleNamespace(convscope=str(convscope)))
    assert [note for note in table.footnotes if note.startswith("model's error on sums: median ")]
    own = [row | {"model_error_median": 0.04, "model_error_largest": 0.18} for row in own_rows()]
    done = report("table", "slides", folder(own), "--convscope", convscope)
    assert "model's error on steps: median 4%, largest 18% (docs/experiments/networks.md)" in done.out


def test_a_codec_slower_than_the_label_is_said_to_contradict_it():
    gains = {place: {"tree": 1.0, "ring": 1.0, "striped": 2.0} for place in [(128, 2), (128, 4), (512, 4)]}
    assert "the slides' times contradict it" in sentences(gains, None)[2]


INCOMPLETE = {
    "two batches": (own_rows(batches=(4, 8)), "of 2 batches"),
    "no step on 4 GPUs": (own_rows(gpus=(1, 2)), "none of batch 4 on 4 GPUs, tree"),
    "no speed-ups": ([row | {"speedup": None} for row in own_rows()], "of 0 batches"),
    "of a run": ([row | {"basis": "measured"} for row in own_rows()], "of 0 batches"),
    "two numbers of threads": (
        [row | {"threads": threads} for threads in (1, 2) for row in own_rows()],
        "are from records that differ in threads; give `convscope step --rows` a run",
    ),
    "all refused": (
        [row | {"outcome": "refused"} for row in own_rows()],
        f"no step has a time: {len(own_rows())} refused; the column reason says why",
    ),
    "no numbers": ([own_rows()[0] | {"step_ms": "fast"}], "no rows of steps"),
    "none": ([], "it holds no steps"),
}


@pytest.mark.parametrize("name", INCOMPLETE)
def test_steps_that_lack_something_are_refused_with_what_to_run(name, folder, convscope):
    rows, said = INCOMPLETE[name]
    done = report("table", "slides", folder(rows), "--convscope", convscope)
    assert (done.code, done.out) == (2, "")
    assert said in done.err and "step" in done.err


def test_a_folder_without_steps_and_two_folders_are_refused(folder, tmp_path, convscope):
    done = report("table", "slides", tmp_path / "none", "--convscope", convscope)
    assert done.code == 2 and "cannot be read" in done.err
    full = folder(own_rows())
    done = report("table", "slides", full, full, "--convscope", convscope)
    assert done.code == 2 and "takes one folder" in done.err
