"""Puts the report together: data, tables, words, script and style in one HTML file."""

import json
import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup, escape

from convscope_report import ReportError, published
from convscope_report.contexts import SUSPECT
from convscope_report.figures import COLOURS, HATCHES, OTHER_COLOUR, group
from convscope_report.html import sides, summary, surroundings
from convscope_report.render import heading, mark, notes
from convscope_report.results import SAMPLES, dictionaries
from convscope_report.table import cell_text, number_text
from convscope_report.tables import TABLES

HERE = Path(__file__).parent
LARGEST = 6_000_000
# What only the program's own tables need, and the page never shows.
LEFT_OUT = (*SAMPLES, "hardware")
DIGITS = 7
SCRIPTS = ("marks.js", "layers.js", "charts.js", "record.js", "grid.js", "report.js")


def page(results, options, title: str) -> str:
    """Return the whole document; `options` has what the tables ask for: results, where, convscope.

    Raises ReportError where it would be larger than LARGEST bytes.
    """
    tables, missing = all_tables(results, options)
    document = template().render(
        title=title,
        grids=sides.grids(results, options),
        places={index: place for place, index in enumerate(results.records.index)},
        machines=surroundings.machines(results),
        summary=summary.sections(results),
        warnings=surroundings.warnings(results),
        runs=surroundings.runs(results),
        tables=tables,
        missing=missing,
        style=Markup((HERE / "report.css").read_text(encoding="utf-8")),
        script=Markup("\n".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)),
        data=embedded(
            {
                **packed(results.records),
                "suspect": SUSPECT,
                "colours": COLOURS,
                "other": OTHER_COLOUR,
                "hatches": len(HATCHES),
                "groups": {record["algorithm"]: group(record) for record in dictionaries(results.records)},
            }
        ),
    )
    size = len(document.encode())
    if size > LARGEST:
        raise ReportError(
            f"the report would have {size / 1e6:.1f} MB, more than {LARGEST / 1e6:.0f}; "
            "cut the records by --where, as in --where pass=forward, or name fewer results"
        )
    return document


def template():
    """Return the page's template with what it needs to print numbers and names."""
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "number": lambda value: "" if value is None else number_text(value),
        "ratio": lambda value: "" if value is None else f"{value:.2f}x",
        "breakable": breakable,
    }
    return environment.get_template("report.html.j2")


def breakable(name: str) -> Markup:
    """Return a name that may go on in another line behind each dot, slash and underscore."""
    return Markup(re.sub(r"([./_])(?=.)", r"\1<wbr>", str(escape(name))))


def embedded(value) -> Markup:
    """Return a value as JSON that may stand inside a script element: without </ and without <!--."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


def packed(records) -> dict:
    """Return {columns: [{name, values} or {name, distinct, places}]} of all records; unknown values are null.

    Columns with repeated values hold places in a list of their distinct values.
    """
    columns = []
    for name in records.columns:
        if name in LEFT_OUT:
            continue
        values = [shortened(value) for value in records[name]]
        distinct = list(dict.fromkeys(values))
        if len(distinct) < 0.5 * len(values):
            place = {value: index for index, value in enumerate(distinct)}
            columns.append({"name": name, "distinct": distinct, "places": [place[value] for value in values]})
        else:
            columns.append({"name": name, "values": values})
    return {"columns": columns}


def shortened(value):
    """Return a value as JSON has it; numbers with the digits that a reader can use, NaN as None."""
    if value is None or value != value:
        return None
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e15 else float(f"{value:.{DIGITS}g}")
    return value


def all_tables(results, options):
    """Return these results' tables and the published ones, as cells by name, and what is missing and why."""
    made, missing = [], []
    for name, tables in TABLES.items():
        try:
            found = tables(results, options)
        except ReportError as fault:
            missing.append((name, str(fault)))
            continue
        if found:
            made.append((name, [as_cells(table) for table in found]))
    made.append(("published", [as_cells(published.table(name, {})) for name in published.sources()]))
    return made, missing


def classes(value) -> str:
    """Return the style classes of a cell's marks."""
    names = {"*": "best", "~": "tied", "^": "suspect"}
    return " ".join(names[sign] for sign in mark(value))


def as_cells(table) -> dict:
    """Return a table as text, each cell with its alignment and mark."""
    return {
        "title": heading(table),
        "published": table.published,
        "question": table.question,
        "circumstances": table.circumstances,
        "scope": json.dumps(
            {name: shortened(value) for name, value in getattr(table.circumstances, "scope", {}).items()}
        ),
        "columns": [(column.heading, column.right) for column in table.columns],
        "rows": [
            [(cell_text(value, column), column.right, classes(value)) for value, column in row]
            for row in table.pairs()
        ],
        "notes": notes(table, "bold:", "italic:", "raised t:"),
    }
