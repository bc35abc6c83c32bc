"""The design notes' predictions beside what was measured.

algorithms/predictions.csv has one a line, in the words of the note that makes it. They are for AlexNet at
batch 256 on an H200; a share of a ceiling holds on other GPUs too, a time does not, nor at another batch.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

COLUMNS = "algorithm layers pass math layout quantity relation low high source words".split()  # noqa: SIM905
QUANTITIES = ("nominal share", "ms")
GPU, BATCH = "H200", 256
# Further off than this counts as wrong, beyond the range that a note gives.
TOLERANCE = 0.10


@dataclass(frozen=True)
class Prediction:
    """Of one algorithm: a share of the measured ceiling, or milliseconds, between `low` and `high`."""

    algorithm: str
    layers: tuple[str, ...]
    direction: str
    math: str
    layout: str
    quantity: str
    low: float | None
    high: float
    source: str
    words: str

    @property
    def text(self) -> str:
        """What was predicted, as a reader sees it."""

        def number(value: float) -> str:
            return f"{100 * value:.0f}%" if self.quantity == "nominal share" else f"{value:g} ms"

        if self.low is None:
            return f"at most {number(self.high)}"
        return number(self.high) if self.low == self.high else f"{number(self.low)} to {number(self.high)}"


def load(file: Path) -> list[Prediction]:
    """Read predictions.csv; raises ValueError for a line that is none."""
    predictions = []
    with file.open(newline="") as lines:
        reader = csv.DictReader(lines, strict=True)
        if reader.fieldnames != COLUMNS:
            raise ValueError(f"{file}: its columns are not {', '.join(COLUMNS)}")
        for line in reader:
            where = f"{file}: line {reader.line_num}"
            if line["quantity"] not in QUANTITIES or line["relation"] not in ("is", "at most"):
                raise ValueError(f"{where}: unknown quantity or relation")
            if (line["relation"] == "at most") != (line["low"] == ""):
                raise ValueError(f"{where}: `low` is for the relation `is` alone")
            low = float(line["low"]) if line["low"] else None
            predictions.append(
                Prediction(
                    line["algorithm"], tuple(line["layers"].split()), line["pass"], line["math"],
                    line["layout"], line["quantity"], low, float(line["high"]), line["source"], line["words"],
                )
            )  # fmt: skip
    return predictions


def fields_of(problem: str) -> dict[str, str]:
    """Return the sizes of a problem line by name: n, c, hw, ..."""
    return dict(word.split("=") for word in problem.split() if "=" in word)


def nominal_flops(problem: str) -> float:
    """Return 2 N K C R S P Q / groups of a problem line."""
    fields = fields_of(problem)

    def pair(name: str, default: str) -> list[int]:
        return [int(part) for part in fields.get(name, default).split("x")]

    taps, result = pair("rs", "1x1"), 2.0 * int(fields["n"]) * int(fields["k"]) * int(fields["c"])
    axes = zip(  # noqa: B905 (Python 3.9 has no strict)
        pair("hw", "1x1"), taps, pair("stride", "1x1"), pair("pad", "0x0"), pair("dilation", "1x1")
    )
    for size, filter_taps, stride, pad, dilation in axes:
        result *= filter_taps * ((size + 2 * pad - dilation * (filter_taps - 1) - 1) // stride + 1)
    return result / int(fields.get("groups", "1"))


def measured_value(prediction: Prediction, record: dict) -> float | None:
    """Return the predicted quantity of a record; None where its ceiling was not measured."""
    seconds = record["time"]["full"]["median_seconds"]
    if prediction.quantity == "ms":
        return seconds * 1e3
    name = {"fp32": "fma_flops", "3xtf32": "tf32_flops"}.get(prediction.math, prediction.math + "_flops")
    ceiling = (record.get("ceilings") or {}).get(name)
    return nominal_flops(record["key"]["problem"]) / seconds / ceiling if ceiling else None


def _verdict(prediction: Prediction, value: float, gpu: str, batch: int) -> str:
    nearest = min(max(value, prediction.low or 0.0), prediction.high)
    off = f"{100 * (value / nearest - 1):+.0f}%"
    if prediction.quantity == "ms" and GPU not in gpu:
        return f"{off} on another GPU"
    if prediction.quantity == "ms" and batch != BATCH:
        return f"{off} at batch {batch}"
    return f"WRONG: {off}" if abs(value / nearest - 1) > TOLERANCE else "right"


def judge(
    predictions: list[Prediction], records: list[dict]
) -> list[tuple[Prediction, str, float | None, str]]:
    """Return, for each prediction and layer, what was measured and whether the prediction was right.

    The verdict is "right", "WRONG" with how far the value is from the nearest end of the range, how far a
    time on another GPU or at another batch is, which says nothing of the prediction, or why there is none.
    """
    lines = []
    for prediction in predictions:
        for layer in prediction.layers:
            wanted = (prediction.algorithm, layer, [prediction.direction, prediction.math, prediction.layout])
            found = [
                r
                for r in records
                if r["key"]["network"] == "alexnet"
                and (r["key"]["algorithm"], r["key"]["layer"], r["key"]["problem"].split()[:3]) == wanted
            ]
            measured = [r for r in found if r["outcome"] == "measured" and r.get("time")]
            if not measured:
                outcome = found[0]["outcome"] if found else "not run"
                lines.append((prediction, layer, None, outcome))
                continue
            value = measured_value(prediction, measured[0])
            gpu = (measured[0].get("device") or {}).get("name", "")
            batch = int(fields_of(measured[0]["key"]["problem"])["n"])
            verdict = "no ceiling" if value is None else _verdict(prediction, value, gpu, batch)
            lines.append((prediction, layer, value, verdict))
    return lines


def report(predictions: list[Prediction], records: list[dict]) -> list[str]:
    """Return the verdicts as lines of text, and how many were wrong in the last."""
    judged = judge(predictions, records)
    gpus = dict.fromkeys(r["device"]["name"] for r in records if r.get("device"))
    lines = [f"predictions are for an NVIDIA {GPU}, batch {BATCH}; this is {', '.join(gpus) or 'nothing'}"]
    lines.append(f"{'algorithm':30} {'layer':6} {'pass':16} {'math':7} {'predicted':16} {'measured':>10}")
    for prediction, layer, value, verdict in judged:
        share = prediction.quantity == "nominal share"
        text = "-" if value is None else f"{100 * value:.0f}%" if share else f"{value:.3f} ms"
        of_what = f"{prediction.algorithm:30} {layer:6} {prediction.direction:16} {prediction.math:7}"
        lines.append(f"{of_what} {prediction.text:16} {text:>10}  {verdict}")
    verdicts = [verdict for *_, value, verdict in judged if value is not None]
    others = sum(verdict.endswith("on another GPU") for verdict in verdicts)
    batches = sum(" at batch " in verdict for verdict in verdicts)
    wrong = sum(verdict.startswith("WRONG") for verdict in verdicts)
    at_another = f"{batches} at another batch; " if batches else ""
    lines.append(
        f"{wrong} of {len(verdicts) - others - batches} predictions were wrong; {others} are times on "
        f"another GPU; {at_another}{len(judged) - len(verdicts)} not measured"
    )
    return lines
