"""TfIdfVectorizer: how often n-grams of numbers occur."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    check_size,
    dtype_of,
    rank_of,
    shape_of,
    static_dim,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.types import numpy_dtype
from relay_tune.ir.expr import Expr


def translate_tf_idf(node: OnnxNode, build: Builder) -> Expr:
    """Counts of the n-grams of a pool in rows, times weights: [entries] or [rows, entries].

    The items of an n-gram stand 1, 2, ... max_skip_count + 1 items apart.
    """
    data = node.input(0)
    if dtype_of(data) not in ("int32", "int64") or node.has("pool_strings"):
        raise UnsupportedOperatorError("only n-grams of int32 and int64 numbers are supported.")
    if rank_of(data) not in (1, 2):
        raise ModelError(f"expects a row of numbers, or several, but found {rank_of(data)} axes.")
    entries = np.array(node.integers("ngram_indexes"), np.int64)
    pool = list(_pool(node))
    if len(entries) != sum(len(grams) for grams in pool) or min(entries, default=0) < 0:
        raise ModelError("attribute ngram_indexes does not fit the n-grams of the pool.")
    rows = data if rank_of(data) == 2 else build.call("expand_dims", data, axis=0)
    counts = [_counts(node, build, rows, grams) for grams in pool if len(grams)]
    if not counts:
        raise ModelError("the pool has no n-grams.")
    found = build.call("concatenate", build.tuple_of(counts), axis=1)
    weighted = _weighted(node, build, found)
    width = int(entries.max()) + 1
    check_size(width * len(entries), "float32")
    columns = np.zeros((len(entries), width), np.float32)
    columns[np.arange(len(entries)), entries] = 1
    result = build.call("nn.matmul", weighted, build.constant(columns))
    return result if rank_of(data) == 2 else build.call("squeeze", result, axis=(0,))


def _pool(node: OnnxNode) -> Iterator[np.ndarray]:
    """The n-grams of 1, 2, ... numbers, [n-grams, numbers]."""
    numbers = np.array(node.integers("pool_int64s"), np.int64)
    starts = node.integers("ngram_counts")
    ends = (*starts[1:], len(numbers))
    for length, (start, end) in enumerate(zip(starts, ends, strict=True), start=1):
        if not 0 <= start <= end <= len(numbers) or (end - start) % length:
            raise ModelError("attribute ngram_counts does not fit the pool.")
        yield numbers[start:end].reshape(-1, length)


def _counts(node: OnnxNode, build: Builder, rows: Expr, grams: np.ndarray) -> Expr:
    """How often each of some n-grams occurs in each row, float32 [rows, n-grams]."""
    length, size = grams.shape[1], static_dim(shape_of(rows)[1])
    shortest, longest = node.integer("min_gram_length"), node.integer("max_gram_length")
    skips = node.integer("max_skip_count") if length > 1 else 0
    dtype = dtype_of(rows)
    found = []
    for step in range(1, skips + 2):
        count = size - (length - 1) * step
        if count < 1 or not shortest <= length <= longest:
            continue
        hits = []
        for position in range(length):
            begin = position * step
            items = build.call(
                *("strided_slice", rows),
                begin=(begin,),
                end=(begin + count,),
                strides=(1,),
                axes=(1,),
            )
            wanted = build.constant(grams[:, position].astype(numpy_dtype(dtype)))
            hits.append(build.call("equal", build.call("expand_dims", items, axis=2), wanted))
        whole = reduce(lambda left, right: build.call("logical_and", left, right), hits)
        found.append(build.call("sum", cast_to(build, whole, "float32"), axis=(1,)))
    if found:
        return reduce(lambda left, right: build.call("add", left, right), found)
    nothing = build.call("zeros_like", build.call("sum", rows, axis=(1,), keepdims=True))
    return build.call("repeat", cast_to(build, nothing, "float32"), repeats=len(grams), axis=1)


def _weighted(node: OnnxNode, build: Builder, counts: Expr) -> Expr:
    """The counts, the weights of what occurs, or their products."""
    mode = node.text("mode")
    if mode not in ("TF", "IDF", "TFIDF"):
        raise ModelError(f"attribute mode must be TF, IDF or TFIDF, not {mode!r}.")
    if mode == "IDF":
        counts = build.call("minimum", counts, build.like(1, counts))
    if mode == "TF" or not node.has("weights"):
        return counts
    weights = np.array(node.numbers("weights"), np.float32)
    if len(weights) != static_dim(shape_of(counts)[1]):
        raise ModelError(f"{len(weights)} weights do not fit the n-grams of the pool.")
    return build.call("multiply", counts, build.constant(weights))


NGRAMS: Mapping[str, Translator] = {"TfIdfVectorizer": translate_tf_idf}
