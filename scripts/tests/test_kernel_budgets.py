"""scripts/kernel-budgets: reading ptxas' reports, and what goes over budget."""

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "kernel-budgets"
loader = SourceFileLoader("kernel_budgets", str(SCRIPT))
spec = importlib.util.spec_from_loader(loader.name, loader)
budgets = importlib.util.module_from_spec(spec)

sys.modules[loader.name] = budgets
loader.exec_module(budgets)

MANGLED = "_ZN9convscope4cuda36_GLOBAL__N__89b8bf71_4_t_cu_7f9c1b271kILi3EEEvPf"
REPORT = f"""ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '{MANGLED}' for 'sm_80'
ptxas info    : Function properties for {MANGLED}
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 4096 bytes smem, 360 bytes cmem[0]
ptxas info    : Compile time = 2.949 ms
ptxas info    : Compiling entry function '{MANGLED}' for 'sm_90a'
ptxas info    : Function properties for {MANGLED}
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers
"""


def usage(registers=40, spills=0, architecture="sm_80", kernel="k<3>"):
    return budgets.Usage("algorithms/x/t.cu", kernel, architecture, registers, spills, 0, 0)


def complaints(usages, allowed):
    return budgets.complaints(usages, {row.key: row for row in allowed})


def test_a_report_is_read():
    first, second = budgets.parse_report(REPORT, "t.cu")
    assert first == budgets.Usage("t.cu", MANGLED, "sm_80", 40, 20, 16, 4096)
    assert second == budgets.Usage("t.cu", MANGLED, "sm_90a", 32, 0, 0, 0)


@pytest.mark.parametrize(
    ("demangled", "expected"),
    [
        ("void convscope::cuda::(anonymous namespace)::k<3>(float*)", "k<3>"),
        (
            "void convscope::cuda::(anonymous namespace)::k<(convscope::Pass)1>(Shape, void (*)(int))",
            "k<(Pass)1>",
        ),
        ("convscope::cuda::(anonymous namespace)::spin(int volatile*)", "spin"),
    ],
)
def test_names_are_readable(demangled, expected):
    assert budgets.readable(demangled) == expected


def test_the_file_is_written_and_read_back_and_compared(tmp_path, capsys):
    source = "bench/device/cuda/blocker_kernel.cu"
    report = (
        tmp_path
        / "bench"
        / "device"
        / "CMakeFiles"
        / "convscope_device.dir"
        / "cuda"
        / "blocker_kernel.cu.o.ptxas"
    )
    report.parent.mkdir(parents=True)
    report.write_text(REPORT)
    file = tmp_path / "budgets.csv"
    assert budgets.main([str(tmp_path), "--budgets", str(file), "--write"]) == 0
    assert f"{source},k<3>,sm_80,40,20,16,4096" in file.read_text()
    assert budgets.main([str(tmp_path), "--budgets", str(file)]) == 0
    report.write_text(REPORT.replace("Used 40", "Used 41"))
    assert budgets.main([str(tmp_path), "--budgets", str(file)]) == 1
    assert "takes 41 registers; its budget is 40" in capsys.readouterr().out


def test_a_build_without_reports_is_refused(tmp_path, capsys):
    assert budgets.main([str(tmp_path)]) == 2
    assert "was it built with CUDA" in capsys.readouterr().err


def test_within_budget_is_silent():
    assert complaints([usage(39)], [usage(40)]) == []


def test_more_registers_and_new_spills_are_named():
    (registers,) = complaints([usage(41)], [usage(40)])
    assert "takes 41 registers; its budget is 40" in registers
    (spills,) = complaints([usage(40, spills=8)], [usage(40)])
    assert "spills 8 B; its budget is 0" in spills


def test_a_kernel_without_budget_and_a_budget_without_kernel_are_named():
    (new,) = complaints([usage(), usage(kernel="new")], [usage()])
    assert "new for sm_80 has no budget" in new
    (gone,) = complaints([usage()], [usage(), usage(kernel="old")])
    assert "old for sm_80 has a budget and is not in this build" in gone


def test_other_architectures_are_left_out():
    assert complaints([usage(), usage(200, architecture="sm_75")], [usage()]) == []
    assert complaints([usage()], [usage(), usage(10, architecture="sm_90a")]) == []
