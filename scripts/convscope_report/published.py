"""Figures that others published, from results/published; always tables of their own, marked as published."""

import csv
import json

from convscope_report import ReportError
from convscope_report.program import ROOT
from convscope_report.table import Column, Table

FOLDER = ROOT / "results" / "published"
QUESTION = "What did others measure, on their machines?"


def sources() -> dict:
    """Return by name what sources.json says of each file."""
    try:
        return json.loads((FOLDER / "sources.json").read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as fault:
        raise ReportError(f"{FOLDER / 'sources.json'}: {fault}; this checkout is not complete") from fault


def table(name: str, conditions: dict) -> Table:
    """Return the figures of one file, only the rows whose columns have one of the values of `conditions`."""
    known = sources()
    if name not in known:
        raise ReportError(f"no published figures are called {name}; there are {', '.join(known)}")
    source, rows = known[name], rows_of(name)
    columns = list(rows[0])
    for column, values in conditions.items():
        if column not in columns:
            raise ReportError(f"{name} has no column {column}; its columns are {', '.join(columns)}")
        rows = [row for row in rows if row[column] in values]
    if not rows:
        raise ReportError(f"{name} has no such rows")
    made = across(source, rows) if "across" in source else as_they_are(source, rows)
    made.note(f"Source: {source['source']}.")
    made.note(source["about"])
    return made


def rows_of(name: str) -> list:
    """Return the rows of one file as dicts of texts."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def listing() -> Table:
    """Return the names with their sources."""
    columns = [Column("name"), Column("what"), Column("source")]
    made = Table("Published figures", QUESTION, columns, published=True)
    for name, source in sources().items():
        made.add(name, source["title"], source["source"])
    return made


def as_they_are(source: dict, rows: list) -> Table:
    """Return a row for each row of the file."""
    columns = [Column(name, kind) for name, kind in source["columns"].items()]
    made = Table(source["title"], source.get("question", QUESTION), columns, published=True)
    for row in rows:
        made.add(*(value_of(row[column.name], column.kind) for column in columns))
    return made


def across(source: dict, rows: list) -> Table:
    """Return a row for each combination of the columns named, the values of one column across."""
    columns = [Column(name, kind) for name, kind in source["columns"].items()]
    places = sorted({row[source["across"]] for row in rows}, key=lambda text: (text == "", text.zfill(9)))
    unit = source["value"].replace("_", " ")
    headings = [Column(f"{place} {source['across']}" if place else "GPU", "exact") for place in places]
    made = Table(f"{source['title']} ({unit})", QUESTION, [*columns, *headings], published=True)
    found = {}
    for row in rows:
        place = tuple(value_of(row[column.name], column.kind) for column in columns)
        found.setdefault(place, {})[row[source["across"]]] = float(row[source["value"]])
    for place, values in found.items():
        made.add(*place, *(values.get(name) for name in places))
    return made


def value_of(text: str, kind: str):
    """Return a field as a value of its column's kind; None where it is empty."""
    if kind == "text" or text == "":
        return text or None
    return float(text)
