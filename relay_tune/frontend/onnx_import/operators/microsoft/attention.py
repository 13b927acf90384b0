"""Attention as onnxruntime's optimizers write it: with projections, masks, and caches."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of, shape_of, static_dim
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import have_one_size, positions
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.matmul import matrix_product
from relay_tune.frontend.onnx_import.operators.microsoft.fused import sum_of
from relay_tune.frontend.onnx_import.operators.microsoft.heads import (
    after,
    angles_at,
    attend,
    join_heads,
    length,
    rotated,
    split_heads,
)
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.dim import shape_text
from relay_tune.ir.expr import Expr

LOWEST = float(np.finfo(np.float32).min)
"""Added to a score so that its weight is zero, unless all scores of the row have it."""


def translate_attention(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """Self-attention with the projections of queries, keys and values in one product."""
    if node.flag("do_rotary", 0) or node.flag("past_present_share_buffer", 0):
        raise UnsupportedOperatorError(
            "Attention with do_rotary or past_present_share_buffer is not supported."
        )
    projected = matrix_product(build, node.input(0), node.input(1))
    projected = sum_of(build, projected, node.optional(2))
    mask, past, scores = (node.optional(index) for index in (3, 4, 5))
    return attended(node, build, projected, (mask, past, scores))


def attended(
    node: OnnxNode,
    build: Builder,
    projected: Expr,
    others: tuple[Expr | None, Expr | None, Expr | None],
) -> list[Expr | None]:
    """The result of attention for projections [batch, sequence, width], and the new cache.

    The others are a mask, the cache of the past, and what is added to scores.
    """
    mask_of_keys, past, scores = others
    heads = node.integer("num_heads")
    query, key, value = (split_heads(build, each, heads) for each in _parts(node, build, projected))
    if past is not None:
        old = [build.call("take", past, build.constant(index), axis=0) for index in (0, 1)]
        key, value = after(build, old[0], key), after(build, old[1], value)
    mask = combined(
        build,
        [
            padding_mask(node, build, mask_of_keys, key),
            causal_mask(build, query, key) if node.flag("unidirectional", 0) else None,
            scores,
        ],
    )
    result, _ = attend(build, (query, key, value), node.number("scale", 0.0), mask)
    present = build.call("stack", build.tuple_of((key, value)), axis=0) if node.wants(1) else None
    return [join_heads(build, result), present]


def _parts(node: OnnxNode, build: Builder, projected: Expr) -> list[Expr]:
    """Queries, keys and values, which lie one after another."""
    width = static_dim(shape_of(projected)[2])
    sizes = node.integers("qkv_hidden_sizes", (width // 3,) * 3)
    if len(sizes) != 3 or sum(sizes) != width:
        raise ModelError(f"the sizes {sizes} of queries, keys and values do not add up to {width}.")
    ends = np.cumsum(sizes).tolist()
    starts = [0, *ends[:-1]]
    return [part(build, projected, 2, begin, end) for begin, end in zip(starts, ends, strict=True)]


def translate_multi_head_attention(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """Attention of queries to keys and values that are projected already."""
    if node.optional(8) is not None or node.optional(9) is not None:
        raise UnsupportedOperatorError("MultiHeadAttention with a shared buffer is not supported.")
    query, key, value = _heads_of(node, build)
    key, value = after(build, node.optional(6), key), after(build, node.optional(7), value)
    mask = combined(
        build,
        [
            padding_mask(node, build, node.optional(4), key),
            causal_mask(build, query, key) if node.flag("unidirectional", 0) else None,
            node.optional(5),
        ],
    )
    result, weights = attend(build, (query, key, value), node.number("scale", 0.0), mask)
    return [join_heads(build, result), key, value, weights]


def _heads_of(node: OnnxNode, build: Builder) -> tuple[Expr, Expr, Expr]:
    """Queries, keys and values as heads, whichever way they are packed, with their biases."""
    heads = node.integer("num_heads")
    query, key, value, bias = node.input(0), node.optional(1), node.optional(2), node.optional(3)
    if rank_of(query) == 5:
        packed = [_packed_part(build, query, index) for index in range(3)]
    elif key is not None and rank_of(key) == 5:
        packed = [query, *(_packed_part(build, key, index) for index in range(2))]
    elif key is None or value is None:
        raise ModelError("keys or values are missing.")
    else:
        packed = [query, key, value]
    if bias is not None:
        packed = _biased(build, packed, bias)
    first, second, third = (
        each if rank_of(each) == 4 else split_heads(build, each, heads) for each in packed
    )
    return first, second, third


def _packed_part(build: Builder, packed: Expr, index: int) -> Expr:
    """One of [batch, sequence, heads, parts, size] as [batch, sequence, heads * size]."""
    chosen = build.call("take", packed, build.constant(index), axis=3)
    return build.call("reshape", chosen, newshape=(0, 0, -3))


def _biased(build: Builder, packed: list[Expr], bias: Expr) -> list[Expr]:
    begin, results = 0, []
    for each in packed:
        if rank_of(each) != 3:
            raise UnsupportedOperatorError("a bias of keys that are split is not supported.")
        end = begin + static_dim(shape_of(each)[2])
        results.append(build.call("add", each, part(build, bias, 0, begin, end)))
        begin = end
    return results


def padding_mask(node: OnnxNode, build: Builder, mask: Expr | None, key: Expr) -> Expr | None:
    """Bias of scores for masked keys, to broadcast to [batch, heads, sequence, keys].

    The mask has 1 for each key that counts, [batch, keys] or [batch, sequence, keys], or says for
    each of the batch how many keys count, [batch].
    """
    if mask is None:
        return None
    match rank_of(mask):
        case 1:
            counts = cast_to(build, build.call("expand_dims", mask, axis=1), "int64")
            if shape_of(mask)[0] != shape_of(key)[0]:
                raise UnsupportedOperatorError(
                    f"a mask of shape {shape_text(shape_of(mask))} is not supported here."
                )
            kept = build.call("less", positions(build, key, 2), counts)
        case 2 | 3:
            kept = build.call("greater", mask, build.like(0, mask))
        case rank:
            raise UnsupportedOperatorError(f"a mask of {rank} axes is not supported.")
    kept = build.call("expand_dims", kept, axis=1, num_newaxis=4 - rank_of(kept))
    return filled_where_not(build, kept, node.number("mask_filter_value", -10000.0), dtype_of(key))


def causal_mask(build: Builder, query: Expr, key: Expr) -> Expr:
    """Causal bias of scores; the last query stands at the last key."""
    total, own = positions(build, key, 2), positions(build, query, 2)
    if have_one_size((key, 2), (query, 2)):
        indices = own
    else:
        counts = [length(build, each) for each in (key, query)]
        indices = build.call("add", own, build.call("subtract", *counts))
    kept = build.call("less_equal", total, build.call("expand_dims", indices, axis=1))
    return filled_where_not(build, kept, LOWEST, dtype_of(key))


def filled_where_not(build: Builder, kept: Expr, value: float, dtype: str) -> Expr:
    """0 where a condition holds, a value of the type elsewhere."""
    if dtype in ("float16", "bfloat16"):
        value = max(value, -65504.0)
    return build.call("where", kept, build.constant(0, dtype), build.constant(value, dtype))


def combined(build: Builder, masks: list[Expr | None]) -> Expr | None:
    """The sum of what is there."""
    given = [each for each in masks if each is not None]
    return reduce(lambda left, right: build.call("add", left, right), given) if given else None


def translate_rotary_embedding(node: OnnxNode, build: Builder) -> Expr:
    """Queries or keys turned by angles of their positions."""
    if node.flag("is_packed_batching", 0):
        raise UnsupportedOperatorError("RotaryEmbedding of packed batches is not supported.")
    data, indices = node.input(0), node.input(1)
    is_flat = rank_of(data) == 3
    if is_flat:
        pairs = static_dim(shape_of(node.input(2))[1])
        width = static_dim(shape_of(data)[2])
        heads = node.integer("num_heads", 0) or width // (2 * pairs)
        data = split_heads(build, data, heads)
    if rank_of(indices) == 1:
        first = cast_to(build, indices, "int64")
        indices = build.call("add", positions(build, data, 2), first)
        indices = build.call("expand_dims", indices, axis=0)
    tables = angles_at(build, indices, (node.input(2), node.input(3)))
    result = rotated(build, data, tables, node.flag("interleaved", 0))
    return join_heads(build, result) if is_flat else result


ATTENTIONS: Mapping[str, Translator] = {
    "Attention": translate_attention,
    "MultiHeadAttention": translate_multi_head_attention,
    "RotaryEmbedding": translate_rotary_embedding,
}
