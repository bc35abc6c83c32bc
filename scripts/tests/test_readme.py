"""README.md: the tables in it are what the program prints of the kept runs."""

import os
import re
import shlex
import subprocess

BLOCK = re.compile(r"<!-- lines of: (?P<command>.+) -->\n```\n(?P<lines>.*?)```", re.DOTALL)


def test_the_blocks_of_the_readme_are_lines_that_the_program_prints(root, convscope):
    blocks = list(BLOCK.finditer((root / "README.md").read_text(encoding="utf-8")))
    assert blocks
    for block in blocks:
        command = [str(convscope), *shlex.split(block["command"])[1:]]
        wide = os.environ | {"COLUMNS": "120"}  # as a reader's terminal, not as that of the test
        done = subprocess.run(command, cwd=root, env=wide, capture_output=True, text=True, check=True)
        printed = done.stdout.splitlines()
        for line in block["lines"].splitlines():
            assert line in printed, line
            printed = printed[printed.index(line) + 1 :]
