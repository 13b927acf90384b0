"""BERT (Devlin et al., 2019): a transformer encoder."""

from __future__ import annotations

import math

from relay_tune.ir.expr import Expr, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.op.arithmetic import add, multiply, subtract
from relay_tune.op.cast import cast
from relay_tune.op.indexing import take
from relay_tune.op.nn.activation import gelu
from relay_tune.op.nn.matmul import batch_matmul
from relay_tune.op.nn.softmax import softmax
from relay_tune.op.shape import expand_dims, reshape, transpose
from relay_tune.quick_dataclass import dataclass
from relay_tune.zoo.layers import dense, layer_norm, network
from relay_tune.zoo.weights import Weights

MASKED = 10000.0
"""Taken off the scores of positions that must not be seen."""

BRANCH_GAIN = 0.25
"""Of the last layer of each branch."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """The sizes of an encoder: sequence length, features, and how many of what."""

    batch: int
    sequence: int
    hidden: int
    heads: int
    layers: int
    vocabulary: int

    @property
    def head_size(self) -> int:
        """Features of one head."""
        return self.hidden // self.heads


def bert_base(weights: Weights, batch: int, small: bool) -> Module:
    """BERT base, sequence 128: the features of the last layer [batch, sequence, hidden].

    Inputs, int64 [batch, sequence]: `input_ids`, `token_type_ids` (0 or 1), `attention_mask`
    (1: seen, 0: padding).
    """
    sizes = Encoder(batch, 8, 16, 2, 2, 50) if small else Encoder(batch, 128, 768, 12, 12, 30522)
    ids = TensorType((batch, sizes.sequence), "int64")
    tokens, segments, mask = (
        Var(name, ids) for name in ("input_ids", "token_type_ids", "attention_mask")
    )
    value = _embedding(weights, sizes, tokens, segments)
    penalty = _penalty(mask)
    for _ in range(sizes.layers):
        attended = _attention(weights, sizes, value, penalty)
        value = layer_norm(weights, add(attended, value), sizes.hidden)
        value = layer_norm(weights, add(_feed_forward(weights, sizes, value), value), sizes.hidden)
    return network((tokens, segments, mask), value)


def _embedding(weights: Weights, sizes: Encoder, tokens: Expr, segments: Expr) -> Expr:
    """The sum of the embeddings of the word, of the segment and of the position, normalised."""
    words = _table(weights, sizes.vocabulary, sizes, tokens)
    types = _table(weights, 2, sizes, segments)
    positions = constant(weights.normal((sizes.sequence, sizes.hidden), 0.02))
    return layer_norm(weights, add(add(words, types), positions), sizes.hidden)


def _table(weights: Weights, rows: int, sizes: Encoder, indices: Expr) -> Expr:
    table = constant(weights.normal((rows, sizes.hidden), 0.02))
    return take(table, indices, axis=0, mode="fast")


def _penalty(mask: Expr) -> Expr:
    """0 where a position may be seen, else a large negative number: [batch, 1, 1, sequence]."""
    seen = expand_dims(cast(mask, dtype="float32"), axis=1, num_newaxis=2)
    return multiply(subtract(constant(1.0), seen), constant(-MASKED))


def _attention(weights: Weights, sizes: Encoder, data: Expr, penalty: Expr) -> Expr:
    """Scaled dot-product attention of several heads (Vaswani et al., 2017, section 3.2)."""
    features = (sizes.hidden, sizes.hidden)
    query, key, value = (
        _heads(sizes, dense(weights, data, features)) for _ in ("query", "key", "value")
    )
    scale = constant(1 / math.sqrt(sizes.head_size))
    scores = multiply(batch_matmul(query, key, transpose_b=True), scale)
    shares = softmax(add(scores, penalty), axis=-1)
    mixed = transpose(batch_matmul(shares, value, transpose_b=False), axes=(0, 2, 1, 3))
    joined = reshape(mixed, newshape=(sizes.batch, sizes.sequence, sizes.hidden))
    return dense(weights, joined, features, gain=BRANCH_GAIN)


def _heads(sizes: Encoder, data: Expr) -> Expr:
    """[batch, sequence, hidden] -> [batch, head, sequence, head size]."""
    parts = (sizes.batch, sizes.sequence, sizes.heads, sizes.head_size)
    return transpose(reshape(data, newshape=parts), axes=(0, 2, 1, 3))


def _feed_forward(weights: Weights, sizes: Encoder, data: Expr) -> Expr:
    wide = gelu(dense(weights, data, (sizes.hidden, 4 * sizes.hidden)))
    return dense(weights, wide, (4 * sizes.hidden, sizes.hidden), gain=BRANCH_GAIN)
