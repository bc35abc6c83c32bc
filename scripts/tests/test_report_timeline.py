"""`convscope-report plot-timeline`: schedules as bars, slide 27's two times above them, damaged files."""

import json

import pytest
from report_support import report

from convscope_report.figures import timeline
from convscope_report.steps import Span, read_trace


@pytest.fixture(scope="module")
def folder(tmp_path_factory, small_results, convscope, run_convscope):
    """Modelled steps of two GPUs, by the program, from rows that it measured."""
    out = tmp_path_factory.mktemp("steps") / "out"
    flags = ["--batch", "2", "--gpus", "1,2", "--link", "1GB/s,5us", "--reduce", "tree,ring"]
    flags += ["--overlap", "none,layer"]
    config, trace = small_results.parent / "config.json", out / "trace.json"
    done = run_convscope("step", config, "--rows", small_results, *flags, "--out", out, "--trace", trace)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def plot(folder, out, *flags):
    return report("plot-timeline", folder, "--format", "svg", "-o", out, *flags)


def test_the_programs_own_schedules_are_drawn(folder, tmp_path):
    done = plot(folder, tmp_path, "--where", "gpus=2", "--where", "reduce=tree", "--slide-27")
    assert (done.code, done.err) == (0, "")
    (path,) = done.out.split()
    text = (tmp_path / path.rsplit("/", 1)[1]).read_text(encoding="utf-8")
    for words in (
        "on 2 GPUs, tree, overlap none",
        "on 2 GPUs, tree, overlap layer",
        "PUBLISHED by Kim",
        "error on steps",
    ):
        assert words in text
    assert "190 ms" in text  # slide 27's times: a half of 200 ms, and two transfers


def test_a_schedule_is_as_long_as_its_step(folder):
    rows = json.loads((folder / "steps.json").read_text(encoding="utf-8"))["rows"]
    schedules = read_trace(folder / "trace.json")
    assert len(rows) == len(schedules)
    for row, (title, spans) in zip(rows, schedules, strict=True):
        assert f"{row['reduce']}, overlap {row['overlap']}" in title
        assert timeline.end_of(spans) == pytest.approx(row["step_ms"], rel=1e-6)


def test_slide_27_has_its_two_times_and_a_trees_transfers():
    for gpus, transfers in ((2, 2), (4, 4)):
        _, spans = timeline.of_slide(gpus)
        assert spans[0] == Span("forward and backward", False, 0.0, 200 / gpus)
        assert [span.length for span in spans[1:]] == [45.0] * transfers
        assert timeline.end_of(spans) == 200 / gpus + 45 * transfers


def test_panels_of_steps_share_an_axis_and_bars_their_lanes():
    short = ("a on 2 GPUs", [Span("x forward", False, 0, 10), Span("reduce x", True, 10, 5)])
    long = ("b on 2 GPUs", [Span("x backward_filter", False, 0, 100)])
    figure = timeline.timeline([short, long], "a caption", (timeline.of_slide(2),))
    slide, first, second = figure.drawing.axes
    assert first.get_xlim() == second.get_xlim() == pytest.approx((0, 115))
    assert slide.get_xlim()[1] == pytest.approx(1.15 * 190)
    assert [bar.get_width() for bar in first.patches] == [10, 5]
    assert first.patches[0].get_y() < first.patches[1].get_y()
    words = [text.get_text() for text in figure.drawing.legends[0].get_texts()]
    assert words == ["forward", "backward-filter", "forward and backward", "communication"]


def test_too_many_steps_and_none_are_named(folder, tmp_path):
    done = plot(folder, tmp_path, "--where", "gpus=64")
    assert done.code == 2 and "0 steps to draw" in done.err and "--where" in done.err
    assert plot(folder, tmp_path, "--where", "gpus").code == 2


PROCESS = {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "a"}}
BAR = {"name": "x forward", "ph": "X", "pid": 1, "cat": "compute", "ts": 0, "dur": 1}
BAD = {
    "not JSON": "{",
    "no events": "{}",
    "a word for a time": json.dumps({"traceEvents": [PROCESS, BAR | {"ts": "soon"}]}),
    "a bar of nobody": json.dumps({"traceEvents": [PROCESS, BAR | {"pid": 9}]}),
    "no bars": json.dumps({"traceEvents": [PROCESS]}),
    "a list": "[]",
}


@pytest.mark.parametrize("name", BAD)
def test_a_damaged_trace_is_named(name, folder, tmp_path):
    (tmp_path / "steps.json").write_bytes((folder / "steps.json").read_bytes())
    (tmp_path / "trace.json").write_text(BAD[name], encoding="utf-8")
    done = plot(tmp_path, tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "trace.json" in done.err and "trace" in done.err


def test_a_trace_of_another_run_is_named(folder, tmp_path):
    document = json.loads((folder / "steps.json").read_text(encoding="utf-8"))
    (tmp_path / "steps.json").write_text(json.dumps({"rows": document["rows"][1:]}), encoding="utf-8")
    (tmp_path / "trace.json").write_bytes((folder / "trace.json").read_bytes())
    done = plot(tmp_path, tmp_path)
    assert done.code == 2 and "of another run" in done.err


def test_what_stands_between_convolutions_has_a_colour_of_its_own():
    for name in ("a forward operations", "a backward operations", "a backward of what it reads", "update"):
        assert timeline.kind(Span(name, False, 0, 1)) == "operations"
    assert timeline.kind(Span("a forward", False, 0, 1)) == "forward"
