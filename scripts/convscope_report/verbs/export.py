"""The verb `export`: command lines of other benchmarks for the problems of a result."""

from convscope_report.commands_for import benchdnn, cutlass, miopen
from convscope_report.commands_for.problem import NotExpressible, Problem
from convscope_report.verbs.common import add_results, load, write_or_print

SUMMARY = "Print the command lines of another benchmark for the same problems, as a shell script."
EXAMPLE = """\
  convscope-report export benchdnn out/alexnet -o alexnet_benchdnn.sh
  convscope-report export miopen out/alexnet --where pass=forward"""
TOOLS = {"benchdnn": benchdnn, "miopen": miopen, "cutlass": cutlass}


def arguments(parser) -> None:
    """TOOL, RESULTS... and -o."""
    parser.add_argument("tool", choices=TOOLS, metavar="TOOL", help="One of: " + ", ".join(TOOLS) + ".")
    add_results(parser)
    parser.add_argument("-o", "--out", metavar="FILE", help="Write to this file instead of the terminal.")


def run(options) -> int:
    """Write the script."""
    write_or_print(script(load(options).rows, options.tool), options.out)
    return 0


def script(rows, tool: str) -> str:
    """One command a problem in the order of the rows; for what the tool lacks, a comment with the reason."""
    lines = ["#!/bin/sh", f"# {TOOLS[tool].ABOUT}"]
    done = set()
    for row in rows.to_dict("records"):
        problem = Problem.of(row)
        if problem in done:
            continue
        done.add(problem)
        lines += ["", f"# {row['network'] or 'single problem'} {row['layer'] or ''}: {row['problem']}"]
        try:
            lines.append(TOOLS[tool].command(problem))
        except NotExpressible as reason:
            lines.append(f"# not possible with {tool}: {reason}")
    return "\n".join(lines) + "\n"
