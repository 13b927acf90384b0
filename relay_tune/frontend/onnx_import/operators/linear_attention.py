"""LinearAttention: a matrix of each head that all earlier tokens have written into.

    S(t) = exp(g(t)) S(t-1) + b(t) k(t) (v(t) - exp(g(t)) S(t-1)^T k(t))^T
    o(t) = scale S(t)^T q(t)

S. Yang et al., "Gated Delta Networks: Improving Mamba2 with Delta Rule" (ICLR 2025). Other
rules are without the decay g, without what S(t-1) says of k(t), or without both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, shape_of, static_dim
from relay_tune.frontend.onnx_import.collected_rounds import collected_rounds
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import filled_to_sizes, known_size, size_value
from relay_tune.frontend.onnx_import.operators.activation import scaled
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.matmul import matrix_product
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.operators.wide import widened_input
from relay_tune.ir.dim import Dim, UnknownDim
from relay_tune.ir.expr import Expr
from relay_tune.quick_dataclass import dataclass

WRITTEN_OUT = 8
"""Up to so many tokens, there are no rounds of a function."""

_DECAYS = {"linear": False, "gated": True, "delta": False, "gated_delta": True}
_DELTAS = {"linear": False, "gated": False, "delta": True, "gated_delta": True}


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Inputs by token, heads of keys on axis 2: [tokens, batch, heads, .., size].

    `decay` and `rate` are [tokens, batch, heads, 1 or size, 1], or None.
    """

    query: Expr
    key: Expr
    value: Expr
    decay: Expr | None
    rate: Expr | None


