"""Quantize a float network: layers in bytes, calibrated with samples, or weights in fewer bits."""

from __future__ import annotations

import argparse

from relay_tune.cli.choices import QUANTIZATION_METHODS, QUANTIZATION_SCHEMES, QUANTIZATION_STEPS
from relay_tune.cli.options import add_json, add_model, positive, positive_real, seed

EXAMPLE = """tune quantize model.onnx --data samples.npz -o quantized.onnx
example: tune quantize model.onnx --data samples.npz --scheme auto --max-loss 0.01 -o fast.onnx"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    add_model(parser)
    _add_samples(parser)
    _add_scheme(parser)
    _add_outputs(parser)
    _add_search(parser)
    parser.add_argument(
        "--threads",
        type=positive,
        metavar="T",
        help="how many threads the model uses (default: all processors)",
    )
    parser.add_argument("--no-time", action="store_true", help="do not time both models")
    add_json(parser)


def _add_samples(parser: argparse.ArgumentParser) -> None:
    """--data and --method: what ranges come from."""
    parser.add_argument(
        "--data",
        metavar="FILE|FOLDER",
        help="inputs as the model will see them: a .npz file with an array for each input, a .npy "
        "file for the only input, or a folder of such files; int8 and auto need it",
    )
    parser.add_argument(
        "--method",
        choices=QUANTIZATION_METHODS,
        default="auto",
        help="how ranges of data are chosen; auto: with the least loss (default: auto)",
    )


def _add_scheme(parser: argparse.ArgumentParser) -> None:
    """--scheme, --activations, --weight-bits and --max-loss: what is stored in fewer bits."""
    parser.add_argument(
        "--scheme",
        choices=QUANTIZATION_SCHEMES,
        default="int8",
        help="int8: data and weights of layers; w8, w4, bf16: weights alone, in blocks of 32 or as "
        "bfloat16; auto: each layer in float32, int8 or what else is fast here, as fast as "
        "--max-loss allows, found by building and timing (default: int8)",
    )
    parser.add_argument(
        "--activations",
        choices=("auto", "float32", "uint8", "int8"),
        default="auto",
        help="the type of data; auto: what this machine multiplies with int8, float32 with others; "
        "int8 with w8 and w4: products of many rows round data to bytes (default: auto)",
    )
    parser.add_argument(
        "--weight-bits",
        type=int,
        choices=(7, 8),
        default=8,
        help="of int8 weights; 7 bits are multiplied faster by processors with AVX2 and no VNNI "
        "(default: 8)",
    )
    parser.add_argument(
        "--max-loss",
        metavar="PART",
        type=positive_real,
        help="the root mean square error of the outputs is no more than this part of their "
        "magnitude, such as 0.01: with int8 the layers that hurt most stay in float32",
    )


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    """--output and --after."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the quantized model, .onnx (QDQ) or .relay"
    )
    parser.add_argument(
        "--after", choices=QUANTIZATION_STEPS, help="print the model after this step as Relay text"
    )


def _add_search(parser: argparse.ArgumentParser) -> None:
    """--log, --minutes and --seed, for the scheme that is searched for."""
    parser.add_argument(
        "--log",
        metavar="FILE",
        help="with auto: a tuning log that remembers what was measured and gives schedules, "
        "created where there is none",
    )
    parser.add_argument(
        "--minutes",
        type=positive_real,
        metavar="M",
        help="with auto: try choices for M minutes after the calibration (default: 3)",
    )
    parser.add_argument(
        "--seed", type=seed, metavar="S", help="with auto: of the search (default: 0)"
    )
