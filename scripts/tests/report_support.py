"""For the tests of convscope-report: calling it in this process, and results made up from recorded ones."""

import atexit
import contextlib
import csv
import functools
import io
import json
import lzma
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).resolve().parent / "report_data"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


@functools.cache
def recorded(name: str) -> Path:
    """Return the folder of a run of report_data, unpacked where it is kept compressed."""
    if (DATA / name).is_dir():
        return DATA / name
    folder = Path(tempfile.mkdtemp(prefix="convscope_recorded_"))
    atexit.register(shutil.rmtree, folder)
    for suffix in ("json", "csv"):
        (folder / f"results.{suffix}").write_bytes(
            lzma.decompress((DATA / f"{name}.{suffix}.xz").read_bytes())
        )
    return folder


@dataclass
class Done:
    code: int
    out: str
    err: str


def report(*arguments) -> Done:
    """Calls the command line without starting a process."""
    from convscope_report.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = ended.code
    return Done(code, out.getvalue(), err.getvalue())


CUDNN = {"onednn.auto": "cudnn.get", "onednn.direct": "cudnn.find"}


def made_up_gpu(
    folder, device="cuda", slower=0.25, outcome=None, of="fft16", source=DATA / "basic", commit=None
):
    """Writes results that nobody measured: those of `source` with other times, on a GPU that does not exist.

    With device="cpu" it is the same machine again, `slower` by that factor; rows with `of` in their
    algorithm or problem end with `outcome`. With another commit only our own rows are slower.
    """
    folder.mkdir(parents=True)
    document = json.loads((source / "results.json").read_text(encoding="utf-8"))
    with (source / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for record, row in zip(document["records"], rows, strict=True):
        if device == "cuda":
            method = record["key"]["algorithm"].removesuffix(".cpu")
            name = f"{CUDNN.get(method, method)}.cuda"
            provider = "cudnn" if method in CUDNN else record["algorithm"]["provider"]
            record["key"]["algorithm"] = record["algorithm"]["id"] = row["algorithm"] = name
            record["key"]["device"] = record["device"]["kind"] = record["algorithm"]["device"] = "cuda"
            record["device"]["name"] = row["device_name"] = "made-up GPU"
            record["algorithm"]["provider"] = row["provider"] = provider
            record["key"]["threads"] = 1
            row["device"], row["threads"] = "cuda", "1"
        if outcome and of in "{algorithm} {problem}".format(**record["key"]):
            record["outcome"] = row["outcome"] = outcome
        scale(record, row, slower if commit is None or row["provider"] == "convscope" else 1)
        # The ceilings and the shares of them are those of the source, whose times are others.
        row["suspect_ceiling"] = ""
    if commit is not None:
        document["environment"]["program"]["commit"] = commit
    write_results(folder, document, rows)


def write_results(folder, document, rows):
    """Writes both files of a run."""
    (folder / "results.json").write_text(json.dumps(document), encoding="utf-8")
    with (folder / "results.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def kept_file(path, document):
    """Writes a run as results/ keeps it; returns the file."""
    path.write_bytes(lzma.compress(json.dumps(document).encode(), preset=0))
    return path


def scale(record, row, factor):
    """Multiplies all times of a record and of its row."""
    for series in ("full", "inference", "kernel", "repeat"):
        values = (record["time"] or {}).get(series)
        for name in values or {}:
            if name == "samples_seconds":
                values[name] = [factor * value for value in values[name]]
            elif name.endswith("_seconds") and isinstance(values[name], float):
                values[name] *= factor
    for name in row:
        if name.startswith(("full_", "inference_", "kernel_")) and name.endswith("_ms") and row[name]:
            row[name] = str(float(row[name]) * factor)
    if row["gflops_nominal"]:
        row["gflops_nominal"] = str(float(row["gflops_nominal"]) / factor)
