"""`convscope-report steps` and `plot-step`: the table and the figure of steps, and files that hold none."""

import json
import lzma

import pytest

from convscope_report.cli import main
from convscope_report.figures import steps

WHOLE = {
    "network": "small",
    "batch": 2,
    "chains": 1,
    "threads": 2,
    "choose": "tuned",
    "device_name": "A processor",
    "layer": None,
    "task": "step",
    "algorithm": None,
    "inside_ms": 4.0,
    "inside_low_ms": 3.5,
    "inside_high_ms": 4.5,
    "alone_ms": None,
    "winner_alone": None,
    "regret": 1.25,
    "regret_shown": True,
    "convolutions_ms": 2.0,
    "convolutions_alone_ms": 2.5,
    "inside_over_alone": 0.8,
}


def rows():
    forward = WHOLE | {
        "layer": "one",
        "task": "forward",
        "algorithm": "a.cpu",
        "winner_alone": "b.cpu",
        "inside_ms": 2.0,
        "alone_ms": 2.5,
    }
    relu = WHOLE | {"layer": "one", "task": "relu", "inside_ms": 0.5}
    update = WHOLE | {"layer": "one", "task": "update", "inside_ms": 1.5, "inside_low_ms": None}
    return [forward, relu, update, WHOLE]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tasks.json").write_text(json.dumps({"rows": rows()}))
    return tmp_path


def test_a_step_is_drawn_with_its_machine_and_units():
    figure = steps.step(rows())
    words = [" ".join(text.get_text().split()) for text in figure.drawing.texts]
    assert any("A processor" in text for text in words)
    assert any("small, a training step of 2 images" in text for text in words)
    whole, convolutions = figure.drawing.axes
    assert whole.get_xlabel() == convolutions.get_xlabel() == "time (ms)"
    assert [bar.get_width() for bar in whole.patches] == [2.0, 0.5, 1.5]
    assert [label.get_text() for label in convolutions.get_yticklabels()] == ["one forward"]


def test_files_are_written_from_a_folder_and_a_compressed_file(folder, tmp_path, capsys):
    compressed = tmp_path / "kept.json.xz"
    compressed.write_bytes(lzma.compress((folder / "tasks.json").read_bytes()))
    out = tmp_path / "figures"
    assert main(["plot-step", str(folder), str(compressed), "--format", "svg,pdf", "-o", str(out)]) == 0
    printed = capsys.readouterr().out.split()
    assert [path.rsplit("/", 1)[1] for path in printed] == [
        "step-small.svg",
        "step-small.pdf",
        "step-small-2.svg",
        "step-small-2.pdf",
    ]
    assert all((out / path.rsplit("/", 1)[1]).stat().st_size > 1000 for path in printed)


def test_a_network_whose_name_is_no_file_name_is_drawn(tmp_path, capsys):
    (tmp_path / "tasks.json").write_text(json.dumps({"rows": [row | {"network": "a/b"} for row in rows()]}))
    assert main(["plot-step", str(tmp_path), "--format", "svg", "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'step-a-b.svg'}\n"


def test_the_table_has_a_line_a_step(folder, capsys):
    assert main(["steps", str(folder), "--format", "markdown"]) == 0
    printed = capsys.readouterr().out
    line = "| A processor | small | 2 | 1 | 2 | 4.000 | 2.000 | 2.500 | 0.8000 | 1 of 1 | 1 | 1.250 |"
    assert line in printed


def test_a_step_on_a_gpu_has_no_threads(tmp_path, capsys):
    of_gpu = [row | {"device": "cuda", "threads": None} for row in rows()]
    (tmp_path / "tasks.json").write_text(json.dumps({"rows": of_gpu}))
    assert main(["steps", str(tmp_path), "--format", "markdown"]) == 0
    assert "| A processor | small | 2 | 1 | - | 4.000" in capsys.readouterr().out
    drawn = " ".join(text.get_text() for text in steps.step(of_gpu).drawing.texts)
    assert "thread" not in drawn
    assert "fp32 nchw, algorithms" in " ".join(drawn.split())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "[" * 100_000,
        '{"rows": []}',
        '{"rows": [1, 2]}',
        '{"rows": [{"network": "a"}, {}]}',
        json.dumps({"rows": [WHOLE | {"inside_ms": "fast"}, WHOLE]}),
        json.dumps({"rows": [WHOLE | {"batch": None}, WHOLE]}),
        json.dumps({"rows": [WHOLE | {"inside_low_ms": "fast"}, WHOLE]}),
        json.dumps({"rows": [WHOLE, WHOLE]}),
        json.dumps({"rows": [{k: v for k, v in row.items() if k != "threads"} for row in rows()]}),
    ],
)
def test_what_is_no_step_is_refused(tmp_path, capsys, text):
    (tmp_path / "tasks.json").write_text(text)
    assert main(["plot-step", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "no rows of a step" in said and "name a folder of `step --out`" in said


def test_a_step_of_a_stand_in_for_a_gpu_is_refused(tmp_path, capsys):
    virtual = [row | {"device_name": "a stand-in (virtual time)"} for row in rows()]
    (tmp_path / "tasks.json").write_text(json.dumps({"rows": virtual}))
    for verb in ("steps", "plot-step"):
        assert main([verb, str(tmp_path)]) == 2
        assert "time is virtual" in capsys.readouterr().err
    assert main(["--virtual-time", "steps", str(tmp_path)]) == 0


def test_a_folder_without_a_step_and_an_unknown_format_are_named(folder, tmp_path, capsys):
    assert main(["plot-step", str(tmp_path / "none")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert main(["plot-step", str(folder), "--format", "gif"]) == 2
    assert "allowed are png, svg, pdf" in capsys.readouterr().err


def test_the_page_of_experiments_has_the_table_of_the_kept_steps(root, capsys):
    kept = sorted(root.glob("results/*/steps/*.json.xz"))
    assert main(["steps", *map(str, kept), "--format", "markdown"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    page = (root / "docs/experiments/steps.md").read_text()
    assert len(lines) == len(kept) + 2
    assert "\n".join(lines) in page
