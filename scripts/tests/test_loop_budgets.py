"""scripts/loop-budgets: reading machine code, and what goes over budget."""

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "loop-budgets"
loader = SourceFileLoader("loop_budgets", str(SCRIPT))
spec = importlib.util.spec_from_loader(loader.name, loader)
budgets = importlib.util.module_from_spec(spec)

sys.modules[loader.name] = budgets
loader.exec_module(budgets)


def line(address, text):
    return f"        /*{address:04x}*/                   {text} ;"


# A loop that multiplies, with one inside that does not, and behind it one with fewer multiply-adds.
LISTING = "\n".join(
    [
        ".text._Zk:",
        line(0x00, "MOV R1, c[0x0][0x28]"),
        ".L_x_1:",
        line(0x10, "LDS.128 R4, [R2+0x10]"),
        line(0x20, "@!PT LDS RZ, [RZ]"),
        line(0x30, "FFMA R8, R4, R5, R8"),
        line(0x40, "FFMA.FTZ R9, R4, R6, R9"),
        ".L_x_0:",
        line(0x50, "IADD3 R3, R3, 0x1, RZ"),
        line(0x60, "@P1 BRA `(.L_x_0)"),
        line(0x70, "@!P0 STL [R1], R8"),
        line(0x80, "@P0 BRA `(.L_x_1)"),
        ".L_x_2:",
        line(0x90, "FFMA R8, R4, R5, R8"),
        line(0xA0, "@P0 BRA `(.L_x_2)"),
        line(0xB0, "EXIT"),
    ]
)
KEY = ("algorithms/x/t.cu", "k", "sm_90a")


def loop(instructions=100, multiply_adds=64, shared_loads=8, wide_loads=8, local=0):
    return budgets.Loop(*KEY, instructions, multiply_adds, shared_loads, wide_loads, 0, local)


def complaints(found, allowed):
    return budgets.complaints(found, {row.key: row for row in allowed})


def test_the_inner_loop_is_the_one_that_multiplies_most():
    kernels = budgets.kernels_of(LISTING)
    assert list(kernels) == ["_Zk"]
    figures = budgets.loop_of(KEY, budgets.inner_loop(kernels["_Zk"]))
    assert figures == budgets.Loop(*KEY, 8, 2, 1, 1, 0, 1)


def test_code_without_a_loop_that_multiplies_has_none():
    assert budgets.inner_loop(line(0, "EXIT")) is None


def test_more_instructions_for_the_same_multiply_adds_are_over_budget():
    assert complaints([loop()], [loop()]) == []
    assert complaints([loop(200, 128, 16, 16)], [loop()]) == []  # unrolled
    assert (
        "64 multiply-adds in 101 instructions; its budget is 64 in 100"
        in complaints([loop(101)], [loop()])[0]
    )


def test_narrow_loads_and_local_memory_are_over_budget():
    assert "2 narrow loads" in complaints([loop(shared_loads=10)], [loop()])[0]
    assert "3 accesses to local memory" in complaints([loop(local=3)], [loop()])[0]


def test_a_kernel_that_is_gone_is_named():
    assert "k for sm_90a has a loop budget and is not in this build" in complaints([], [loop()])[0]


def test_budgets_are_written_and_read(tmp_path):
    path = tmp_path / "budgets.csv"
    budgets.kernel_budgets.write_budgets(path, [loop()], budgets.Loop)
    assert budgets.kernel_budgets.read_budgets(path, budgets.Loop) == {KEY: loop()}


def test_without_the_programs_it_says_so_and_passes(monkeypatch, capsys):
    monkeypatch.setattr(budgets, "find_tool", lambda _: None)
    assert budgets.main(["build"]) == 0
    assert "skipped, as cuobjdump or nvdisasm is not found" in capsys.readouterr().out


def test_the_budgets_of_this_project_hold_no_local_memory():
    rows = budgets.kernel_budgets.read_budgets(budgets.BUDGETS, budgets.Loop)
    assert rows
    assert all(row.local == 0 and row.multiply_adds > 0 for row in rows.values())
