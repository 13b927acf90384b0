"""Say whether a model is supported: all operators that are missing, or what it consists of.

A model with inputs of dynamic size, or with an input whose value decides what runs, also gets the
command line with likely sizes and values with which it can be tuned.
"""

from __future__ import annotations

import argparse

from relay_tune.cli.options import add_json, add_model, add_passes

EXAMPLE = "tune check model.onnx"


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    add_model(parser)
    add_passes(parser)
    add_json(parser)
