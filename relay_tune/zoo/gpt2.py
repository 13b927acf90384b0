"""GPT-2 (Radford et al., 2019): a decoder with learned positions."""

from __future__ import annotations

from relay_tune.ir.expr import Expr, TupleGetItem, constant
from relay_tune.ir.module import Module
from relay_tune.op.indexing import take
from relay_tune.op.joining import split
from relay_tune.op.nn.activation import gelu
from relay_tune.zoo.decoder import BRANCH_GAIN, Cache, Sizes, Step, attention, heads, last_scores
from relay_tune.zoo.layers import dense, layer_norm
from relay_tune.zoo.weights import Weights


def gpt2(weights: Weights, batch: int, small: bool) -> Module:
    """GPT-2 with 124 million weights and room for 1,024 words; see `Step` for what goes in."""
    sizes = (
        Sizes(batch, 2, 16, 2, 2, 64, 50) if small else Sizes(batch, 12, 768, 12, 12, 3072, 50257)
    )
    step = Step(sizes)
    words = constant(weights.normal((sizes.words, sizes.width), 0.02))
    positions = constant(weights.normal((32 if small else 1024, sizes.width), 0.02))
    data = take(words, step.words, axis=0, mode="raise") + take(
        positions, step.positions, axis=0, mode="raise"
    )
    present = []
    for past in step.caches:
        data, cache = _layer(weights, sizes, step, data, past)
        present.append(cache)
    return step.program(last_scores(_norm(weights, sizes, data), words), present)


def _layer(
    weights: Weights, sizes: Sizes, step: Step, data: Expr, past: Cache
) -> tuple[Expr, Cache]:
    """Attention and a feed-forward layer, each added to what goes in."""
    features = (sizes.width, sizes.width)
    joined = dense(weights, _norm(weights, sizes, data), (sizes.width, 3 * sizes.width))
    parts = split(joined, indices_or_sections=3, axis=-1)
    queries, keys, values = (heads(sizes, TupleGetItem(parts, n), sizes.heads) for n in range(3))
    cache = past.appended(keys, values)
    mixed = attention(sizes, queries, cache, step.seen)
    data = data + dense(weights, mixed, features, gain=BRANCH_GAIN)
    return data + _feed_forward(weights, sizes, _norm(weights, sizes, data)), cache


def _feed_forward(weights: Weights, sizes: Sizes, data: Expr) -> Expr:
    wide = gelu(dense(weights, data, (sizes.width, sizes.inner)), approximate="tanh")
    return dense(weights, wide, (sizes.inner, sizes.width), gain=BRANCH_GAIN)


def _norm(weights: Weights, sizes: Sizes, data: Expr) -> Expr:
    return layer_norm(weights, data, sizes.width, epsilon=1e-5)
