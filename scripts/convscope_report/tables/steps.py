"""The table of training steps that `convscope step --out` left: each against its convolutions alone."""

from convscope_report.table import Column, Table

QUESTION = "Does the sum of the convolutions alone tell the step, and do the winners alone win inside it?"
COLUMNS = [
    Column("machine"),
    Column("network"),
    Column("batch", "count"),
    Column("chains", "count"),
    Column("threads", "count"),
    Column("step", "number", "ms"),
    Column("convolutions inside", "number", "ms"),
    Column("alone", "number", "ms"),
    Column("inside / alone", "number"),
    Column("other winner inside", "text"),
    Column("shown", "count"),
    Column("winners alone / inside", "number"),
]


def table(steps: list) -> Table:
    """Return one line a step; `steps` holds the rows of each, the last of which is the whole step."""
    made = Table("Training steps", QUESTION, COLUMNS, circumstances="fp32 nchw")
    for rows in steps:
        whole = rows[-1]
        tuned = [row for row in rows if row["winner_alone"]]
        other = sum(row["winner_alone"] != row["algorithm"] for row in tuned)
        made.add(
            whole["device_name"],
            whole["network"],
            whole["batch"],
            whole["chains"],
            whole["threads"],
            whole["inside_ms"],
            whole["convolutions_ms"],
            whole["convolutions_alone_ms"],
            whole["inside_over_alone"],
            f"{other} of {len(tuned)}",
            sum(bool(row["regret_shown"]) for row in tuned),
            whole["regret"],
        )
    made.note("Shown: of those, the winner alone is slower inside by more than both intervals.")
    made.note("The last column is a whole step with the winners alone over one with the winners inside.")
    return made
