"""The texts of the prelude, read when they are first needed."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import relay_tune.op  # noqa: F401  # registers the operators that the texts use
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse

TEXTS = ("function", "option", "list", "tree", "nat")
"""The names of the texts, each after those that it uses."""


@cache
def library() -> Module:
    """All definitions of the prelude."""
    module = Module({})
    for name in TEXTS:
        text = files("relay_tune.std").joinpath(f"{name}.relay").read_text(encoding="utf-8")
        module = parse(text, f"prelude/{name}.relay", module)
    return module
