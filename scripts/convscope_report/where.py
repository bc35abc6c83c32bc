"""What --where asks for: values of columns; and what is said of those that are not there."""

import difflib
import re

from convscope_report import ReportError

# The beginning of another condition, behind a comma where a value is expected.
ANOTHER = re.compile(r"[a-z][a-z0-9_]*=")


def conditions(texts: list, flag: str) -> dict:
    """Return the values wanted by column from texts such as pass=forward or batch=1,16."""
    wanted = {}
    for text in texts:
        column, sign, values = text.partition("=")
        if not sign or not column or not values:
            raise ReportError(
                f"{flag} {text}: expected COLUMN=VALUE, as in {flag} pass=forward or {flag} batch=1,16"
            )
        first, *more = values.split(",")
        for value in more:
            if ANOTHER.match(value):
                raise ReportError(
                    f"{flag} {text}: {value} is another condition; give it a {flag} of its own, as in "
                    f"{flag} {column}={first} {flag} {value}"
                )
        wanted.setdefault(column, []).extend((first, *more))
    return wanted


def no_column(column: str, known: list) -> ReportError:
    """Return the error that there is no such column, with the nearest of those that there are, and all."""
    near = difflib.get_close_matches(column, known, n=1)
    nearest = f"did you mean {near[0]}? " if near else ""
    return ReportError(
        f"--where {column}=...: there is no such column; {nearest}the columns are {', '.join(known)}"
    )


def no_value(column: str, wanted: list, there: list, what: str) -> ReportError:
    """Return the error that no record has the values: `what` follows, with the nearest value, and all."""
    words = [value for value in wanted if not value.isdigit()]  # 1 is not meant for 16
    near = [match for value in words for match in difflib.get_close_matches(value, there, n=1)]
    nearest = f"did you mean {near[0]}? " if near else ""
    return ReportError(
        f"--where {column}={','.join(wanted)} {what}; {nearest}the values there are: {', '.join(there)}"
    )
