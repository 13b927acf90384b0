"""Heads of attention: splitting, joining, turning by position, and what a head attends to."""

from __future__ import annotations

from math import sqrt

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of, shape_of, static_dim
from relay_tune.frontend.onnx_import.open_sizes import axis_size
from relay_tune.frontend.onnx_import.operators.activation import scaled
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.matmul import matrix_product
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.ir.expr import Expr

COPY, JOIN = 0, -3
"""Codes of `reshape`: a size as it is, and two sizes as their product."""


def split_heads(build: Builder, data: Expr, heads: int) -> Expr:
    """[batch, sequence, heads * size] as [batch, heads, sequence, size]."""
    width = static_dim(shape_of(data)[2])
    if heads < 1 or width % heads:
        raise ModelError(f"a width of {width} cannot be divided among {heads} heads.")
    parts = build.call("reshape", data, newshape=(COPY, COPY, heads, width // heads))
    return build.call("transpose", parts, axes=(0, 2, 1, 3))


def join_heads(build: Builder, data: Expr) -> Expr:
    """[batch, heads, sequence, size] as [batch, sequence, heads * size]."""
    moved = build.call("transpose", data, axes=(0, 2, 1, 3))
    return build.call("reshape", moved, newshape=(COPY, COPY, JOIN))


def after(build: Builder, past: Expr | None, new: Expr) -> Expr:
    """New keys or values behind those of the past, along the sequence."""
    if past is None:
        return new
    return build.call("concatenate", build.tuple_of((past, new)), axis=2)


def length(build: Builder, data: Expr, axis: int = 2) -> Expr:
    """The size of an axis of a tensor, a scalar: of the sequence of heads."""
    return axis_size(build, data, axis)


def repeated_heads(build: Builder, data: Expr, heads: int) -> Expr:
    """Keys or values of few heads, each for several heads of the queries."""
    own = static_dim(shape_of(data)[1])
    if own < 1 or heads % own:
        raise ModelError(f"{heads} heads cannot share {own} heads of keys.")
    return data if own == heads else build.call("repeat", data, repeats=heads // own, axis=1)


def attend(
    build: Builder,
    heads: tuple[Expr, Expr, Expr],
    scale: float,
    bias: Expr | None = None,
    softcap: float = 0.0,
    sink: Expr | None = None,
) -> tuple[Expr, Expr]:
    """softmax(scale q k^T + bias) v, and the softmax; `scale` 0 stands for 1 / sqrt(size).

    `sink`, [heads, 1, 1], is one more score of each row, of a key whose value is 0.
    """
    query, key, value = heads
    factor = scale or 1 / sqrt(static_dim(shape_of(query)[3]))
    turned = build.call("transpose", key, axes=(0, 1, 3, 2))
    scores = scaled(build, matrix_product(build, query, turned), factor)
    if softcap:
        limited = build.call("tanh", scaled(build, scores, 1 / softcap))
        scores = scaled(build, limited, softcap)
    if bias is not None:
        scores = build.call("add", scores, cast_to(build, bias, dtype_of(scores)))
    if sink is None:
        weights = build.call("nn.softmax", scores, axis=3)
    else:
        weights = _softmax_beside(build, scores, cast_to(build, sink, dtype_of(scores)))
    return matrix_product(build, weights, value), weights


def _softmax_beside(build: Builder, scores: Expr, sink: Expr) -> Expr:
    """The softmax of each row and one more score, without the weight of that one."""
    top = build.call("maximum", build.call("max", scores, axis=(3,), keepdims=True), sink)
    parts = build.call("exp", build.call("subtract", scores, top))
    total = build.call("sum", parts, axis=(3,), keepdims=True)
    total = build.call("add", total, build.call("exp", build.call("subtract", sink, top)))
    return build.call("divide", parts, total)


def rotated(build: Builder, data: Expr, tables: tuple[Expr, Expr], interleaved: bool) -> Expr:
    """Pairs of numbers of a head turned by angles whose cosines and sines are given.

    data [batch, heads, sequence, size]; tables broadcast to [batch, heads, sequence, pairs]. The
    two of a pair are neighbours if `interleaved`, else `pairs` apart; what is behind them stays.
    """
    cosine, sine = tables
    pairs, size = static_dim(shape_of(cosine)[-1]), static_dim(shape_of(data)[3])
    if 2 * pairs > size:
        raise ModelError(f"{pairs} pairs cannot be turned in heads of {size} numbers.")
    turned = part(build, data, 3, 0, 2 * pairs) if 2 * pairs < size else data
    if interleaved:
        couples = build.call("reshape", turned, newshape=(COPY, COPY, COPY, pairs, 2))
        left, right = (
            build.call("take", couples, build.constant(position), axis=4) for position in (0, 1)
        )
    else:
        left, right = part(build, turned, 3, 0, pairs), part(build, turned, 3, pairs, 2 * pairs)
    first = build.call(
        "subtract", build.call("multiply", left, cosine), build.call("multiply", right, sine)
    )
    second = build.call(
        "add", build.call("multiply", right, cosine), build.call("multiply", left, sine)
    )
    if interleaved:
        both = build.call("stack", build.tuple_of((first, second)), axis=4)
        done = build.call("reshape", both, newshape=(COPY, COPY, COPY, JOIN))
    else:
        done = build.call("concatenate", build.tuple_of((first, second)), axis=3)
    if 2 * pairs == size:
        return done
    rest = part(build, data, 3, 2 * pairs, size)
    return build.call("concatenate", build.tuple_of((done, rest)), axis=3)


def angles_at(build: Builder, positions: Expr, caches: tuple[Expr, Expr]) -> tuple[Expr, Expr]:
    """Rows of the caches of cosines and sines for positions [batch, sequence], for all heads."""
    rows = [build.call("take", cache, positions, axis=0) for cache in caches]
    axis = rank_of(positions) - 1
    cosine, sine = (build.call("expand_dims", each, axis=axis) for each in rows)
    return cosine, sine
