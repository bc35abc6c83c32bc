"""What TeX would refuse or misread in LaTeX tables, found without TeX.

A document is cut into the tokens that TeX sees. Whatever is wrong is a ValueError that names it and its line.
"""

import re

TOKEN = re.compile(r"\\(?:[A-Za-z]+\*?|.|\n)|[{}$&#^_~%]|\n[ \t]*\n|[^\\{}$&#^_~%]", re.DOTALL)
# All that the tables are made of, accents and escaped signs included; another one is a typing error.
COMMANDS = {
    "begin", "end", "centering", "caption", "toprule", "midrule", "bottomrule", "par", "footnotesize",
    "textbf", "textit", "textsuperscript", "textbackslash", "textasciitilde", "textasciicircum", "textless",
    "textgreater", "textbar", "ldots", "leq", "geq", "times", "mu", "r", "v", "c",
    *"&%$#_{}`'^~\"\\",
}  # fmt: skip
MATHEMATICS = {"leq", "geq", "times", "mu"}
RULES = {"toprule", "midrule", "bottomrule"}
BETWEEN_ROWS = RULES | {"begin", "end", "\\"}


def tabulars(text: str) -> list[list[int]]:
    """Return for each tabular of a document the number of cells of each of its rows, the heading included."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str):
        self.tokens = TOKEN.findall(text)
        self.place = 0
        self.open = []  # environments and braces, the innermost last
        self.in_mathematics = False
        self.found = []
        self.columns, self.cells, self.is_empty = 0, 1, True

    def read(self) -> list[list[int]]:
        while self.place < len(self.tokens):
            self.take(self.tokens[self.place])
        if self.open or self.in_mathematics:
            self.fail(f"{(self.open or ['$'])[-1]} is not closed")
        return self.found

    def fail(self, what: str):
        line = "".join(self.tokens[: self.place]).count("\n") + 1
        raise ValueError(f"line {line}: {what}")

    def take(self, token: str) -> None:
        self.place += 1
        if not token.isspace() and token[1:] not in BETWEEN_ROWS:
            self.is_empty = False
        if token[0] == "\\" and len(token) > 1:
            self.take_command(token[1:])
        elif token == "{":
            self.open.append("{")
        elif token == "}":
            self.close("{")
        elif token == "$":
            self.in_mathematics = not self.in_mathematics
        elif token == "&":
            if self.open[-1:] != ["tabular"]:
                self.fail("& outside a tabular or within braces")
            self.cells += 1
        elif token in ("#", "^", "_", "~", "%", "\\"):
            self.fail(f"{token} is not escaped")
        elif token[0] == "\n" and len(token) > 1 and self.open:
            self.fail(f"a blank line within {self.open[-1]}")
        elif not token.isascii():
            self.fail(f"{token} is not ASCII")

    def take_command(self, name: str) -> None:
        if name not in COMMANDS:
            self.fail(f"\\{name} is not known")
        if (name in MATHEMATICS) != self.in_mathematics and name.isalpha():
            self.fail(f"\\{name} on the wrong side of $")
        if name == "begin":
            self.open.append(self.argument())
            if self.open[-1] == "tabular":
                columns = self.argument()
                if not re.fullmatch("[lcr]+", columns):
                    self.fail(f"{columns} are no columns")
                self.columns, self.cells, self.is_empty = len(columns), 1, True
                self.found.append([])
        elif name == "end":
            environment = self.argument()
            if environment == "tabular" and (self.cells > 1 or not self.is_empty):
                self.fail("the last row has no \\\\")
            self.close(environment)
        elif name == "\\":
            if self.open[-1:] != ["tabular"]:
                self.fail("\\\\ outside a tabular or within braces")
            if self.cells != self.columns:
                self.fail(f"a row of {self.cells} cells in a tabular of {self.columns} columns")
            self.found[-1].append(self.cells)
            self.cells, self.is_empty = 1, True
            following = "".join(self.tokens[self.place :]).lstrip()
            if following.startswith(("[", "*")):
                self.fail("the next row begins with what TeX takes for an argument of \\\\")
        elif name in RULES and (self.open[-1:] != ["tabular"] or self.cells > 1 or not self.is_empty):
            self.fail(f"\\{name} within a row")

    def argument(self) -> str:
        found = re.match(r"\{([A-Za-z]+)\}", "".join(self.tokens[self.place : self.place + 40]))
        if not found:
            self.fail("{...} is missing")
        self.place += len(found[0])
        return found[1]

    def close(self, what: str) -> None:
        if self.open[-1:] != [what]:
            self.fail(f"the end of {what}, where {(self.open or ['nothing'])[-1]} is open")
        self.open.pop()
