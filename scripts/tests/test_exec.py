"""`convscope exec` against an independent NumPy and SciPy computation, over random problems.

Forward and backward-filter are sums over sliding windows; backward-data is the convolution with the
stride's zeros put back in. All in float64, from the definition, with nothing of convscope in it.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import convolve

PASSES = ["forward", "backward_data", "backward_filter"]
# Axes of the files of each layout, outermost first: of (n, c, h, w) and likewise of (k, c, r, s).
LAYOUTS = {"nchw": (0, 1, 2, 3), "nhwc": (0, 2, 3, 1), "chwn": (1, 2, 3, 0)}
# Math modes, the most accurate first, and the relative L2 error against float64 allowed in each
# (docs/measuring.md). An algorithm computes in the first that it has.
GATES = {"fp32": 2e-5, "3xtf32": 2e-5, "tf32": 1e-3}
READ = {
    "forward": ("input", "filter"),
    "backward_data": ("output", "filter"),
    "backward_filter": ("input", "output"),
}
WRITTEN = {"forward": "output", "backward_data": "input", "backward_filter": "filter"}


@dataclass(frozen=True)
class Problem:
    """Sizes of one convolution; pairs are (height, width)."""

    n: int
    c: int
    k: int
    groups: int
    image: tuple[int, int]
    taps: tuple[int, int]
    stride: tuple[int, int]
    pad: tuple[int, int]
    dilation: tuple[int, int]

    def line(self, pass_name, layout, math="fp32"):
        """The problem line that the program reads."""
        fields = {
            "hw": self.image,
            "rs": self.taps,
            "stride": self.stride,
            "pad": self.pad,
            "dilation": self.dilation,
        }
        pairs = " ".join(f"{key}={h}x{w}" for key, (h, w) in fields.items())
        return f"{pass_name} {math} {layout} n={self.n} c={self.c} k={self.k} groups={self.groups} {pairs}"

    def output_size(self):
        """(height, width) of the output."""
        sizes = zip(self.image, self.taps, self.stride, self.pad, self.dilation, strict=True)
        return tuple((i + 2 * p - d * (t - 1) - 1) // s + 1 for i, t, s, p, d in sizes)

    def shapes(self):
        """Logical shapes of the three tensors."""
        return {
            "input": (self.n, self.c, *self.image),
            "filter": (self.k, self.c // self.groups, *self.taps),
            "output": (self.n, self.k, *self.output_size()),
        }


def random_problem(seed, taps=None, stride=None, dilation=(1, 1), groups=1, depthwise=False):
    """A small problem of the wanted kind; sizes that are not given are random."""
    rng = np.random.default_rng(seed)
    taps = taps or tuple(int(t) for t in rng.integers(1, 6, 2))
    stride = stride or tuple(int(s) for s in rng.integers(1, 4, 2))
    per_group = int(rng.integers(1, 6))
    c = groups if depthwise else groups * per_group
    k = groups if depthwise else groups * int(rng.integers(1, 8))
    reach = [d * (t - 1) + 1 for t, d in zip(taps, dilation, strict=True)]
    image = tuple(int(r + rng.integers(2, 17)) for r in reach)
    pad = tuple(int(rng.integers(0, r // 2 + 1)) for r in reach)
    return Problem(int(rng.integers(1, 4)), c, k, groups, image, taps, stride, pad, dilation)


PROBLEMS = {
    "3x3": random_problem(1, (3, 3), (1, 1)),
    "3x3 again": random_problem(2, (3, 3), (1, 1)),
    "5x5": random_problem(3, (5, 5), (1, 1)),
    "5x5 again": random_problem(4, (5, 5), (1, 1)),
    "1x1": random_problem(5, (1, 1), (1, 1)),
    "11x11 stride 4": random_problem(6, (11, 11), (4, 4)),
    "3x3 stride 2": random_problem(7, (3, 3), (2, 2)),
    "asymmetric filter": random_problem(8, (1, 7), (1, 1)),
    "asymmetric filter and stride": random_problem(9, (5, 2), (1, 3)),
    "dilated": random_problem(10, (3, 3), (1, 1), dilation=(2, 3)),
    "dilated and strided": random_problem(11, (2, 3), (2, 1), dilation=(3, 2)),
    "grouped": random_problem(12, (3, 3), (1, 1), groups=3),
    "depthwise": random_problem(13, (3, 3), (1, 1), groups=7, depthwise=True),
    "all at random": random_problem(14, groups=2),
}


def windows(x, problem):
    """x (n, c, h, w) as (n, group, c, p, q, r, s): the input elements under every tap of every output."""
    ph, pw = problem.pad
    padded = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    reach = [d * (t - 1) + 1 for t, d in zip(problem.taps, problem.dilation, strict=True)]
    view = sliding_window_view(padded, reach, axis=(2, 3))
    view = view[
        :, :, :: problem.stride[0], :: problem.stride[1], :: problem.dilation[0], :: problem.dilation[1]
    ]
    return view.reshape(problem.n, problem.groups, -1, *view.shape[2:])


def in_groups(tensor, problem, axis):
    """Splits the axis of channels into (group, channel)."""
    shape = tensor.shape
    return tensor.reshape(*shape[:axis], problem.groups, shape[axis] // problem.groups, *shape[axis + 1 :])


def forward(tensors, problem):
    """The definition: cross-correlation."""
    filters = in_groups(tensors["filter"], problem, 0)
    y = np.einsum("ngcpqrs,gkcrs->ngkpq", windows(tensors["input"], problem), filters, optimize=True)
    return y.reshape(problem.shapes()["output"])


def backward_filter(tensors, problem):
    """The derivative of sum(y * dy) with respect to the filter."""
    dy = in_groups(tensors["output"], problem, 1)
    dw = np.einsum("ngcpqrs,ngkpq->gkcrs", windows(tensors["input"], problem), dy, optimize=True)
    return dw.reshape(problem.shapes()["filter"])


def with_zeros_between(tensor, steps):
    """Puts steps - 1 zeros between neighbours of the last two axes."""
    h, w = tensor.shape[-2:]
    spread = np.zeros((*tensor.shape[:-2], (h - 1) * steps[0] + 1, (w - 1) * steps[1] + 1))
    spread[..., :: steps[0], :: steps[1]] = tensor
    return spread


def backward_data(tensors, problem):
    """The full convolution of the spread output gradient with the spread filter, the padding cut off."""
    dy = with_zeros_between(tensors["output"], problem.stride)
    filters = with_zeros_between(tensors["filter"], problem.dilation)
    (h, w), (ph, pw) = problem.image, problem.pad
    padded = np.zeros((problem.n, problem.c, h + 2 * ph, w + 2 * pw))
    c_each, k_each = problem.c // problem.groups, problem.k // problem.groups
    for n in range(problem.n):
        for k in range(problem.k):
            for c in range(c_each):
                part = convolve(dy[n, k], filters[k, c], mode="full", method="direct")
                padded[n, k // k_each * c_each + c, : part.shape[0], : part.shape[1]] += part
    return padded[:, :, ph : ph + h, pw : pw + w]


EXPECTED = {"forward": forward, "backward_data": backward_data, "backward_filter": backward_filter}


def random_tensors(problem, pass_name):
    """The two tensors that the pass reads, float32 values in [-1, 1) held as float64."""
    rng = np.random.default_rng(20)
    shapes = problem.shapes()
    return {
        role: rng.uniform(-1, 1, shapes[role]).astype(np.float32).astype(np.float64)
        for role in READ[pass_name]
    }


def save(folder, tensors, layout):
    """Writes each tensor as float32 in the layout's order."""
    for role, tensor in tensors.items():
        np.save(folder / f"{role}.npy", np.ascontiguousarray(tensor.transpose(LAYOUTS[layout]), np.float32))


