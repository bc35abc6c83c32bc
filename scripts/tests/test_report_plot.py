"""`convscope-report plot`: files of every kind; each drawing has units on its axes and names the machine."""

import re
from pathlib import Path

import matplotlib.colors
import numpy
import pytest
from matplotlib import pyplot
from PIL import Image
from report_support import DATA

from convscope_report import results
from convscope_report.cli import main
from convscope_report.contexts import counts_of
from convscope_report.figures import COLOURS, NAMES, figures, planes, speedups, style

# Words that make an axis label one with a unit; categories (layers, algorithms) are labelled by their ticks.
UNITS = ("(ms", "(GFLOP", "(flop/byte", "(MiB)", "f64", "threads", "images", "over the", "speed")


@pytest.fixture(scope="module")
def drawn(small_results):
    """Every figure of the forward pass of the small results, by name."""
    loaded = results.load([str(small_results)]).where(**{"pass": ["forward"]})
    return loaded, {name: figures(name, loaded) for name in NAMES}


def test_the_verb_knows_every_figure():
    folder = Path(style.__file__).parent
    texts = [path.read_text() for path in folder.glob("*.py")]
    functions = {name for text in texts for name in re.findall(r"^def (\w+)\(results\) -> list", text, re.M)}
    assert functions == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_units_and_machine(drawn, name):
    loaded, figures = drawn
    machine = loaded.records["device_name"].iloc[0]
    assert figures[name]
    for figure in figures[name]:
        words = [" ".join(text.get_text().split()) for text in figure.drawing.texts]  # lines are wrapped
        assert any(machine in text for text in words)
        shown = [axis for axis in figure.drawing.axes if axis.get_visible()]
        labels = [label for axis in shown for label in (axis.get_xlabel(), axis.get_ylabel()) if label]
        assert labels and all(any(unit in label for unit in UNITS) for label in labels), labels


def test_names_with_dollars_are_drawn_as_they_are(small_results, tmp_path):
    loaded = results.load([str(small_results)])
    name = r"a$\badmacro{$"
    renamed = results.Results(loaded.records.assign(layer=name), loaded.runs)
    for figure in figures("layers", renamed):
        figure.drawing.savefig(tmp_path / "figure.svg")
        assert name in (tmp_path / "figure.svg").read_text(encoding="utf-8")


def test_marks_are_the_medians_and_so_are_bars_of_a_single_layer(drawn):
    loaded, drawings = drawn
    rows = loaded.ranked()
    rows = rows[(rows["pass"] == "forward") & (rows["batch"] == 1)]
    axis = drawings["layers"][0].drawing.axes[0]
    marks = sorted(x for points in axis.collections for x, _ in points.get_offsets())
    assert marks == pytest.approx(sorted(rows["full_median_ms"])) and axis.get_xscale() == "log"
    alone = figures("layers", loaded.where(layer=["a"], batch=["1"]))[0].drawing.axes[0]
    own = rows[rows["layer"] == "a"].sort_values("rank")
    top = max(bar.get_width() for bar in alone.patches)
    assert [bar.get_width() for bar in alone.patches] == pytest.approx(
        [min(value, top) for value in own["full_median_ms"]]
    )
    assert [label.get_text() for label in alone.get_yticklabels()] == list(own["algorithm"])
    assert alone.get_xscale() == "linear"
    pyplot.close("all")


@pytest.mark.parametrize(
    ("values", "labels"), [([6, 90], ["10", "20", "50"]), ([0.02, 90], ["0.1", "1", "10"])]
)
def test_logarithmic_axes_have_few_plain_labels(values, labels):
    _, axis = pyplot.subplots()
    axis.plot(values, [1, 1])
    style.log_axis(axis, "x")
    axis.figure.canvas.draw()
    assert [
        label for label in labels if label in [text.get_text() for text in axis.get_xticklabels()]
    ] == labels
    assert not any("$" in text.get_text() for text in axis.get_xticklabels())
    pyplot.close("all")


