"""scripts/mutation-test on a tiny build of its own: which mutants count, and what comes of each."""

import importlib.util
import json
import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "mutation-test"
loader = SourceFileLoader("mutation_test", str(SCRIPT))
spec = importlib.util.spec_from_loader(loader.name, loader)
mutation = importlib.util.module_from_spec(spec)

sys.modules[loader.name] = mutation
loader.exec_module(mutation)

KERNEL = """\
template <typename T>
int same(T x) { return x; }
constexpr int kFactor = 3 < 3 ? 8 : 3;
int sum(const int* values, int n) {
  int total = 0;
  for (int i = 0; i < n; ++i) total += values[i];
  if (n < 1) return 0;
  if (n < 0 && n < 0) return -1;
  return kFactor * total + same < int > (0);
}
int never(int n) {
  const bool large = n > 4
                     || n < 2;
  return large;
}
"""
TEST = """\
int sum(const int* values, int n);
int main(int count, char**) {
  const int values[] = {1, 2, 4, 8};
  return count == 3 && sum(values, 3) == 21 ? 0 : 1;
}
"""


@pytest.fixture(name="toy")
def toy_fixture(tmp_path, monkeypatch):
    """Return the kernel source of a project that Ninja has built with GCC."""
    if shutil.which("g++") is None or shutil.which("gcov") is None:
        pytest.skip("no g++ with gcov")
    source, build = tmp_path / "algorithms/toy/cuda/kernel.cu", tmp_path / "build"
    part = build / "algorithms/toy"
    source.parent.mkdir(parents=True)
    part.mkdir(parents=True)
    source.write_text(KERNEL)
    (part / "kernel_emulated.cpp").write_text(f'#include "{source}"\n')
    (part / "toy_test.cpp").write_text(TEST)
    compiling = "g++ -O2 -c algorithms/toy/{0}.cpp -o algorithms/toy/{0}.o"
    commands = [
        {"file": str(part / f"{name}.cpp"), "directory": str(build), "command": compiling.format(name)}
        for name in ("kernel_emulated", "toy_test")
    ]
    (build / "compile_commands.json").write_text(json.dumps(commands))
    objects = "algorithms/toy/toy_test.o algorithms/toy/kernel_emulated.o"
    rules = [
        "rule compile\n  command = g++ -O2 -c $in -o $out",
        f"rule link\n  command = : && g++ -o $out {objects} && :",
        *(f"build {name}.o: compile {name}.cpp" for name in objects.replace(".o", "").split()),
        f"build algorithms/toy/toy_test: link {objects}",
        "build toy_test: phony algorithms/toy/toy_test",
    ]
    (build / "build.ninja").write_text("\n".join(rules) + "\n")
    subprocess.run(["ninja", "-C", build], check=True, capture_output=True)
    monkeypatch.setattr(mutation, "ROOT", tmp_path)
    return source


def run(monkeypatch, capsys, source, *options):
    """Run the script; return its exit code and {line: [what came of its mutants]}, and its last line."""
    build = source.parents[3] / "build"
    monkeypatch.setattr(sys, "argv", ["mutation-test", "--build", str(build), str(source), *options])
    code = mutation.main()
    *said, last = capsys.readouterr().out.splitlines()
    verdicts = {}
    for line in said:
        verdict, place = line[:24].strip(), line[24:].split()[0]
        verdicts.setdefault(int(place.split(":")[1]), []).append(verdict)
    return code, verdicts, last


def refusal(monkeypatch, capsys, source, *options):
    """Run the script, which must not begin; return why."""
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, capsys, source, *options)
    assert ended.value.code == 2
    begin, _, why = capsys.readouterr().err.partition(": ")
    assert begin == "mutation-test"
    return why


def test_a_mutant_counts_where_its_line_is_reached_and_its_code_is_another(toy, monkeypatch, capsys):
    code, verdicts, last = run(monkeypatch, capsys, toy)
    assert code == 1
    assert verdicts == {
        3: ["caught by build"],  # a constant, which has no line of code
        6: ["caught by build"],
        7: ["survived"],
        8: ["the same code"] * 3,
        9: ["do not compile"],
    }
    assert last == "caught 2 of 3, 1 not reached, 3 the same code, 1 do not compile"


def test_a_sample_is_one_of_the_mutants_that_are_reached(toy, monkeypatch, capsys):
    _, verdicts, last = run(monkeypatch, capsys, toy, "--sample", "2")
    assert sum(map(len, verdicts.values())) == 2
    assert ", 1 not reached," in last


def test_a_source_that_the_test_does_not_run_is_refused(toy, monkeypatch, capsys):
    build = toy.parents[3] / "build"
    (build / "algorithms/toy/toy_test.cpp").write_text("int main() { return 0; }\n")
    subprocess.run(["ninja", "-C", build], check=True, capture_output=True)
    assert refusal(monkeypatch, capsys, toy).startswith("toy_test does not run kernel.cu; try another --test")


def test_what_cannot_be_judged_is_named(toy, monkeypatch, capsys):
    assert "is no kernel source (.cu) of" in refusal(monkeypatch, capsys, toy.with_name("gone.cu"))
    assert "has no target other_test; name another --test" in refusal(
        monkeypatch, capsys, toy, "--test", "other_test"
    )
    no_build = toy.parents[1]
    said = refusal(monkeypatch, capsys, toy, "--build", str(no_build))
    assert said == f"{no_build} is no build: name one that scripts/build made\n"
