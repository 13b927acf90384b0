"""Attention of a decoder with a cache, whose keys several heads of queries share."""

from __future__ import annotations

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, shape_of, static_dim
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import have_one_size, positions
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.microsoft.attention import LOWEST, filled_where_not
from relay_tune.frontend.onnx_import.operators.microsoft.gates import rms_normed
from relay_tune.frontend.onnx_import.operators.microsoft.heads import (
    angles_at,
    attend,
    join_heads,
    length,
    repeated_heads,
    rotated,
    split_heads,
)
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.frontend.onnx_import.run_time_axes import range_at_run_time
from relay_tune.ir.expr import Expr

_REFUSED_INPUTS = {
    12: "k_scale",
    13: "v_scale",
    16: "query_seqlens",
}
_REFUSED_FLAGS = ("sliding_window_cache", "qk_output")


def translate_group_query_attention(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """Causal attention of new tokens to those of a cache and to themselves; the new cache.

    Where there are n keys before the new ones, new keys stand at n, n + 1, ... of the cache, which
    may be longer than what it holds.
    """
    _check(node)
    query, key, value = _projections(node, build)
    query = _normed(node, build, query, 14, "q_norm_epsilon")
    key = _normed(node, build, key, 15, "k_norm_epsilon")
    lengths = cast_to(build, build.call("reshape", node.input(5), newshape=(-1,)), "int64")
    total = cast_to(build, build.call("reshape", node.input(6), newshape=()), "int64")
    before = _keys_before(build, query, lengths, total)
    own = build.call("add", build.call("expand_dims", before, axis=1), positions(build, query, 2))
    if node.flag("do_rotary", 0):
        given = node.optional(9)
        indices = own if given is None else cast_to(build, given, "int64")
        tables = angles_at(build, indices, (node.input(7), node.input(8)))
        turned = node.flag("rotary_interleaved", 0)
        query, key = (rotated(build, each, tables, turned) for each in (query, key))
    key = _cached(build, node.optional(3), key, before, total)
    value = _cached(build, node.optional(4), value, before, total)
    heads = node.integer("num_heads")
    shared = (query, repeated_heads(build, key, heads), repeated_heads(build, value, heads))
    mask = _biased(build, _mask(node, build, own, key), node.optional(10), key)
    scale, softcap = node.number("scale", 0.0), node.number("softcap", 0.0)
    result, _ = attend(build, shared, scale, mask, softcap, _sink(node, build, heads))
    return [join_heads(build, result), key, value]


def _check(node: OnnxNode) -> None:
    for index, name in _REFUSED_INPUTS.items():
        if node.optional(index) is not None:
            raise UnsupportedOperatorError(f"GroupQueryAttention with {name} is not supported.")
    for name in _REFUSED_FLAGS:
        if node.integer(name, 0):
            raise UnsupportedOperatorError(f"GroupQueryAttention with {name} is not supported.")
    for name in ("k_quant_type", "v_quant_type"):
        if node.text(name, "NONE") != "NONE":
            raise UnsupportedOperatorError("a quantized cache is not supported.")
    if not node.flag("causal", 1):
        raise UnsupportedOperatorError("GroupQueryAttention with causal=0 is not supported.")


def _projections(node: OnnxNode, build: Builder) -> tuple[Expr, Expr, Expr]:
    """Heads of queries, keys and values, which one input may hold."""
    heads, shared = node.integer("num_heads"), node.integer("kv_num_heads")
    query, key, value = node.input(0), node.optional(1), node.optional(2)
    if key is None or value is None:
        width = static_dim(shape_of(query)[2])
        if heads < 1 or shared < 1 or width % (heads + 2 * shared):
            raise ModelError(f"a width of {width} is not {heads} + 2 * {shared} heads.")
        size = width // (heads + 2 * shared)
        middle = (heads + shared) * size
        key = part(build, query, 2, heads * size, middle)
        value = part(build, query, 2, middle, width)
        query = part(build, query, 2, 0, heads * size)
    return (
        split_heads(build, query, heads),
        split_heads(build, key, shared),
        split_heads(build, value, shared),
    )


def _normed(node: OnnxNode, build: Builder, heads: Expr, index: int, epsilon: str) -> Expr:
    """Heads divided by their root mean square, where an input scales them so."""
    scale = node.optional(index)
    if scale is None:
        return heads
    least = node.number(epsilon, node.number("qk_norm_epsilon", 1e-6))
    return rms_normed(build, node, heads, scale, least)


def _sink(node: OnnxNode, build: Builder, heads: int) -> Expr | None:
    """A score beside those of the keys: one of each head, or 0 where the softmax is smooth."""
    given = node.optional(11)
    if given is not None:
        return build.call("reshape", given, newshape=(heads, 1, 1))
    is_smooth = node.integer("smooth_softmax", 0) > 0
    return build.filled((1, 1, 1), 0, dtype_of(node.input(0))) if is_smooth else None


def _keys_before(build: Builder, query: Expr, lengths: Expr, total: Expr) -> Expr:
    """How many keys each of the batch has before the new ones: none if all keys are new."""
    new = length(build, query)
    one = build.constant(1)
    rest = build.call("subtract", build.call("add", lengths, one), new)
    is_first = build.call("equal", total, new)
    return build.call("where", is_first, build.call("zeros_like", rest), rest)


def _cached(build: Builder, past: Expr | None, new: Expr, before: Expr, total: Expr) -> Expr:
    """The cache after the new keys: at index t the old one if t < before, else new[t - before].

    Behind the new ones the old ones stay, as where a runtime writes the cache in place.
    """
    if past is None:
        return new
    room, count = length(build, past), length(build, new)
    slot = range_at_run_time(build, build.constant(0), build.call("maximum", room, total))
    start = build.call("expand_dims", before, axis=1)
    behind = build.call("add", build.call("subtract", slot, start), room)
    source = build.call("where", build.call("less", slot, start), slot, behind)
    end = build.call("subtract", build.call("add", room, count), build.constant(1))
    kept = build.call("minimum", slot, build.call("maximum", room, build.constant(1)))
    is_new = build.call("less_equal", source, end)
    old = build.call("minimum", kept, end)
    source = build.call("where", is_new, source, old)
    both = build.call("concatenate", build.tuple_of((past, new)), axis=2)
    rows = build.call("transpose", both, axes=(0, 2, 1, 3))
    batch = build.call("expand_dims", positions(build, both, 0), axis=1)
    batch = build.call("add", batch, build.call("zeros_like", source))
    indices = build.call("stack", build.tuple_of((batch, source)), axis=0)
    found = build.call("gather_nd", rows, indices, batch_dims=0, index_rank=2)
    return build.call("transpose", found, axes=(0, 2, 1, 3))


def _biased(build: Builder, mask: Expr, bias: Expr | None, key: Expr) -> Expr:
    """A mask and what is added to scores, [1 or batch, 1 or heads, queries, keys].

    A cache may be longer than what it holds; keys that it does not hold are masked.
    """
    if bias is None:
        return mask
    if not have_one_size((bias, 3), (key, 2)):
        bias = build.call("take", bias, positions(build, key, 2), axis=3, mode="clip")
    return build.call("add", mask, cast_to(build, bias, dtype_of(mask)))


def _mask(node: OnnxNode, build: Builder, own: Expr, key: Expr) -> Expr:
    """Bias of scores that masks keys behind the query's position, and those before its window."""
    index = positions(build, key, 2)
    query = build.call("expand_dims", own, axis=2)
    kept = build.call("less_equal", index, query)
    window = node.integer("local_window_size", -1)
    if window > 0:
        begin = build.call("subtract", query, build.constant(window))
        kept = build.call("logical_and", kept, build.call("greater", index, begin))
    kept = build.call("expand_dims", kept, axis=1)
    return filled_where_not(build, kept, LOWEST, dtype_of(key))