def load(path, layout):
    """A written tensor in logical order."""
    return np.load(path).transpose(np.argsort(LAYOUTS[layout]))


def arguments(line, algorithm, folder):
    files = [word for role in WRITTEN.values() for word in (f"--{role}", folder / f"{role}.npy")]
    return ["exec", "--case", line, "--algorithm", algorithm, *files]


def math_of(entry):
    """The math mode that an algorithm is run in."""
    return next(math for math in GATES if math in entry["math"])


def device_of(entry):
    """Where an algorithm is run: the kernels of a GPU on the emulator, which every machine has."""
    return "emulator" if entry["device"] == "cuda" else entry["device"]


def config_of(batch):
    """A config of the problems with so many images."""
    layers = [
        {
            "name": kind,
            "in_channels": p.c,
            "out_channels": p.k,
            "groups": p.groups,
            "input": p.image,
            "filter": p.taps,
            "stride": p.stride,
            "pad": p.pad,
            "dilation": p.dilation,
        }
        for kind, p in PROBLEMS.items()
        if p.n == batch
    ]
    return {"name": "exec", "batch": batch, "layers": layers}


@pytest.fixture(scope="module")
def answers(run_convscope, algorithms, tmp_path_factory):
    """{(kind, pass, layout, math): {algorithm: whether it takes the problem}}, as plans of all say."""
    folder = tmp_path_factory.mktemp("plans")
    found = {}
    for batch in {problem.n for problem in PROBLEMS.values()}:
        config = folder / f"{batch}.json"
        config.write_text(json.dumps(config_of(batch)))
        for device in {device_of(entry) for entry in algorithms}:
            modes = ("--math", ",".join(GATES), "--layout", ",".join(LAYOUTS))
            run = run_convscope("verify", config, "--dry-run", "--device", device, *modes)
            assert run.returncode == 0, run.stderr
            for line in run.stdout.splitlines():
                if head := re.match(r"exec (.+): (\w+) (\w+) (\w+) n=", line):
                    kind, pass_name, math, layout = head.groups()
                    group = found.setdefault((kind, pass_name, layout, math), {})
                elif row := re.match(r"    (\S+)( refuses: )?", line):
                    group[row[1]] = row[2] is None
    return found


