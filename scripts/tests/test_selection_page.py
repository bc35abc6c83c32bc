"""docs/selection.md: the table of what our cost model's choice cost is what `choose` says of kept runs."""

import json
import re

import pytest

# The runs by the beginnings of the table's lines; of two that begin alike the longer one first.
RUNS = {
    "AlexNet, batch 16, 1 thread, beside oneDNN 3.2": "alexnet-1-thread-onednn-3.2",
    "AlexNet, batch 16, beside oneDNN 3.2": "alexnet-onednn-3.2",
    "AlexNet, batch 16, 1 thread": "alexnet-1-thread",
    "AlexNet, batch 16": "alexnet",
    "AlexNet, batch 64": "alexnet-batch-64",
    "AlexNet, batch 1": "alexnet-batch-1",
    "AlexNet with groups": "alexnet-grouped-batch-1",
    "AlexNet of one tower": "alexnet-owt-batch-1",
    "AlexNet with its fully-connected layers": "alexnet-full-batch-1",
    "OverFeat": "overfeat-batch-1",
    "DeepBench inference, device set": "deepbench-inference-device",
    "DeepBench inference, server set": "deepbench-inference-server",
    "DeepBench training, forward": "deepbench-training-forward",
    "DeepBench training, backward": "deepbench-training-backward",
    "VGG-16": "vgg-16-batch-1",
    "VGG-A": "vgg-a-batch-1",
    "MobileNet": "mobilenet-batch-1",
    "ResNet-50": "resnet-50-batch-1",
    "GoogLeNet": "googlenet-batch-1",
    "Inception v3": "inception-v3-batch-1",
    "convnet-benchmarks": "convnet-benchmarks-batch-1",
}


def lines_of(root):
    """Yield (its first cell, run, batch or None, the three percentages) of each line of the table."""
    text = (root / "docs/selection.md").read_text(encoding="utf-8")
    table = text.split("| run | regret | among our own algorithms |")[1].split("\n\n")[0]
    for line in table.splitlines()[2:]:
        words, *figures = (cell.strip() for cell in line.strip("|").split("|"))
        run = next(run for beginning, run in RUNS.items() if words.startswith(beginning))
        batch = re.search(r"batch (\d+)", words)
        yield words, run, int(batch[1]) if batch else None, figures


@pytest.fixture(scope="module")
def chosen(root, run_convscope):
    """What `choose` says of the kept runs, by run and batch."""
    found = {}
    for run in set(RUNS.values()):
        done = run_convscope(
            "choose", "--results", root / f"results/amd-zen4-2-cores/{run}.json.xz", "--json"
        )
        assert done.returncode == 0, done.stderr
        for entry in json.loads(done.stdout):
            found[run, entry["batch"]] = entry["scores"]
    return found


def test_the_table_has_every_kept_run_but_the_papers(root):
    kept = {path.name.removesuffix(".json.xz") for path in (root / "results/amd-zen4-2-cores").glob("*.xz")}
    assert set(RUNS.values()) == {name for name in kept if not name.startswith("paper-")}


def test_the_table_of_regrets_is_what_choose_says_of_the_kept_runs(root, chosen):
    lines = list(lines_of(root))
    assert len(lines) == len(chosen)
    for words, run, batch, figures in lines:
        [scores] = [scores for (of, at), scores in chosen.items() if of == run and batch in (None, at)]
        own, library = scores["own"], scores["onednn.auto.cpu"]
        expected = own["regret"], own["regret_among_own"], library["regret"]
        assert figures == [f"{100 * value:.1f}%" for value in expected], words
