"""Options that several verbs share."""

from __future__ import annotations

import argparse
import re
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from relay_tune.cli.choices import VERIFICATIONS
from relay_tune.errors import InputError
from relay_tune.schedule.accuracy import Accuracy

_BYTES = {"": 1, "B": 1, "kB": 1000, "MB": 1000**2, "GB": 1000**3}

MODEL_HELP = "a .onnx, .relay or .json file, or zoo:NAME for a built-in network"


def add_model(parser: ArgumentParser) -> None:
    """MODEL, --shape and --constant."""
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument(
        "--shape",
        metavar="NAME=1,3,224,224",
        type=shape,
        action="append",
        default=[],
        help="the size of an input that the file leaves open, or a size by its own name (batch=1); "
        "with ranges (NAME=1..64,3,224,224), or where a name comes again, sizes that kernels are "
        "chosen for; may be repeated",
    )
    parser.add_argument(
        "--constant",
        metavar="NAME=VALUE",
        type=constant,
        action="append",
        default=[],
        help="the value of an input that becomes a constant, such as sr=16000; may be repeated",
    )


def add_target(parser: ArgumentParser) -> None:
    """--target."""
    parser.add_argument(
        "--target",
        default="native",
        metavar="T",
        help="native, or TRIPLE[:CPU[:+feature,...]] (default: native)",
    )


def add_machine(parser: ArgumentParser) -> None:
    """--target and --threads."""
    add_target(parser)
    parser.add_argument(
        "--threads",
        type=positive,
        metavar="T",
        help="how many threads the model uses (default: all processors)",
    )


def add_accuracy(parser: ArgumentParser) -> None:
    """--accuracy."""
    parser.add_argument(
        "--accuracy",
        choices=[str(each) for each in Accuracy],
        default=str(Accuracy.FAST),
        help="exact: as direct sums; fast: no value reaches results that do not depend on it, but "
        "for tiles of Winograd convolutions; relaxed: all algorithms (default: fast)",
    )


def add_passes(parser: ArgumentParser) -> None:
    """--passes and --verify."""
    parser.add_argument(
        "--passes",
        metavar="PASSES",
        help="the passes that make kernels of the model, such as 'default{layout=NCHW}' or "
        "'simplify_inference,fuse{maximum_group_size=8}' (default: default)",
    )
    parser.add_argument(
        "--verify",
        choices=VERIFICATIONS,
        help="after each pass, verify scopes, types and kernels (structure), or also by the "
        "interpreter on random inputs that the answer is the same (answers)",
    )


def add_memory_limit(parser: ArgumentParser) -> None:
    """--memory-limit."""
    parser.add_argument(
        "--memory-limit",
        metavar="64MB",
        type=byte_count,
        help="the most bytes between kernels (kB, MB, GB), without inputs, outputs and weights; "
        "results are computed again where they would take more (default: none)",
    )


def add_log(parser: ArgumentParser, purpose: str) -> None:
    """--log, a file that need not be given."""
    parser.add_argument("--log", metavar="FILE", help=purpose)


def add_json(parser: ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="print JSON, for scripts")


def positive(text: str) -> int:
    """A whole number above 0; argparse reports the error."""
    return _whole(text, 1)


def byte_count(text: str) -> int:
    """Bytes, such as 1500000, 64MB or 1.5GB; argparse reports the error."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(B|kB|MB|GB|)", text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is no number of bytes such as 1500000, 64MB or 1.5GB")
    return int(float(found[1]) * _BYTES[found[2]])


def seed(text: str) -> int:
    """A whole number that is not negative; argparse reports the error."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value < least:
        raise ArgumentTypeError(f"{text} is not at least {least}")
    return value


def positive_real(text: str) -> float:
    """A finite number above 0; argparse reports the error."""
    try:
        value = float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 < value < float("inf"):
        raise ArgumentTypeError(f"{text} is not a finite number above 0")
    return value


def shape(text: str) -> tuple[str, tuple[int | range, ...]]:
    """NAME=SIZES as a pair; sizes are numbers or ranges between commas, none for a scalar."""
    name, equals, sizes = text.rpartition("=")
    values = [_size(size, text) for size in sizes.split(",")] if sizes else []
    known = tuple(value for value in values if value is not None)
    if not equals or not name or len(known) < len(values):
        raise ArgumentTypeError(f"{text!r} does not read like NAME=1,3,224,224 or NAME=1..64,256")
    return name, known


def _size(text: str, whole: str) -> int | range | None:
    """A size, or a range such as 1..64; None for anything else than numbers."""
    least, dots, most = text.partition("..")
    try:
        low, high = int(least), int(most) if dots else int(least)
    except ValueError:
        return None
    if low < 0:
        return None
    if high < low:
        raise ArgumentTypeError(
            f"{whole!r} has a range that ends before it begins; write {high}..{low}"
        )
    if dots and low == 0:
        raise ArgumentTypeError(
            f"{whole!r} has a range that begins at 0, for which nothing can be timed; write "
            f"1..{max(high, 1)}, and the model runs for 0, too"
        )
    return range(low, high + 1) if dots else low


Values = bool | float | list[bool | float]


def constant(text: str) -> tuple[str, Values]:
    """NAME=VALUE as a pair: true, false, a number, or several of them between commas."""
    name, _, values = text.partition("=")
    try:
        found = [_number(each.strip()) for each in values.split(",")]
    except ValueError:
        found = []
    if not name or not found:
        raise ArgumentTypeError(f"{text!r} does not read like NAME=16000")
    return name, found[0] if len(found) == 1 else found


def _number(text: str) -> bool | float:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text)
    except ValueError:
        return float(text)


def constants_of(arguments: argparse.Namespace) -> dict[str, Values]:
    """The values that were given by --constant, by name."""
    return dict(arguments.constant)


def shapes_of(arguments: argparse.Namespace) -> dict[str, tuple[int, ...]]:
    """The sizes that --shape fixes, by name: none where it says what to choose kernels for."""
    if dynamic_shapes_of(arguments):
        return {}
    return {
        name: tuple(size for size in sizes if isinstance(size, int))
        for name, sizes in arguments.shape
    }


def dynamic_shapes_of(arguments: argparse.Namespace) -> list[dict[str, tuple[int | range, ...]]]:
    """The sizes that kernels are chosen for: ranges, or inputs that are named several times.

    Of inputs that are named several times, the first sizes belong together, and so on; what is
    named once belongs to all.
    """
    by_name: dict[str, list[tuple[int | range, ...]]] = {}
    for name, sizes in arguments.shape:
        by_name.setdefault(name, []).append(sizes)
    count = max((len(each) for each in by_name.values()), default=0)
    ranges = any(isinstance(size, range) for _, sizes in arguments.shape for size in sizes)
    if count < 2 and not ranges:
        return []
    if any(len(each) not in (1, count) for each in by_name.values()):
        raise InputError(
            f"--shape names some inputs {count} times and others more than once, but less often.",
            remedy="Name each input once, or as often as the others.",
        )
    return [
        {name: each[number if len(each) > 1 else 0] for name, each in by_name.items()}
        for number in range(count)
    ]


def build_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `build` and `tune` that all verbs have options for."""
    return {
        "target": arguments.target,
        "threads": arguments.threads,
        "accuracy": arguments.accuracy,
        "shapes": dynamic_shapes_of(arguments),
        "pipeline": arguments.passes,
        "verify": arguments.verify,
    }
