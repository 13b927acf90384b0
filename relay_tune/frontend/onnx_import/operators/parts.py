"""Parts of a tensor along one axis."""

from __future__ import annotations

from relay_tune.frontend.onnx_import.build import Builder
from relay_tune.ir.expr import Expr


def part(build: Builder, data: Expr, axis: int, begin: int, end: int) -> Expr:
    """The elements [begin, end) of one axis."""
    return build.call("strided_slice", data, begin=(begin,), end=(end,), strides=(1,), axes=(axis,))
