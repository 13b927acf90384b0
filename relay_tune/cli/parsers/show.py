"""Print a model: as Relay text, after a pass of the pipeline, or the kernels that it becomes."""

from __future__ import annotations

import argparse

from relay_tune.cli.choices import KERNEL_STEPS
from relay_tune.cli.options import add_machine, add_model, add_passes

EXAMPLE = "tune show zoo:mlp --after fuse --types"


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    add_model(parser)
    parser.add_argument(
        "--after",
        metavar="PASS",
        help="run the passes up to this one, with options such as 'fuse{maximum_group_size=8}'; "
        "'fuse' makes the kernels. Or any other pass alone",
    )
    parser.add_argument(
        "--kernels", choices=KERNEL_STEPS, help="the kernels after fusion, at this step, untuned"
    )
    parser.add_argument("--types", action="store_true", help="the type of each expression")
    parser.add_argument(
        "--weights",
        action="store_true",
        help="also the values of large constants, without which the text cannot be read back",
    )
    add_passes(parser)
    add_machine(parser)