def test_a_disturbed_record_is_marked_d(drawn):
    loaded, _ = drawn
    standings = ["disturbed" if rank == 2 else standing for rank, standing in
                 zip(loaded.records["rank"], loaded.records["standing"], strict=True)]  # fmt: skip
    spoilt = results.Results(loaded.records.assign(standing=standings), loaded.runs)
    for name in ("layers", "accuracy"):
        figure = figures(name, spoilt)[0].drawing
        assert "d" in [text.get_text() for axis in figure.axes for text in axis.texts]
        assert any("d: disturbed" in text.get_text() for text in figure.texts)
    pyplot.close("all")


def test_a_roofline_marks_the_ceilings_that_a_record_beats(drawn):
    loaded, drawings = drawn

    def marked(figure):
        texts = [text.get_text() for axis in figure.drawing.axes for text in axis.texts]
        captions = [text.get_text() for text in figure.drawing.texts]
        said = any("? behind a ceiling" in text for text in captions)
        return {text.split(" ")[0] for text in texts if text.endswith("?")}, said

    first = loaded.ranked().index[0]
    for bound, name in (("compute", "multiply-add"), ("memory", "memory")):
        records = loaded.records.copy()
        records.loc[first, ["suspect_ceiling", "bound"]] = [True, bound]
        spoilt = results.Results(records, loaded.runs)
        assert any(marked(figure) == ({name}, True) for figure in figures("roofline", spoilt)), bound
    clean = results.Results(loaded.records.assign(suspect_ceiling=None), loaded.runs)
    assert all(marked(figure) == (set(), False) for figure in figures("roofline", clean))
    pyplot.close("all")


def test_the_front_has_what_nothing_beats(drawn):
    loaded, _ = drawn
    rows = loaded.ranked()
    rows = rows[(rows["pass"] == "forward") & (rows["batch"] == 1) & (rows["layer"] == "a")]
    points = [(row["workspace_bytes"] / 2**20, row["full_median_ms"]) for row in rows.to_dict("records")]
    best = [
        one for one in points if not any(a <= one[0] and b <= one[1] and (a, b) != one for a, b in points)
    ]
    front = planes.front(rows.assign(mib=rows["workspace_bytes"].astype(float) / 2**20))
    assert front == sorted(best)


def test_a_layer_that_fails_at_one_number_of_threads_leaves_no_sum_there():
    ranked = results.load([DATA / "sweep"]).where(batch=["4"]).ranked()
    failed = (ranked["layer"] == "conv2") & (ranked["threads"] == 2)
    counts = counts_of(ranked)
    assert {value for value, _ in speedups.network_sums(ranked, "threads", counts)} == {1, 2}
    assert {value for value, _ in speedups.network_sums(ranked[~failed], "threads", counts)} == {1}
    disturbed = speedups.network_sums(ranked.assign(standing="disturbed"), "threads", counts)
    assert {total.sign for total in disturbed.values()} == {"d"}
    assert speedups.without_sum(ranked, "threads", counts) == []
    assert speedups.without_sum(ranked[~failed], "threads", counts) == [
        "threads 2: no right record of conv2, so no sum"
    ]


def test_a_layer_without_a_right_record_leaves_no_sum_of_the_others():
    loaded = results.load([DATA / "sweep"]).where(batch=["4"])
    assert len(speedups.scaling(loaded)) == 1
    lost = loaded.records["rank"].mask(loaded.records["layer"] == "conv2", None)
    assert speedups.scaling(results.Results(loaded.records.assign(rank=lost), loaded.runs)) == []
    pyplot.close("all")