@pytest.fixture(scope="module")
def chosen(algorithms, answers):
    """{(kind, pass): [(algorithm's entry, layout)]}: the reference in all layouts, of the other algorithms
    those that take the problem, each in one of its layouts in turn."""
    turns = Counter()
    wanted = {}
    for kind, pass_name in product(PROBLEMS, PASSES):
        pairs = wanted[kind, pass_name] = []
        for entry in algorithms:
            name = entry["id"]
            if name.startswith("reference."):
                pairs += [(entry, layout) for layout in LAYOUTS]
                continue
            layouts = layouts_of(entry, answers, kind, pass_name)
            if layouts:
                layout = min(layouts, key=lambda layout: turns[name, pass_name, layout])
                turns[name, pass_name, layout] += 1
                pairs.append((entry, layout))
    return wanted


def layouts_of(entry, answers, kind, pass_name):
    """The layouts in which an algorithm takes a problem."""
    groups = {layout: answers[kind, pass_name, layout, math_of(entry)] for layout in LAYOUTS}
    return [layout for layout, group in groups.items() if group.get(entry["id"])]


@pytest.fixture(scope="module")
def exercised():
    """Ids of the algorithms that computed at least one problem, with its layout."""
    return set()


@pytest.mark.parametrize("pass_name", PASSES)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_agrees_with_numpy(run_convscope, chosen, exercised, tmp_path, kind, pass_name):
    problem = PROBLEMS[kind]
    tensors = random_tensors(problem, pass_name)
    expected = EXPECTED[pass_name](tensors, problem)
    folders = {layout: tmp_path / layout for layout in LAYOUTS}
    for layout, folder in folders.items():
        folder.mkdir()
        save(folder, tensors, layout)
    for entry, layout in chosen[kind, pass_name]:
        line = problem.line(pass_name, layout, math_of(entry))
        run = run_convscope(*arguments(line, entry["id"], folders[layout]), "--device", device_of(entry))
        assert run.returncode == 0, f"{entry['id']}: {run.stderr}"
        written = folders[layout] / f"{WRITTEN[pass_name]}.npy"
        found = load(written, layout)
        written.unlink()
        assert found.shape == expected.shape
        error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
        assert error <= GATES[math_of(entry)], f"{entry['id']}: relative L2 error {error:.1e} on {line}"
        exercised.add((entry["id"], layout))


