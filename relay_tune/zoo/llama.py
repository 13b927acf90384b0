"""A decoder after LLaMA (Touvron et al., 2023): shared keys, rotary positions, gated layers."""

from __future__ import annotations

import numpy as np

from relay_tune.ir.expr import Expr, Tuple, TupleGetItem, constant
from relay_tune.ir.module import Module
from relay_tune.op.cast import cast
from relay_tune.op.indexing import take
from relay_tune.op.joining import concatenate, split
from relay_tune.op.math import cos, rsqrt, sigmoid, sin
from relay_tune.op.nn.matmul import dense
from relay_tune.op.reduction import mean
from relay_tune.op.shape import expand_dims
from relay_tune.quick_dataclass import dataclass
from relay_tune.zoo.decoder import BRANCH_GAIN, Cache, Sizes, Step, attention, heads, last_scores
from relay_tune.zoo.weights import Weights

BASE = 10000.0
"""The longest wave of the rotations is this many times 2 pi."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """The cosines and sines of the new positions' angles, each [s, head size / 2]."""

    cosines: Expr
    sines: Expr

    def __call__(self, data: Expr) -> Expr:
        """Heads [batch, count, s, head size] turned by their positions (Su et al., 2021)."""
        halves = split(data, indices_or_sections=2, axis=-1)
        left, right = TupleGetItem(halves, 0), TupleGetItem(halves, 1)
        first = left * self.cosines - right * self.sines
        second = right * self.cosines + left * self.sines
        return concatenate(Tuple((first, second)), axis=-1)


def llama_100m(weights: Weights, batch: int, small: bool) -> Module:
    """100 million weights, four heads of keys for twelve of queries; `Step` says what goes in."""
    sizes = (
        Sizes(batch, 2, 24, 6, 2, 40, 50) if small else Sizes(batch, 12, 768, 12, 4, 2048, 32000)
    )
    step = Step(sizes)
    words = constant(weights.normal((sizes.words, sizes.width), 0.02))
    rotate = _rotation(sizes, step.positions)
    data: Expr = take(words, step.words, axis=0, mode="raise")
    present = []
    for past in step.caches:
        data, cache = _layer(weights, sizes, step, rotate, data, past)
        present.append(cache)
    return step.program(last_scores(_norm(weights, data, sizes.width), words), present)


def _rotation(sizes: Sizes, positions: Expr) -> Rotation:
    """Each pair of features turns at a speed of its own."""
    speeds = BASE ** -(np.arange(0, sizes.head_size, 2) / sizes.head_size)
    at = expand_dims(cast(positions, dtype="float32"), axis=1)
    angles = at * constant(speeds.astype(np.float32))
    return Rotation(cos(angles), sin(angles))


def _layer(
    weights: Weights, sizes: Sizes, step: Step, rotate: Rotation, data: Expr, past: Cache
) -> tuple[Expr, Cache]:
    """Attention and a gated layer, each added to what goes in."""
    near = _norm(weights, data, sizes.width)
    shared = sizes.groups * sizes.head_size
    queries = heads(sizes, _product(weights, near, sizes.width, sizes.width), sizes.heads)
    keys, values = (
        heads(sizes, _product(weights, near, sizes.width, shared), sizes.groups) for _ in range(2)
    )
    cache = past.appended(rotate(keys), values)
    mixed = attention(sizes, rotate(queries), cache, step.seen)
    data = data + _product(weights, mixed, sizes.width, sizes.width, BRANCH_GAIN)
    return data + _gated(weights, sizes, _norm(weights, data, sizes.width)), cache


def _gated(weights: Weights, sizes: Sizes, data: Expr) -> Expr:
    """SwiGLU (Shazeer, 2020)."""
    gate = _product(weights, data, sizes.width, sizes.inner)
    wide = gate * sigmoid(gate) * _product(weights, data, sizes.width, sizes.inner)
    return _product(weights, wide, sizes.inner, sizes.width, BRANCH_GAIN)


def _product(weights: Weights, data: Expr, inputs: int, outputs: int, gain: float = 1.0) -> Expr:
    """A fully connected layer without a bias."""
    return dense(data, weights.he((outputs, inputs), inputs, gain), units=outputs)


def _norm(weights: Weights, data: Expr, width: int) -> Expr:
    """Features by their root mean square (Zhang and Sennrich, 2019)."""
    scale = constant(weights.uniform((width,), 0.8, 1.2))
    squares = mean(data * data, axis=-1, keepdims=True)
    return data * rsqrt(squares + constant(1e-5)) * scale
