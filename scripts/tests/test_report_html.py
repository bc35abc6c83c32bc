"""`convscope-report report`: self-contained, and working in headless Chromium."""

import csv
import json
import re

import chromium
import pytest
from report_support import DATA, kept_file, made_up_gpu, write_results

from convscope_report.cli import main
from convscope_report.contexts import CIRCUMSTANCES
from convscope_report.html.page import HERE


@pytest.fixture(scope="session")
def report(small_results, convscope, tmp_path_factory):
    """The report of the small results."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    assert main(["report", str(small_results), "-o", str(path), "--convscope", str(convscope)]) == 0
    return path


@pytest.fixture(scope="session")
def browse(tmp_path_factory):
    """Runs JavaScript at the end of a page, checks that nothing went wrong, returns what it returned."""
    browser = chromium.find()
    if browser is None:
        pytest.skip("no Chromium: scripts/setup installs it on Debian; Ubuntu has it as a snap only")

    def ask(page, steps, *flags):
        result = chromium.ask(browser, page, tmp_path_factory.mktemp("browser"), steps, *flags)
        assert result["faults"] == []
        return result["answer"]

    return ask


@pytest.fixture(scope="session")
def in_browser(report, browse):
    """Runs JavaScript at the end of the report of the small results."""
    return lambda steps, *flags: browse(report, steps, *flags)


def test_the_file_needs_nothing_else(report):
    text = report.read_text(encoding="utf-8")
    assert len(text.encode()) < 6_000_000
    assert not re.search(r'(?:src|href)\s*=\s*"(?!#|data:)', text)
    assert not re.search(r"@import|url\((?!#)(?!\$)", text.replace("url(#hatch${", ""))
    assert "<title>convscope: two &lt;layers&gt; &amp; more</title>" in text


def test_runs_of_two_configs_that_were_merged_are_reported(convscope, tmp_path):
    document = json.loads((DATA / "basic" / "results.json").read_text(encoding="utf-8"))
    document["config"] = [document["config"], [{**document["config"][0], "name": "another"}]]
    file, page = kept_file(tmp_path / "merged.json.xz", document), tmp_path / "report.html"
    assert main(["report", str(file), "-o", str(page), "--convscope", str(convscope)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "config tiny name" in text and "config another name" in text


def test_every_row_is_in_it(report, small_results):
    data = json.loads(
        re.search(r'id="data">(.*?)</script>', report.read_text(encoding="utf-8"), re.DOTALL)[1]
    )
    columns = {column["name"]: column for column in data["columns"]}
    rows = len((small_results / "results.csv").read_text().splitlines()) - 1
    assert {len(column.get("values") or column["places"]) for column in columns.values()} == {rows}
    assert "rerun" in columns and "full_median_ms" in columns and "samples_ms" not in columns


def test_it_opens_and_draws(in_browser):
    seen = in_browser("""
      return {
        charts: [...document.querySelectorAll("figcaption")].map((one) => one.firstChild.textContent),
        labels: [...document.querySelectorAll("#figures svg")].map((svg) => svg.ariaLabel || ""),
        captions: [...document.querySelectorAll("figcaption")].map((one) => one.textContent),
        machine: chosen.device_name,
        lines: document.querySelectorAll("#list tbody tr").length,
        tables: document.querySelectorAll("#tables table").length,
        summary: document.getElementById("summary").textContent,
      };""")
    charts = [
        "Time by layer",
        "Speed-up",
        "Operations",
        "Roofline",
        "Time and error",
        "Time and workspace",
        "Batch",
    ]
    assert seen["charts"] == charts
    assert all(seen["labels"]) and all(seen["machine"] in caption for caption in seen["captions"])
    assert seen["lines"] == 8 and seen["tables"] > 5
    assert "Best of each layer" in seen["summary"] and " over " in seen["summary"]


def test_filters_work(in_browser):
    seen = in_browser("""
      const count = () => document.querySelectorAll("#list tbody tr").length;
      const marks = () => document.querySelectorAll("#figures .mark").length;
      const set = (name, text) => {
        const select = document.querySelector(`#filters select[name=${name}]`);
        select.value = [...select.options].find((one) => one.text === text).value;
        select.dispatchEvent(new Event("change"));
      };
      const before = [count(), marks()];
      set("pass", "all");
      const all = [count(), document.getElementById("shown").textContent];
      set("batch", "2");
      const batch = [...document.querySelectorAll("#list tbody tr")].length;
      set("layer", "b");
      const layer = count();
      const drawn = marks();
      document.querySelector("#legend button").click();
      const pressed = document.querySelector("#legend button").getAttribute("aria-pressed");
      return { before, all, batch, layer, drawn, hidden: marks(), pressed };""")
    assert seen["before"][0] == 8 and seen["before"][1] > 0
    assert seen["all"][0] == 24 and seen["all"][1].startswith("24 records, ")
    assert seen["batch"] == 24 and seen["layer"] == 12
    assert 0 < seen["hidden"] < seen["drawn"]
    assert seen["pressed"] == "false"


def test_charts_never_mix_records_of_different_circumstances():
    script = (HERE / "report.js").read_text(encoding="utf-8")
    filters = re.findall(r'\{ column: "(\w+)", label:', script)
    assert set(CIRCUMSTANCES) - {"device"} <= set(filters)  # its name tells devices apart


def test_machines_and_math_modes_are_filters(browse, convscope, tmp_path):
    made_up_gpu(tmp_path / "gpu")
    tf32 = tmp_path / "tf32"
    tf32.mkdir()
    for name, here, there in (("results.json", " fp32 ", " tf32 "), ("results.csv", "fp32", "tf32")):
        (tf32 / name).write_text((DATA / "basic" / name).read_text().replace(here, there))
    page = tmp_path / "report.html"
    folders = [DATA / "basic", tmp_path / "gpu", tf32]
    assert main(["report", *map(str, folders), "-o", str(page), "--convscope", str(convscope)]) == 0
    seen = browse(
        page,
        """
      const machine = document.querySelector("#filters select[name=device_name]");
      const math = document.querySelector("#filters select[name=math]");
      const names = (select) => [...select.options].map((one) => one.text);
      const set = (select, text) => {
        select.value = [...select.options].find((one) => one.text === text).value;
        select.dispatchEvent(new Event("change"));
      };
      const state = () => ({
        lines: document.querySelectorAll("#list tbody tr").length,
        captions: [...document.querySelectorAll("figcaption")].map((one) => one.textContent),
      });
      const gpu = names(machine).find((name) => name.includes("made-up"));
      const cpu = names(machine).find((name) => name.includes("Xeon"));
      set(machine, gpu);
      const of_gpu = state();
      set(machine, cpu);
      set(math, "tf32");
      return { gpu, cpu, maths: names(math), of_gpu, of_tf32: state() };""",
    )
    assert {"fp32", "tf32"} <= set(seen["maths"])
    assert seen["of_gpu"]["lines"] > 0 and seen["of_tf32"]["lines"] > 0
    assert all(seen["gpu"] in caption for caption in seen["of_gpu"]["captions"])
    assert all(seen["cpu"] in text and "tf32" in text for text in seen["of_tf32"]["captions"])


def test_tables_follow_the_filters(in_browser):
    seen = in_browser("""
      const shown = () => [...document.querySelectorAll(".one-table")].filter((one) => !one.hidden)
        .map((one) => one.querySelector("caption").firstChild.textContent);
      const set = (name, text) => {
        const select = document.querySelector(`#filters select[name=${name}]`);
        select.value = [...select.options].find((one) => one.text === text).value;
        select.dispatchEvent(new Event("change"));
      };
      const forward = shown();
      set("pass", "backward-data");
      const backward = shown();
      set("pass", "all");
      const all = shown();
      set("batch", "2");
      const status = document.getElementById("tables-shown").textContent;
      return { forward, backward, all, batch: shown(), status };""")
    layers = [title for title in seen["forward"] if title.endswith(", batch 1: forward")]
    assert layers and not any("backward_data" in title for title in seen["forward"])
    assert any(title.endswith("batch 1: backward_data") for title in seen["backward"])
    assert not set(layers) & set(seen["backward"])
    assert set(seen["forward"]) | set(seen["backward"]) < set(seen["all"])
    assert not any("batch 1:" in title for title in seen["batch"])
    assert any(title.endswith("by batch") for title in seen["batch"])
    assert seen["status"].startswith(f"{len(seen['batch'])} of ")


def test_published_figures_are_marked_and_apart(report):
    text = report.read_text(encoding="utf-8")
    published = re.findall(r'<table class="published">(.*?)</table>', text, re.DOTALL)
    assert len(published) == 8  # six files of results/published, and two tables of why-gpu
    assert not any("winograd.f4x4_3x3.cpu" in table for table in published)


def test_records_open_by_pointer_and_by_keyboard(in_browser):
    seen = in_browser("""
      const svg = document.querySelector("#figures svg");
      const press = (key) => svg.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
      svg.focus();
      press("ArrowRight"); press("ArrowRight");
      const tip = document.getElementById("tip");
      const said = !tip.hidden && tip.textContent;
      press("Enter");
      const open = dialog.open;
      const rerun = document.getElementById("rerun").textContent;
      const fields = document.querySelectorAll("#fields tr").length;
      document.getElementById("close").click();
      const closed = !dialog.open;
      svg.querySelector(".mark").dispatchEvent(new MouseEvent("click", { bubbles: true }));
      return { said, open, rerun, fields, closed, again: dialog.open };""")
    assert "median" in seen["said"] and seen["open"] and seen["closed"] and seen["again"]
    assert seen["rerun"].split(" run --case ")[0].endswith("convscope") and seen["fields"] > 40


def test_the_command_is_copied_or_selected(in_browser):
    seen = in_browser("""
      const button = document.querySelector("#list tbody td:last-child button");
      const later = () => new Promise((done) => setTimeout(done, 20));
      const clipboard = (write) =>
        Object.defineProperty(navigator, "clipboard", { value: { writeText: write }, configurable: true });
      let written = "";
      clipboard(async (text) => { written = text; });
      button.click(); await later();
      const copied = { written, label: button.textContent, open: dialog.open };
      clipboard(async () => { throw new Error("refused"); });
      button.click(); await later();
      const refused = { open: dialog.open, selected: getSelection().toString(),
        words: document.getElementById("copied").textContent };
      return { copied, refused };""")
    assert seen["copied"]["written"].split(" run --case ")[0].endswith("convscope")
    assert seen["copied"]["label"] == "copied" and not seen["copied"]["open"]
    assert seen["refused"]["open"] and seen["refused"]["selected"] == seen["copied"]["written"]
    assert "Ctrl-C" in seen["refused"]["words"]


def test_the_list_sorts_and_refusals_say_why_where_it_is_seen(in_browser):
    seen = in_browser("""
      const rows = () => [...document.querySelectorAll("#list tbody tr")];
      const times = () => rows().map((row) => (row.querySelector(".why") ? "-" : row.cells[4].textContent));
      const sort = () => document.querySelectorAll("#list th button")[3].click();
      sort(); const up = times(); sort(); const down = times();
      const why = [...document.querySelectorAll("#list .why")];
      const right = why.map((cell) => cell.querySelector("span").getBoundingClientRect().right);
      const heights = rows().map((row) => row.offsetHeight);
      return { up, down, reasons: why.map((cell) => cell.textContent), right: Math.max(...right),
        window: innerWidth, heights: [Math.min(...heights), Math.max(...heights)],
        text: document.getElementById("list").textContent };""")
    known = [float(text) for text in seen["up"] if text != "-"]
    assert known == sorted(known) and len(known) >= 2
    assert [float(text) for text in seen["down"] if text != "-"] == known[::-1]
    assert seen["up"][-1] == "-" and any("filter 1x1" in text for text in seen["reasons"])
    assert seen["right"] < seen["window"]
    assert seen["heights"][1] < 1.5 * seen["heights"][0]
    for word in ("noise_plateau", "time_limit", "max_samples"):
        assert word not in seen["text"]


def test_a_good_record_does_not_read_like_an_error(in_browser):
    seen = in_browser("""
      const row = allRows.find((one) => one.rank === 1);
      const record = { ...row, standing: "good", stop_reason: "noise_plateau" };
      openRecord(record);
      const fields = document.getElementById("fields").innerText;
      const bad = stateText({ ...record, standing: "disturbed" });
      return { state: stateText(record), tip: tipText(record), fields, bad };""")
    assert seen["state"] == "right"
    assert "sampling: more samples no longer narrowed the interval" in seen["tip"]
    assert "noise_plateau (more samples no longer narrowed the interval)" in seen["fields"]
    assert seen["bad"] == "disturbed: too long"


def test_a_share_of_a_suspect_ceiling_is_marked_and_the_report_says_why(browse, convscope, tmp_path):
    with (DATA / "basic" / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    fast = next(row for row in rows if row["percent_of_ceiling"])
    for row in rows:
        row["suspect_ceiling"] = "true" if row is fast else ""
    fast["percent_of_ceiling"] = "143.25"
    document = json.loads((DATA / "basic" / "results.json").read_text(encoding="utf-8"))
    folder = tmp_path / "run"
    folder.mkdir()
    write_results(folder, document, rows)
    page = tmp_path / "report.html"
    assert main(["report", str(folder), "-o", str(page), "--convscope", str(convscope)]) == 0
    assert "1 of 48 records are faster than their ceiling allows (up to 143% of it" in page.read_text()
    seen = browse(page, """
      const row = allRows.find((one) => one.suspect_ceiling);
      const share = LIST.find((one) => one.head === "% of ceiling");
      return { cell: share.text(row.percent_of_ceiling, row), tip: tipText(row),
        plain: share.text(50, { ...row, suspect_ceiling: null }),
        charts: [...document.querySelectorAll("svg text")].map((text) => text.textContent)
          .filter((text) => /^(multiply-add|memory|cache) /.test(text)) };""")  # fmt: skip
    assert seen["cell"] == "143.3?" and seen["plain"] == "50"
    assert "suspect, measured too low)" in seen["tip"]
    ceiling = {"compute": "multiply-add", "memory": "memory"}[fast["bound"]]
    assert {text.split(" ")[0] for text in seen["charts"] if text.endswith("?")} == {ceiling}


def test_the_first_screen_is_the_grid_of_winners(in_browser):
    seen = in_browser("""
      const table = document.querySelector("table.answer");
      const cells = [...table.querySelectorAll("tbody button.cell")];
      cells[0].focus();
      const press = (key) =>
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      press("ArrowRight"); press("ArrowDown");
      const moved = document.activeElement.querySelector(".unseen").textContent;
      const tip = document.getElementById("tip").textContent;
      const stops = cells.filter((cell) => cell.tabIndex === 0).length;
      document.activeElement.click();
      return { bottom: table.getBoundingClientRect().bottom, moved, tip, stops, open: dialog.open,
        title: document.getElementById("record-title").textContent,
        heads: [...table.querySelectorAll("thead th")].map((one) => one.scope),
        lines: [...table.querySelectorAll("tbody tr")].map((one) => one.cells[0].scope),
        swatches: table.querySelectorAll("tbody [data-algorithm] svg").length, cells: cells.length,
        open_details: document.querySelectorAll("details[open]").length };""")
    assert seen["bottom"] < 900 and seen["open_details"] == 0
    assert set(seen["heads"]) == {"col"} and set(seen["lines"]) == {"row"}
    assert seen["swatches"] == seen["cells"] == 12
    assert seen["stops"] == 1 and seen["tip"] == seen["moved"]
    layer, name = re.match(r"(\w+) \S+: (\S+)\n", seen["moved"]).groups()
    assert seen["open"] and seen["title"].startswith(f"{name}, {layer} ")


@pytest.mark.parametrize(
    ("flags", "theme"), [((), "light"), (("--blink-settings=preferredColorScheme=0",), "dark")]
)
def test_light_and_dark(in_browser, flags, theme):
    seen = in_browser("""
      const paper = () => getComputedStyle(document.body).backgroundColor;
      const first = document.documentElement.dataset.theme, before = paper();
      document.getElementById("theme").click();
      return { first, before, after: paper() };""", *flags)  # fmt: skip
    assert seen["first"] == theme and seen["before"] != seen["after"]


def test_a_phone_scrolls_in_charts_only(in_browser):
    seen = in_browser(
        "return { page: document.documentElement.scrollWidth, window: innerWidth };", "--window-size=500,800"
    )
    assert seen["page"] <= seen["window"]


def test_too_large_a_report_is_refused(report, small_results, convscope, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("convscope_report.html.page.LARGEST", 100_000)
    out = tmp_path / "report.html"
    assert main(["report", str(small_results), "-o", str(out), "--convscope", str(convscope)]) == 2
    assert "more than 0; cut the records by --where" in capsys.readouterr().err
    assert not out.exists()