def test_every_algorithm_was_exercised_in_its_layouts(algorithms, exercised):
    """Stands after the problems above, which must reach every algorithm of this build."""
    if not exercised:
        pytest.skip("needs the tests above in the same session")
    assert {(entry["id"], layout) for entry in algorithms for layout in entry["layouts"]} == exercised


@pytest.mark.parametrize("kind", PROBLEMS)
def test_what_a_plan_refuses_is_not_computed(run_convscope, algorithms, answers, tmp_path, kind):
    save(tmp_path, random_tensors(PROBLEMS[kind], "forward"), "nchw")
    for entry in algorithms:
        if answers[kind, "forward", "nchw", math_of(entry)].get(entry["id"]) is False:
            line = PROBLEMS[kind].line("forward", "nchw", math_of(entry))
            run = run_convscope(*arguments(line, entry["id"], tmp_path), "--device", device_of(entry))
            assert run.returncode == 1
            assert re.match(rf"convscope: {entry['id']}: (unsupported_|library_refused)", run.stderr)
            assert not (tmp_path / "output.npy").exists()


class TestBadInput:
    problem = PROBLEMS["3x3"]

    def run(self, run_convscope, folder, algorithm="reference.cpu"):
        return run_convscope(*arguments(self.problem.line("forward", "nchw"), algorithm, folder))

    def prepared(self, folder):
        tensors = random_tensors(self.problem, "forward")
        save(folder, tensors, "nchw")
        return tensors

    def test_float64_is_read(self, run_convscope, tmp_path):
        tensors = self.prepared(tmp_path)
        np.save(tmp_path / "input.npy", tensors["input"])
        run = self.run(run_convscope, tmp_path)
        assert run.returncode == 0, run.stderr
        assert np.load(tmp_path / "output.npy").dtype == np.dtype("<f4")

    def test_other_shape_is_named(self, run_convscope, tmp_path):
        self.prepared(tmp_path)
        np.save(tmp_path / "filter.npy", np.zeros((2, 3), np.float32))
        run = self.run(run_convscope, tmp_path)
        assert run.returncode == 2
        assert "filter.npy" in run.stderr and "(2, 3)" in run.stderr
        assert ", ".join(map(str, self.problem.shapes()["filter"])) in run.stderr

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (np.asfortranarray, "Fortran order"),
            (lambda x: x.astype(">f4"), "big-endian"),
            (lambda x: x.astype("<i4"), "<i4"),
        ],
    )
    def test_other_storage_is_refused(self, run_convscope, tmp_path, change, message):
        tensors = self.prepared(tmp_path)
        np.save(tmp_path / "input.npy", change(tensors["input"].astype(np.float32)))
        run = self.run(run_convscope, tmp_path)
        assert run.returncode == 2
        assert message in run.stderr
        assert not (tmp_path / "output.npy").exists()

    def test_unknown_algorithm_gets_a_suggestion(self, run_convscope, tmp_path):
        self.prepared(tmp_path)
        run = self.run(run_convscope, tmp_path, "referense.cpu")
        assert run.returncode == 2
        assert 'did you mean "reference.cpu"?' in run.stderr
