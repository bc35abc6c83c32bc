"""The one error that a user can do something about."""


class ReportError(Exception):
    """What was wrong, where, and what to do; printed without a traceback, exit code 2."""
