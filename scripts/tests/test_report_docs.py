"""docs/tables.md: its tables are what the commands above them print, and no table is missing."""

import re
import shlex

from report_support import report


def blocks(text):
    """The command of each console block, and what it shows."""
    return re.findall(r"^```console\n\$ scripts/convscope-report (.*)\n((?:.*\n)*?)```$", text, re.MULTILINE)


def test_tables_in_the_docs_are_what_the_commands_print(root, convscope, regenerate, monkeypatch):
    monkeypatch.chdir(root)
    page = root / "docs" / "tables.md"
    text = page.read_text(encoding="utf-8")
    found = blocks(text)
    assert len(found) >= 12
    for command, shown in found:
        needs_program = ["--convscope", convscope] if command.startswith("table") else []
        done = report(*shlex.split(command), *needs_program)
        assert (done.code, done.err) == (0, "")
        if regenerate:
            text = text.replace(f"{command}\n{shown}```", f"{command}\n{done.out}```")
            page.write_text(text, encoding="utf-8")
        else:
            assert done.out == shown, command


def test_every_table_and_verb_is_in_the_docs(root):
    from convscope_report.tables import TABLES

    text = (root / "docs" / "tables.md").read_text(encoding="utf-8")
    for name in TABLES:
        assert f"## {name}\n" in text
