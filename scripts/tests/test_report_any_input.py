"""Whatever a file holds, convscope-report takes it or says in one ReportError what is wrong, and where.

Input made by Hypothesis: few examples and always the same ones, or, with CONVSCOPE_EXAMPLES=N, N new ones a
test. Mistakes that it found stand by name in test_report_errors.py and test_import_onnx.py.
"""

import json
import os
from pathlib import Path

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from onnx import TensorProto, helper
from report_support import DATA, kept_file, report

from convscope_report import ReportError, kept, results, run_files
from convscope_report.configs_from.benchdnn_file import import_benchdnn
from convscope_report.configs_from.config_file import config_text
from convscope_report.configs_from.onnx_model import import_onnx

ASKED = int(os.environ.get("CONVSCOPE_EXAMPLES", "0"))


def examples(few):
    """So many examples, the same at every time; or as many new ones as were asked for."""
    return settings(
        max_examples=ASKED or few,
        derandomize=not ASKED,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("any")


def read(reader, file, *arguments):
    """What the reader makes of the file; None where it refuses it with a message that names it."""
    try:
        return reader(file, *arguments)
    except ReportError as fault:
        assert Path(file).name in str(fault)
        return None


VALUES = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats()
    | some.text(max_size=5)
    | some.sampled_from([10**400, -1, 2**63, "forward", "\x00", "nan"]),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


def small():
    """Two records of basic, and their lines of results.csv."""
    document = json.loads((DATA / "basic" / "results.json").read_text(encoding="utf-8"))
    document["records"] = document["records"][:2]
    lines = (DATA / "basic" / "results.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    return document, "".join(lines[:3])


SMALL, ROWS = small()


def paths(value, path=()):
    """Every place in a document."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from paths(value[key], (*path, key))


PLACES = [path for path in paths(SMALL) if path]


@some.composite
def damaged(draw):
    """The document with some of its values others, or missing."""
    document = json.loads(json.dumps(SMALL))
    for *path, last in draw(some.lists(some.sampled_from(PLACES), min_size=1, max_size=2)):
        inner = document
        for step in path:
            there = isinstance(inner, dict | list) and (
                step in inner if isinstance(inner, dict) else step < len(inner)
            )
            inner = inner[step] if there else None
        if isinstance(inner, dict) and last in inner and draw(some.booleans()):
            del inner[last]
        elif (isinstance(inner, dict) and isinstance(last, str)) or (
            isinstance(inner, list) and last < len(inner)
        ):
            inner[last] = draw(VALUES)
    return document


def changed(text):
    """A text with a part of it another."""
    parts = some.text(max_size=8) | some.sampled_from(
        ["[" * 5000, "1" * 5000, "1e999", "NaN", "²", '"', "\\ud800"]
    )
    places = some.integers(0, len(text))
    return some.builds(
        lambda at, length, part: text[:at] + part + text[at + length :], places, some.integers(0, 9), parts
    )


def load_parts(file):
    """What is read of a folder before the program is asked."""
    document = run_files.read_json(file)
    rows = results.read_rows(file.with_name("results.csv"))
    return results.attach_records(rows, document, 0, file), results.run_of(document, file).started


def write(folder, text, rows=ROWS):
    (folder / "results.csv").write_text(rows, encoding="utf-8", errors="surrogatepass")
    (folder / "results.json").write_text(text, encoding="utf-8", errors="surrogatepass")
    return folder / "results.json"


@examples(25)
@given(document=damaged())
def test_a_damaged_document(document, folder):
    read(load_parts, write(folder, json.dumps(document)))


@examples(15)
@given(text=changed(json.dumps(SMALL)), rows=changed(ROWS))
def test_a_damaged_text_and_damaged_rows(text, rows, folder):
    file = write(folder, text)
    read(load_parts, file)
    write(folder, json.dumps(SMALL), rows)
    try:
        load_parts(file)
    except ReportError as fault:
        assert "results." in str(fault)


@examples(60)
@given(data=some.binary(max_size=60) | some.just((DATA / "basic" / "results.json").read_bytes()))
def test_bytes_of_any_kind(data, folder):
    for name in ("results.json", "kept.json.xz"):
        (folder / name).write_bytes(data)
        read(run_files.read_json, folder / name)


@examples(3)
@given(document=damaged())
def test_a_table_of_a_damaged_document_ends_with_one_sentence(document, folder, convscope):
    write(folder, json.dumps(document))
    done = report("table", "layers", folder, "--convscope", convscope)
    assert done.code in (0, 2)
    assert done.code == 0 or done.err.startswith("convscope-report: ")


def test_bytes_of_a_file_that_the_program_quotes_are_printed(convscope, tmp_path):
    file = tmp_path / "utf16.json"
    file.write_text(json.dumps(SMALL), encoding="utf-16")
    done = report("table", "selection", file, "--convscope", convscope)
    assert (done.code, done.out) == (2, "") and f"says: {file}: " in done.err


def test_runs_without_a_right_record_are_named(convscope, tmp_path):
    document = json.loads((DATA / "basic" / "results.json").read_text(encoding="utf-8"))
    document["records"] = [record for record in document["records"] if record["outcome"] == "unsupported"]
    file = kept_file(tmp_path / "refused.json.xz", document)
    for words in (["table", "layers"], ["table", "why-gpu"], ["plot", "all"]):
        done = report(*words, file, "--convscope", convscope)
        assert (done.code, done.out) == (2, "") and done.err.startswith(f"convscope-report: {file}: none of")


FIELD = some.builds(
    lambda key, number: f"{key}{number}",
    some.sampled_from("mb ic ih iw oc oh ow kh kw sh sw ph pw dh dw g id _".split()),  # noqa: SIM905
    some.integers(0, 20) | some.sampled_from(["", "9" * 20, "1" * 5000, "²", "2147483648", "2147483647"]),
)
DESCRIPTOR = some.builds(
    lambda start, fields, end: start + "".join(fields) + end,
    some.sampled_from(["", "ic4ih9oc8kh3", "mb2_ic4ih9oc8kh3"]),
    some.lists(FIELD, max_size=5),
    some.sampled_from(["", 'n"a"', "na*3", "n*²", "n" + "é" * 60, "n*" + "9" * 5000]) | some.text(max_size=5),
)
OPTION = some.sampled_from(
    [
        "--mb=3",
        "--mb=²",
        "--mb=" + "9" * 5000,
        "--reset",
        "--batch=",
        "--batch=.",
        "--batch=\x00",
        "--dir=FWD",
        "-",
        "#",
        '"',
    ]
)


@examples(60)
@given(
    lines=some.lists(DESCRIPTOR | OPTION | some.text(max_size=10), max_size=6),
    enlarge=some.booleans(),
    skip=some.booleans(),
)
def test_a_batch_file_of_benchdnn(lines, enlarge, skip, folder):
    file = folder / "shapes"
    file.write_text("\n".join(lines), encoding="utf-8", errors="surrogatepass")
    config = read(import_benchdnn, file, enlarge, skip)
    if config:
        json.loads(config_text(config))
        assert not any(layer.defect() for layer in config.layers)


NUMBERS = some.lists(some.integers(-1, 4) | some.just(2**40), max_size=5)
ATTRIBUTES = some.fixed_dictionaries(
    {},
    optional={
        "strides": NUMBERS | some.floats(allow_nan=False) | some.text(max_size=3),
        "dilations": NUMBERS,
        "pads": NUMBERS,
        "group": some.integers(-1, 4) | NUMBERS,
        "auto_pad": some.sampled_from(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", "", "\x80"])
        | some.integers(0, 1),
    },
)
SHAPE = some.lists(some.integers(0, 6), max_size=5)


def model_bytes(operator, attributes, sizes, filter_sizes, names, operands):
    attributes = {name: value for name, value in attributes.items() if value != []}
    node = helper.make_node(operator, ["x", "w", "b"][:operands], names, **attributes)
    weights = [onnx.TensorProto(name="w", dims=filter_sizes, data_type=TensorProto.FLOAT)]
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes)], [], weights
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    ).SerializeToString()


@examples(60)
@given(
    model=some.builds(
        model_bytes,
        some.sampled_from(["Conv", "Conv", "ConvTranspose", "FusedConv", "QLinearConv"]),
        ATTRIBUTES,
        SHAPE | some.just([1, 4, 9, 9]),
        SHAPE | some.just([4, 4, 3, 3]),
        some.lists(some.sampled_from(["y", "", "é" * 70]), max_size=1),
        some.integers(0, 3),
    ),
    cut=some.integers(0, 200) | some.none(),
    enlarge=some.booleans(),
)
def test_a_model(model, cut, enlarge, folder):
    file = folder / "net.onnx"
    file.write_bytes(model if cut is None else model[:cut])
    config = read(import_onnx, file, {}, enlarge)
    if config:
        assert not any(layer.defect() for layer in config.layers)


INDEX = ",".join(kept.COLUMNS) + "\n" + ",".join(kept.COLUMNS) + "\n"


@examples(60)
@given(text=changed(INDEX), data=some.binary(max_size=20))
def test_the_index_of_kept_runs(text, data, folder):
    for content in (text.encode(errors="surrogatepass"), data):
        (folder / "index.csv").write_bytes(content)
        try:
            kept.read_index(folder)
        except ReportError as fault:
            assert "index.csv" in str(fault)
