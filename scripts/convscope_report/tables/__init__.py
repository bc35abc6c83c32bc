"""The tables: one module each, with QUESTION and tables(results, options) -> list of Table."""

from convscope_report.tables import layers

TABLES = {
    "layers": layers,
}