def test_a_speed_up_is_over_the_first_value_of_the_axis_or_not_drawn():
    sums = {
        (value, name): speedups.Sum(ms)
        for name, times in (("all", {1: 8.0, 2: 4.0, 4: 2.0}), ("late", {2: 4.0, 4: 2.0}))
        for value, ms in times.items()
    }
    heading = ("title", "question", "text")
    axes = speedups.lines(heading, sums, ["all", "late"], {}, "threads", "speed-up").axes
    assert [line.get_label() for line in axes[0].lines] == ["all", "late"]
    drawn = [list(line.get_ydata()) for line in axes[1].lines if line.get_linestyle() == "-"]
    assert drawn == [[1.0, 2.0, 4.0]]
    axes = speedups.lines(heading, sums, ["all", "late"], {}, "images a batch", "images/s").axes
    assert [list(line.get_ydata()) for line in axes[1].lines] == [[125.0, 500.0, 2000.0], [500.0, 2000.0]]
    pyplot.close("all")


def test_times_at_several_caps_are_over_the_layers_fastest_at_any():
    ranked = results.load([DATA / "caps"]).ranked()
    axis = planes.together("title", "text", ranked, style.looks(ranked)).axes[0]
    times = ranked["full_median_ms"].astype(float)
    expected = sorted(times / times.groupby(ranked["layer"]).transform("min"))
    drawn = sorted(y for points in axis.collections for _, y in points.get_offsets())
    assert drawn == pytest.approx(expected)
    assert expected.count(1.0) == 3 < list(ranked["over_winner"]).count(1.0)
    pyplot.close("all")


def test_colours_are_told_apart_without_red_and_green():
    """Every two families differ in brightness or on the blue-yellow axis, which the colour-blind keep."""
    colours = [matplotlib.colors.to_rgb(colour) for colour in COLOURS.values()]
    seen = [(0.3 * r + 0.59 * g + 0.11 * b, b - (r + g) / 2) for r, g, b in colours]
    for index, one in enumerate(seen):
        for other in seen[index + 1 :]:
            assert numpy.hypot(one[0] - other[0], one[1] - other[1]) > 0.08


def test_algorithms_of_a_family_differ_without_colour(drawn):
    loaded, _ = drawn
    looks = style.looks(loaded.records)
    assert len({(look.colour, look.hatch) for look in looks.values()}) == len(looks)
    assert len({(look.colour, look.marker, look.filled) for look in looks.values()}) == len(looks)


def test_files_of_every_kind(small_results, tmp_path, capsys):
    flags = ["--where", "pass=forward", "--where", "batch=1"]
    assert (
        main(["plot", "layers", str(small_results), "-o", str(tmp_path), "--format", "png,svg,pdf", *flags])
        == 0
    )
    paths = [tmp_path / line.rsplit("/", 1)[1] for line in capsys.readouterr().out.split()]
    assert [path.suffix for path in paths] == [".png", ".svg", ".pdf"]
    with Image.open(paths[0]) as image:
        assert image.width > 1000
        assert len(image.convert("RGB").getcolors(1 << 24)) > 50
    assert b"median time (ms, log)" in paths[1].read_bytes()
    assert paths[2].read_bytes().startswith(b"%PDF")
    first = paths[1].read_bytes()
    main(["plot", "layers", str(small_results), "-o", str(tmp_path), "--format", "png,svg,pdf", *flags])
    assert paths[1].read_bytes() == first


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (
            ["scaling", "--where", "batch=1"],
            "out: scaling: every record has the same threads and batch; run with --threads",
        ),
        (
            ["scaling", "--where", "outcome=unsupported"],
            "out: none of the records was measured and is right",
        ),
        (["layers", "--format", "jpeg"], "found 'jpeg'; allowed are png, svg, pdf"),
        (["roofline", "--where", "outcome=unsupported"], "out: none of the records was measured"),
    ],
)
def test_what_cannot_be_drawn_is_said(small_results, tmp_path, capsys, flags, words):
    assert main(["plot", flags[0], str(small_results), "-o", str(tmp_path), *flags[1:]]) == 2
    assert words in capsys.readouterr().err
