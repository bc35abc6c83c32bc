"""The verb `import`: a layer config from an ONNX model or a benchdnn batch file."""

import sys
from pathlib import Path

from convscope_report import ReportError
from convscope_report.configs_from.benchdnn_file import import_benchdnn
from convscope_report.configs_from.config_file import LARGEST_SIZE, config_text, whole_number
from convscope_report.table import counted
from convscope_report.verbs import Verb, add_out, write_or_print


def arguments(parser) -> None:
    """FORMAT, FILE and what to do with convolutions that no config can say."""
    parser.add_argument("format", choices=("onnx", "benchdnn"), metavar="FORMAT", help="onnx or benchdnn.")
    parser.add_argument("file", type=Path, metavar="FILE", help="The model, or the batch file.")
    parser.add_argument(
        "--input-shape",
        action="append",
        default=[],
        metavar="[NAME=]N,C,H,W",
        help="Dimensions of an input that the model leaves open; once for each input.",
    )
    parser.add_argument(
        "--asymmetric",
        choices=("refuse", "enlarge"),
        default="refuse",
        help="Padding that differs at the two ends of an axis: refuse the file, or write the zeros as part "
        "of a larger input, which is the same arithmetic (refuse).",
    )
    parser.add_argument(
        "--skip-refused", action="store_true", help="Leave out convolutions that a config cannot say."
    )
    add_out(parser)


def run(options) -> int:
    """Write the config, and to standard error what was noteworthy."""
    enlarge = options.asymmetric == "enlarge"
    if options.format == "onnx":
        # Imported here: the package takes a second to load, and only this format needs it.
        from convscope_report.configs_from.onnx_model import import_onnx

        shapes = dict(parsed_shape(text) for text in options.input_shape)
        config = import_onnx(options.file, shapes, enlarge, options.skip_refused)
    elif options.input_shape:
        raise ReportError("--input-shape is for ONNX models; a benchdnn file has all sizes: leave it out")
    else:
        config = import_benchdnn(options.file, enlarge, options.skip_refused)
    for note in config.notes:
        print(f"note: {note}", file=sys.stderr)
    write_or_print(config_text(config), options.out)
    if options.out:
        convolutions = sum(layer.count for layer in config.layers)
        print(
            f"{options.out}: {counted(convolutions, 'convolution')}, {len(config.layers)} of them different"
        )
    return 0


def parsed_shape(text: str) -> tuple[str, list[int]]:
    """Name ("" where there is none) and dimensions of an --input-shape."""
    name, equals, sizes = text.rpartition("=")
    dimensions = sizes.split(",")
    numbers = [whole_number(size.strip()) for size in dimensions]
    if not all(numbers) or max(numbers) > LARGEST_SIZE or (equals and not name):
        raise ReportError(
            f"--input-shape {text}: found {sizes!r}; allowed is N,C,H,W or NAME=N,C,H,W, from 1 on"
        )
    return name, numbers


IMPORT = Verb(
    "Make a config from the convolutions of an ONNX model, or of a batch file of oneDNN's benchdnn.",
    """\
  convscope-report import onnx resnet50.onnx --input-shape 16,3,224,224 -o resnet50.json
  convscope-report import onnx net.onnx --input-shape image=1,3,512,512 --asymmetric enlarge -o net.json
  convscope-report import benchdnn shapes_resnet_50 -o resnet_50.json
  convscope list layers resnet50.json""",
    arguments,
    run,
)