def translate_linear_attention(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """What the query of each token finds, [batch, tokens, heads * size], and the last matrix."""
    if node.integer("state_window", 0):
        raise UnsupportedOperatorError("LinearAttention with state_window is not supported.")
    tokens, past = _tokens(node, build), node.optional(3)
    found, state = _rounds(build, tokens, _first_matrix(build, tokens, past))
    moved = build.call("transpose", found, axes=(1, 0, 2, 3, 4))
    joined = build.call("reshape", moved, newshape=(0, 0, -1))
    dtype = dtype_of(node.input(0))
    kept = dtype if past is None else dtype_of(past)
    return [cast_to(build, joined, dtype), cast_to(build, state, kept)]


def _first_matrix(build: Builder, tokens: _Tokens, past: Expr | None) -> Expr:
    """The matrix before all tokens, [batch, heads of keys, size, width]: zeros without a past."""
    heads, size, width = (
        static_dim(shape_of(data)[axis])
        for data, axis in ((tokens.key, 2), (tokens.key, 4), (tokens.value, 4))
    )
    if past is not None:
        shape = (shape_of(tokens.query)[1], heads, size, width)
        return build.with_shape(widened_input(build, past), shape)
    batch = known_size(build, tokens.query, 1)
    return filled_to_sizes(build, 0, dtype_of(tokens.key), (batch, heads, size, width))


def _rounds(build: Builder, tokens: _Tokens, state: Expr) -> tuple[Expr, Expr]:
    """What all tokens find, those first, and the matrix after the last one."""
    count = known_size(build, tokens.query, 0)
    if isinstance(count, int) and 0 < count <= WRITTEN_OUT:
        rows = []
        for index in range(count):
            found, state = _step(build, tokens, build.constant(index), state)
            rows.append(found)
        return build.call("stack", build.tuple_of(rows), axis=0), state

    def step(number: Expr, carried: Sequence[Expr]) -> tuple[Sequence[Expr], Sequence[Expr]]:
        found, after = _step(build, tokens, number, carried[0])
        return [after], [found]

    (state,), (stack,) = collected_rounds(build, size_value(build, count), [state], step)
    shape = (shape_of(tokens.query)[0], *shape_of(stack)[1:])
    return build.with_shape(stack, shape), state


def _tokens(node: OnnxNode, build: Builder) -> _Tokens:
    rule = node.text("update_rule", "gated_delta")
    if rule not in _DECAYS:
        raise ModelError(f"attribute update_rule has the unknown value {rule!r}.")
    heads, own = node.integer("q_num_heads"), node.integer("kv_num_heads")
    if heads < 1 or own < 1 or (heads % own and own % heads):
        raise ModelError(f"{heads} heads of queries do not fit {own} heads of keys.")
    given = [node.optional(index) for index in (0, 1, 2, 4, 5)]
    sizes = [_best([shape_of(data)[axis] for data in given if data is not None]) for axis in (0, 1)]
    query, key, value, decay, rate = (
        None if data is None else _by_token(build, data, sizes) for data in given
    )
    if query is None or key is None or value is None:
        raise ModelError("the inputs query, key and value must be given.")
    if _DECAYS[rule] and decay is None:
        raise ModelError(f"update_rule {rule} has an input decay.")
    if _DELTAS[rule] and rate is None:
        raise ModelError(f"update_rule {rule} has an input beta.")
    query = _in_heads(build, query, heads, "query")
    size = static_dim(shape_of(query)[3])
    query = scaled(build, query, node.number("scale", 0.0) or 1 / sqrt(size))
    return _Tokens(
        _shared(build, query, own),
        build.call("expand_dims", _in_heads(build, key, own, "key"), axis=3),
        build.call("expand_dims", _in_heads(build, value, own, "value"), axis=3),
        _column(build, decay, own, "decay") if _DECAYS[rule] else None,
        _column(build, rate, _rate_heads(rate, own), "beta") if _DELTAS[rule] else None,
    )


def _best(dims: Sequence[Dim]) -> Dim:
    """The dimension that says most of sizes that are equal: a number, else a name."""
    order = sorted(dims, key=lambda dim: (not isinstance(dim, int), isinstance(dim, UnknownDim)))
    return order[0]


def _by_token(build: Builder, data: Expr, sizes: Sequence[Dim]) -> Expr:
    """[batch, tokens, width] with the sizes of all inputs, as [tokens, batch, width]."""
    shape = shape_of(data)
    if len(shape) != 3:
        raise ModelError(f"expects inputs of 3 dimensions instead of {len(shape)}.")
    told = build.with_shape(widened_input(build, data), (*sizes, shape[2]))
    return build.call("transpose", told, axes=(1, 0, 2))


def _in_heads(build: Builder, data: Expr, heads: int, name: str) -> Expr:
    """[tokens, batch, heads * size] as [tokens, batch, heads, size]."""
    width = static_dim(shape_of(data)[2])
    if width % heads:
        raise ModelError(f"the width of {name}, {width}, cannot be divided among {heads} heads.")
    return build.call("reshape", data, newshape=(0, 0, heads, width // heads))


def _shared(build: Builder, query: Expr, own: int) -> Expr:
    """[tokens, batch, heads, size] as [tokens, batch, heads of keys, queries of each, size]."""
    heads, size = (static_dim(shape_of(query)[axis]) for axis in (2, 3))
    if own > heads:
        query = build.call("repeat", query, repeats=own // heads, axis=2)
        heads = own
    return build.call("reshape", query, newshape=(0, 0, own, heads // own, size))


def _rate_heads(rate: Expr | None, own: int) -> int:
    """How many heads have a rate of their own: all, or one rate is that of all."""
    return 1 if rate is not None and shape_of(rate)[2] == 1 else own


def _column(build: Builder, data: Expr | None, heads: int, name: str) -> Expr | None:
    """[tokens, batch, heads * size] as [tokens, batch, heads, size, 1]."""
    if data is None:
        return None
    return build.call("expand_dims", _in_heads(build, data, heads, name), axis=4)


def _step(build: Builder, tokens: _Tokens, number: Expr, state: Expr) -> tuple[Expr, Expr]:
    """What a token finds, [batch, heads of keys, queries of each, size]; the matrix after it."""

    def now(data: Expr) -> Expr:
        return build.call("take", data, number, axis=0)

    key, value = now(tokens.key), now(tokens.value)
    if tokens.decay is not None:
        state = build.call("multiply", state, build.call("exp", now(tokens.decay)))
    if tokens.rate is not None:
        known = matrix_product(build, key, state)
        value = build.call("multiply", now(tokens.rate), build.call("subtract", value, known))
    written = build.call("multiply", build.call("transpose", key, axes=(0, 1, 3, 2)), value)
    state = build.call("add", state, written)
    return matrix_product(build, now(tokens.query), state), state


LINEAR_ATTENTION: Mapping[str, Translator] = {"LinearAttention": translate_linear_attention}
