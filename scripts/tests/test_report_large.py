"""The report and the figures of 60 layers with awkward names and 20 algorithms, and of one of them."""

import json
import re
from itertools import combinations

import chromium
import pytest
from matplotlib import pyplot
from report_support import DATA

from convscope_report import results
from convscope_report.cli import main
from convscope_report.figures import figures, style

NAMES = [r"a$\bad{$", "b|c`d`", "<i>e</i>", "*f_g*", "inception_5b/5x5_reduce_and_a_long_name_behind_it"]
LAYERS = [*NAMES, *(f"inception_{place}a/3x3_reduce" for place in range(55))]
ALGORITHMS = 20


def network(folder, layers, algorithms=ALGORITHMS):
    """Writes a run that nobody measured: every layer with so many algorithms, one 1,000 times the fastest."""
    document = json.loads((DATA / "basic" / "results.json").read_text(encoding="utf-8"))
    good = [record for record in document["records"] if record["outcome"] == "measured"]
    records = []
    for number, layer in enumerate(layers):
        for place in range(algorithms):
            text = json.dumps(good[place % 3])
            record = json.loads(text)
            record["key"]["layer"] = layer
            problem = record["key"]["problem"].split(" ")
            record["key"]["problem"] = " ".join(["forward", *problem[1:]])
            name = f"winograd.f{place}x{place}_3x3.cpu" if place else record["key"]["algorithm"]
            record["key"]["algorithm"] = record["algorithm"]["id"] = name
            factor = (1 + number) * (1000 if place == algorithms - 1 else 1 + 0.3 * place)
            for series in ("full", "inference", "kernel", "repeat"):
                values = (record["time"] or {}).get(series) or {}
                for what, value in values.items():
                    if what == "samples_seconds":
                        values[what] = [factor * sample for sample in value[:6]]
                    elif what.endswith("_seconds") and isinstance(value, float):
                        values[what] = factor * value
            records.append(record)
    document["records"] = records
    folder.mkdir()
    (folder / "results.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def large(tmp_path_factory, run_convscope):
    folder = network(tmp_path_factory.mktemp("large") / "run", LAYERS)
    (folder / "results.csv").write_text(run_convscope("csv", folder).stdout, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def loaded(large, convscope):
    return results.load([large], convscope=str(convscope))


@pytest.fixture(scope="module")
def page(large, convscope):
    path = large.parent / "report.html"
    assert main(["report", str(large), "-o", str(path), "--convscope", str(convscope)]) == 0
    return path


def overlapping(boxes):
    """The pairs of (text, left, top, right, bottom) that share more than a hair."""
    return [
        (one[0], other[0])
        for one, other in combinations(boxes, 2)
        if min(one[3], other[3]) - max(one[1], other[1]) > 1
        and min(one[4], other[4]) - max(one[2], other[2]) > 1
    ]


def test_every_layer_is_a_line_of_the_grid_with_its_name_as_it_is(page):
    text = page.read_text(encoding="utf-8")
    lines = re.findall(r'<tr><th scope="row">(.*?)</th>', text.split("<tfoot>")[0])
    names = [line.replace("<wbr>", "").replace("&lt;", "<").replace("&gt;", ">") for line in lines]
    assert names == LAYERS
    assert "<i>e" not in text and len(text.encode()) < 1_500_000


DRAWN = """
  const boxes = (svg) => [...svg.querySelectorAll("text")].filter((one) => !one.closest("[transform]"))
    .map((one) => { const box = one.getBoundingClientRect();
      return [one.textContent, box.left, box.top, box.right, box.bottom]; });
  const charts = () => [...document.querySelectorAll("#figures svg")].slice(0, 3).map((svg) => ({
    name: svg.getAttribute("aria-label"), width: svg.getBoundingClientRect().width, boxes: boxes(svg),
    texts: boxes(svg).map((one) => one[0]), bars: svg.querySelectorAll("rect.mark").length }));
  const all = charts();
  const select = document.querySelector("#filters select[name=layer]");
  select.value = [...select.options].find((one) => one.text === "*f_g*").value;
  select.dispatchEvent(new Event("change"));
  return { all, one: charts() };"""


def test_labels_of_60_layers_do_not_overlap_and_bars_of_one_layer_have_names(page, tmp_path):
    browser = chromium.find()
    if browser is None:
        pytest.skip("no Chromium: scripts/setup installs it on Debian; Ubuntu has it as a snap only")
    seen = chromium.ask(browser, page, tmp_path, DRAWN)
    assert seen["faults"] == []
    for chart in seen["answer"]["all"]:
        assert overlapping(chart["boxes"]) == [], chart["name"]
        assert chart["width"] < 1280, chart["name"]
        assert set(NAMES[:4]) <= set(chart["texts"])
    bars = [
        chart for chart in seen["answer"]["one"] if chart["bars"] == ALGORITHMS and len(chart["boxes"]) > 40
    ]
    assert len(bars) >= 2
    for chart in bars:
        assert overlapping(chart["boxes"]) == []
        assert {"direct", *(f"winograd.f{place}x{place}_3x3" for place in range(1, ALGORITHMS))} <= set(
            chart["texts"]
        )


@pytest.mark.parametrize("name", ["layers", "speedup", "opcounts", "workspace", "accuracy"])
def test_figures_are_a_column_wide_and_their_labels_are_large_enough_and_apart(name, loaded):
    for figure in figures(name, loaded):
        drawing = figure.drawing
        assert drawing.get_figwidth() == style.WIDTH == 3.5
        drawing.canvas.draw()
        texts = [
            text for text in drawing.findobj(pyplot.Text) if text.get_text().strip() and text.get_visible()
        ]
        assert min(text.get_fontsize() for text in texts) >= style.SMALLEST
        labels = [label for axis in drawing.axes for label in axis.get_yticklabels()]
        for group in (labels, drawing.texts, [text for one in drawing.legends for text in one.get_texts()]):
            boxes = [
                (text.get_text(), *text.get_window_extent().extents) for text in group if text.get_text()
            ]
            assert overlapping(boxes) == []
        outside = [text.get_text() for text in drawing.texts if text.get_window_extent().x1 > drawing.bbox.x1]
        assert outside == []
    pyplot.close("all")
