"""Tensors whose sizes are symbols: ranges and expansions to sizes that only a run knows.

Operators take numbers as sizes. A vector as long as a symbol says is made from a tensor that has an
axis of this size: zeros like it, summed over all other axes. Sizes that are sums (`past + new`) are
joined from vectors of their parts.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.frontend.onnx_import.build import Builder, rank_of
from relay_tune.ir.dim import Dim, Polynomial, Symbol
from relay_tune.ir.expr import Expr

LONGEST_SUM = 8
"""Parts of a sum that are joined at the most."""


def numbers_below(build: Builder, size: Dim) -> Expr | None:
    """0, 1, 2 ... as int64, as many as `size` says; None if no tensor is at hand that has it."""
    zeros = zeros_along(build, size)
    if zeros is None:
        return None
    one = build.constant(1, "int64")
    return build.call("subtract", build.call("cumsum", build.call("add", zeros, one), axis=0), one)


def broadcast_to_sizes(build: Builder, data: Expr, sizes: Sequence[Dim]) -> Expr | None:
    """`data` stretched to sizes that may be symbols; None if no tensor is at hand for one."""
    like: Expr = build.constant(0, "int64")
    for place, size in enumerate(sizes):
        zeros = zeros_along(build, size)
        if zeros is None:
            return None
        behind = len(sizes) - place - 1
        if behind:
            zeros = build.call("expand_dims", zeros, axis=1, num_newaxis=behind)
        like = build.call("add", like, zeros)
    return build.call("broadcast_to_like", data, like)


def zeros_along(build: Builder, size: Dim) -> Expr | None:
    """A vector of zeros, int64, of this size; None if no tensor is at hand that has it."""
    if isinstance(size, int):
        return build.filled((size,), 0, "int64")
    if size in build.sized:
        data, axis = build.sized[size]
        others = tuple(each for each in range(rank_of(data)) if each != axis)
        zeros = build.call("cast", build.call("zeros_like", data), dtype="int64")
        return build.call("sum", zeros, axis=others) if others else zeros
    return _joined_zeros(build, size) if isinstance(size, Polynomial) else None


def _joined_zeros(build: Builder, size: Polynomial) -> Expr | None:
    """The vector of a sum as vectors of its terms, one after another."""
    parts: list[Expr | None] = []
    for product, factor in size.terms:
        if not product:
            parts.append(build.filled((factor,), 0, "int64") if factor > 0 else None)
        elif len(product) == 1 and isinstance(product[0], Symbol) and 0 < factor <= LONGEST_SUM:
            parts += [zeros_along(build, product[0])] * factor
        else:
            return None
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or len(parts) > LONGEST_SUM:
        return None
    return build.call("concatenate", build.tuple_of(known), axis=0)
