"""Tables, figures, comparisons and reports from the results of `convscope run`.

Start at cli.py (the table of verbs), results.py (what is read) and table.py (what is shown).
"""


class ReportError(Exception):
    """What the user can do something about: the text says what is wrong and what would help."""
