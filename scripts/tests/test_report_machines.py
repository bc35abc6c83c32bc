"""Four machines in one report: a column each in one grid, each a filter, no page wider than its window."""

import json
import lzma

import chromium
import pytest

from convscope_report.cli import main

# Names as long as real ones are; the factor on all times of the kept run.
MACHINES = {
    "AMD EPYC 9R14 96-Core Processor": 1.0,
    "Intel(R) Xeon(R) Platinum 8488C": 1.4,
    "AMD Ryzen Threadripper PRO 7995WX": 0.6,
    "Ampere(R) Altra(R) Max M128-30": 2.5,
}
WIDTHS = (1440, 1024, 390)

# In a frame of each width: a browser may not make a window as narrow as a phone's.
SIZES = """
  const size = () => ({
    page: document.documentElement.scrollWidth, window: innerWidth,
    outside: [...document.querySelectorAll("body *")].filter((one) => {
      const box = one.getBoundingClientRect();
      return box.width > 0 && box.right > innerWidth + 1 && !one.closest(".scroll, .chart, .unseen, .skip");
    }).map((one) => one.outerHTML.slice(0, 80)),
  });
  if (window !== top) { top.postMessage(size(), "*"); return null; }
  const sizes = [];
  for (const width of WIDTHS) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width: ${width}px; height: 900px; border: 0`;
    frame.src = location.href;
    const said = new Promise((done) =>
      addEventListener("message", (event) => done(event.data), { once: true }));
    document.body.append(frame);
    sizes.push(await said);
    frame.remove();
  }
  return sizes;
"""


@pytest.fixture(scope="module")
def page(root, convscope, tmp_path_factory):
    """The report of a kept run as four machines would have measured it."""
    kept = root / "results" / "amd-zen4-2-cores" / "alexnet.json.xz"
    folder = tmp_path_factory.mktemp("machines")
    files = []
    for number, (name, factor) in enumerate(MACHINES.items()):
        document = json.loads(lzma.decompress(kept.read_bytes()))
        document["environment"]["device"]["name"] = name
        for record in document["records"]:
            record["device"]["name"] = name
            # Not all by the same factor, so that winners differ.
            own = factor * (1 + number * (len(record["key"]["algorithm"]) % 3) / 4)
            for series in (record["time"] or {}).values():
                for value in series if isinstance(series, dict) and "samples_seconds" in series else ():
                    if value == "samples_seconds":
                        series[value] = [own * one for one in series[value]]
                    elif value.endswith("_seconds") and isinstance(series[value], float):
                        series[value] *= own
        files.append(folder / f"machine{number}.json.xz")
        files[-1].write_bytes(lzma.compress(json.dumps(document).encode(), preset=0))
    path = folder / "report.html"
    assert main(["report", *map(str, files), "-o", str(path), "--convscope", str(convscope)]) == 0
    return path


@pytest.fixture(scope="module")
def ask(page, tmp_path_factory):
    """Runs JavaScript at the end of the report, in a window that is `width` wide."""
    browser = chromium.find()
    if browser is None:
        pytest.skip("no Chromium: scripts/setup installs it on Debian; Ubuntu has it as a snap only")

    def ask(steps, width=1440):
        result = chromium.ask(
            browser, page, tmp_path_factory.mktemp("browser"), steps, f"--window-size={width},900"
        )
        assert result["faults"] == []
        return result["answer"]

    return ask


def test_each_machine_is_a_column_of_the_one_grid(ask):
    seen = ask("""
      const tables = [...document.querySelectorAll("table.answer")];
      const rows = [...tables[0].querySelectorAll("tbody tr")];
      return {
        tables: tables.length,
        heads: [...tables[0].querySelectorAll("thead .head span:first-child")].map((one) => one.textContent),
        cells: rows.map((row) => row.querySelectorAll("td .cell").length),
        winners: rows.map((row) =>
          new Set([...row.querySelectorAll(".who")].map((one) => one.textContent)).size),
        totals: tables[0].querySelectorAll("tfoot td .lib").length,
        sentence: document.querySelector(".sentence").textContent,
      };""")
    assert seen["tables"] == 1
    assert seen["heads"] == list(MACHINES)
    assert seen["cells"] == [4] * 14
    assert max(seen["winners"]) > 1, "the machines are not one machine four times"
    assert seen["totals"] == 4
    assert seen["sentence"].startswith("4 runs: the same algorithm wins in all of them in ")


def test_each_machine_can_be_chosen_and_is_named_beside_its_figures(ask):
    seen = ask("""
      const select = document.querySelector("#filters select[name=device_name]");
      return [...select.options].map((option) => {
        select.value = option.value;
        select.dispatchEvent(new Event("change"));
        return {
          name: option.text,
          captions: [...document.querySelectorAll("figcaption")].map((one) => one.textContent),
          lines: document.querySelectorAll("#list tbody tr").length,
        };
      });""")
    machines = [one for one in seen if one["name"] in MACHINES]
    assert [one["name"] for one in machines] == list(MACHINES)
    for one in machines:
        assert one["lines"] > 0
        assert one["captions"] and all(one["name"] in caption for caption in one["captions"])


def test_the_page_is_never_wider_than_its_window(ask):
    sizes = ask(SIZES.replace("WIDTHS", json.dumps(WIDTHS)))
    assert [size["window"] for size in sizes] == list(WIDTHS)
    for size in sizes:
        assert size["page"] <= size["window"], size["outside"][:5]
        assert size["outside"] == []
