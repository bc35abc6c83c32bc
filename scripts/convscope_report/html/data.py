"""The rows as compact JSON: columns with repeated values hold places in a list of their distinct values."""

# What only the program's own tables need, and the page never shows.
LEFT_OUT = ("samples_ms", "samples_again_ms")
DIGITS = 7


def packed(rows) -> dict:
    """Return {columns: [{name, values} or {name, distinct, places}]} of all rows; unknown values are null."""
    columns = []
    for name in rows.columns:
        if name in LEFT_OUT:
            continue
        values = [shortened(value) for value in rows[name]]
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
