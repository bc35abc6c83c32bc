"""`convscope-report import benchdnn`: configs from batch files."""

import json
import os

import pytest
from import_support import imported, refused

from convscope_report.cli import main

BATCH = """\
# comment
--reset --dir=FWD_B,BWD_D
--mb=4
ic3ih227iw227_oc96oh55ow55_kh11kw11_sh4sw4ph0pw0_n"alexnet:conv1"
g2ic96ih27oc256oh27kh5ph2n"alexnet:conv2*3"
--mb=0
mb8_ic16ih10oc16oh6kh3dh1_n"dilated"   # padding derived from the output: none
mb8_ic16ih10oc16oh10kh3dh1_n"padded"
"""


def test_a_batch_file(tmp_path, capsys):
    path = tmp_path / "shapes"
    path.write_text(BATCH)
    config, notes = imported(path, capsys, kind="benchdnn")
    assert config["layers"] == [
        {
            "name": "alexnet:conv1",
            "in_channels": 3,
            "input": [227, 227],
            "out_channels": 96,
            "filter": 11,
            "stride": 4,
            "batch": 4,
        },
        {
            "name": "alexnet:conv2",
            "in_channels": 96,
            "input": [27, 27],
            "out_channels": 256,
            "filter": 5,
            "pad": 2,
            "groups": 2,
            "count": 3,
            "batch": 4,
        },
        {
            "name": "dilated",
            "in_channels": 16,
            "input": [10, 10],
            "out_channels": 16,
            "filter": 3,
            "dilation": 2,
            "batch": 8,
        },
        {
            "name": "padded",
            "in_channels": 16,
            "input": [10, 10],
            "out_channels": 16,
            "filter": 3,
            "pad": 2,
            "dilation": 2,
            "batch": 8,
        },
    ]
    assert "ignored options: --dir" in notes


def test_batch_files_include_each_other(tmp_path, capsys):
    (tmp_path / "all").write_text("--batch=one\n--batch=one\n")
    (tmp_path / "one").write_text("mb2ic4ih8oc4kh3\n")
    config, _ = imported(tmp_path / "all", capsys, kind="benchdnn")
    assert config["batch"] == 2 and config["layers"][0]["count"] == 2
    (tmp_path / "one").write_text("--batch=all\n")
    assert "includes itself" in refused(tmp_path / "all", capsys, kind="benchdnn")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ic3ih8oc4", "line 1: ic3ih8oc4: ic, ih, oc and kh are needed"),
        ("ic3ih8oc4kh3zz5", "'zz5' does not start with a benchdnn field"),
        ("g5ic3ih8oc4kh3", "5 groups do not divide"),
        ("ic3ih2oc4kh3", "does not fit"),
        ("ic3id4ih8oc4kh3", "a 3-D convolution"),
        ("ic3ih8oc4oh4kh3sh2ph0", "padding that is not symmetric"),
        ("--mb=x", "allowed is one whole number"),
        ("--mb=²", "allowed is one whole number"),
        ("--mb=" + "9" * 5000, "allowed is one whole number"),
        ("--batch=\0", "cannot be read"),
        ("ic3ih8oc4kh3oh4sh0", "sh is 0"),
        ("ic3ih8oc4kh3mb" + "9" * 5000, "allowed is up to 2147483648"),
        ("mb0ic3ih8oc4kh3", "a size is not from 1"),
        ("ic3ih8oc4kh3na*2147483648 ic3ih8oc4kh3", "2147483649 times"),
        ("# nothing", "no convolution in it"),
        ('ic3ih8oc4kh3n"open', "No closing quotation"),
    ],
)
def test_a_bad_line_is_named(tmp_path, capsys, line, words):
    path = tmp_path / "shapes"
    path.write_text(line + "\n")
    assert words in refused(path, capsys, kind="benchdnn")


def test_long_names_that_are_alike_stay_apart(tmp_path, capsys):
    (tmp_path / "shapes").write_text("".join(f"ic3ih8oc{n}kh3n{'é' * 60}\n" for n in (1, 2)))
    config, _ = imported(tmp_path / "shapes", capsys, kind="benchdnn")
    assert [layer["name"] for layer in config["layers"]] == ["é" * 50, "é" * 49 + "_2"]


def test_a_file_whose_name_is_no_utf8_is_imported(tmp_path, capsys):
    path = tmp_path / os.fsdecode(b"shapes\xff")
    path.write_text("ic3ih8oc4kh3\n")
    config, _ = imported(path, capsys, kind="benchdnn")
    assert config["name"] == "shapes?"


def test_our_descriptors_come_back(tmp_path, capsys, root, run_convscope):
    """What the program writes as benchdnn descriptors is read back as the same problems."""
    listing = run_convscope("list", "layers", root / "configs" / "smoke.json", "--json")
    assert listing.returncode == 0, listing.stderr
    layers = json.loads(listing.stdout)["layers"]
    path, out = tmp_path / "shapes", tmp_path / "again.json"
    path.write_text("".join(f'{layer["benchdnn"]}n"{layer["name"]}"\n' for layer in layers))
    assert main(["import", "benchdnn", str(path), "-o", str(out)]) == 0
    capsys.readouterr()
    again = json.loads(run_convscope("list", "layers", out, "--json").stdout)["layers"]
    assert len(layers) > 5
    assert [layer["problem"] for layer in again] == [layer["problem"] for layer in layers]
