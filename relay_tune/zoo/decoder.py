"""Shared parts of decoder-only language models: caches, positions, attention to earlier words.

A step reads `s` new words behind `p` earlier ones and gives scores of the word after the last. Each
layer appends the keys and values of the new words to its cache. So prefill (many words, p = 0) and
decoding (one word) are one program; where a caller donates the caches, only new rows are written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from relay_tune.ir.dim import Symbol
from relay_tune.ir.dim_arithmetic import add as added
from relay_tune.ir.expr import Expr, Function, Let, Tuple, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.op.comparison import less_equal
from relay_tune.op.creation import shape_of
from relay_tune.op.dynamic import dyn_arange
from relay_tune.op.indexing import take
from relay_tune.op.joining import concatenate
from relay_tune.op.nn.matmul import batch_matmul, dense
from relay_tune.op.nn.softmax import softmax
from relay_tune.op.selection import where
from relay_tune.op.shape import expand_dims, reshape, squeeze, transpose
from relay_tune.op.slicing import strided_slice
from relay_tune.quick_dataclass import dataclass

NEW, PAST = Symbol("s"), Symbol("p", least=0)
"""How many words are new, and how many were before."""

STEP_SIZES = {NEW.name: 1, PAST.name: 16}
"""A step of decoding."""

UNSEEN = -1e9
"""The score of a word that comes later."""

BRANCH_GAIN = 0.25
"""Of the last layer of each branch."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a decoder.

    Attributes:
        batch: texts at a time.
        layers, width: blocks, and the features between them.
        heads, groups: heads of queries, and those of keys and values, which they share.
        inner: features inside of a feed-forward layer.
        words: how many there are.
    """

    batch: int
    layers: int
    width: int
    heads: int
    groups: int
    inner: int
    words: int

    @property
    def head_size(self) -> int:
        """Features of one head."""
        return self.width // self.heads


@dataclass(frozen=True, slots=True)
class Cache:
    """The keys and values of a layer, each [batch, groups, words, head size]."""

    keys: Expr
    values: Expr

    def appended(self, keys: Expr, values: Expr) -> Cache:
        """The cache with those of the new words behind it."""
        pairs = ((self.keys, keys), (self.values, values))
        return Cache(*(concatenate(Tuple(pair), axis=2) for pair in pairs))


class Step:
    """A step of a decoder: what goes in, and which words are where.

    Attributes:
        words: the new words, int64 [batch, s].
        caches: of the layers, before the step.
        positions: of the new words, int64 [s].
        seen: whether a new word may see a word: bool [s, p + s].
    """

    def __init__(self, sizes: Sizes) -> None:
        self.words = Var("input_ids", TensorType((sizes.batch, NEW), "int64"))
        rows = TensorType((sizes.batch, sizes.groups, PAST, sizes.head_size), "float32")
        self._past = [
            Var(f"past_key_values.{layer}.{kind}", rows)
            for layer in range(sizes.layers)
            for kind in ("key", "value")
        ]
        self.caches = [
            Cache(keys, values) for keys, values in zip(*[iter(self._past)] * 2, strict=True)
        ]
        self.positions = Var("positions", TensorType((NEW,), "int64"))
        self._all = Var("all_positions", TensorType((added(PAST, NEW),), "int64"))
        self.seen = less_equal(self._all, expand_dims(self.positions, axis=1))

    def program(self, scores: Expr, caches: Sequence[Cache]) -> Module:
        """The module whose `main` computes scores and the caches with the new words."""
        past = take(shape_of(self._past[0], dtype="int64"), constant(2), axis=0)
        end = past + take(shape_of(self.words, dtype="int64"), constant(1), axis=0)
        zero, one = constant(0, "int64"), constant(1, "int64")
        tensors = (tensor for cache in caches for tensor in (cache.keys, cache.values))
        body: Expr = Tuple((scores, *tensors))
        for var, start in ((self._all, zero), (self.positions, past)):
            body = Let(var, dyn_arange(start, end, one, dtype="int64"), body)
        return Module.from_function(Function((self.words, *self._past), body))


def heads(sizes: Sizes, data: Expr, count: int) -> Expr:
    """[batch, words, count * head size] -> [batch, count, words, head size]."""
    parts = (sizes.batch, -1, count, sizes.head_size)
    return transpose(reshape(data, newshape=parts), axes=(0, 2, 1, 3))


def attention(sizes: Sizes, queries: Expr, cache: Cache, seen: Expr) -> Expr:
    """Causal attention of queries [batch, heads, s, head size] to a cache: [batch, s, width].

    The queries that share keys and values (Ainslie et al., 2023) are rows of one product, so that
    a cache is read once.
    """
    rows = (sizes.batch, sizes.groups, -1, sizes.head_size)
    products = batch_matmul(reshape(queries, newshape=rows), cache.keys, transpose_b=True)
    scores = products * constant(1 / math.sqrt(sizes.head_size))
    by_head = reshape(scores, newshape=(0, 0, -4, sizes.heads // sizes.groups, -1, 0))
    shares = softmax(where(seen, by_head, constant(UNSEEN)), axis=-1)
    shares = reshape(shares, newshape=(0, 0, -3, 0))
    mixed = batch_matmul(shares, cache.values, transpose_b=False)
    apart = reshape(mixed, newshape=(sizes.batch, sizes.heads, -1, sizes.head_size))
    return reshape(transpose(apart, axes=(0, 2, 1, 3)), newshape=(sizes.batch, -1, sizes.width))


def last_scores(data: Expr, table: Expr) -> Expr:
    """The scores [batch, words] of each word of the table to follow the last one of the data."""
    last = strided_slice(data, begin=(-1,), end=(None,), axes=(1,))
    return dense(squeeze(last, axis=(1,)), table)
