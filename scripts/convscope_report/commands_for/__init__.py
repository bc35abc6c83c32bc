"""Command lines of other benchmarks for the problems of a result: one function a tool.

Each takes a problem (problem.py) and returns the line, or raises NotExpressible with the reason.
"""
