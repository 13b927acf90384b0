"""The decoders of the zoo against the same networks in numpy, without caches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
import pytest

from relay_tune import zoo
from relay_tune.errors import RelayError
from relay_tune.ir.expr import Constant
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import TensorType
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.tuning.tuned_build import build
from relay_tune.typing.infer import infer_types
from relay_tune.zoo.weights import Array, Weights

pytestmark = pytest.mark.builds_apart

SEED = 3
TEXT = np.random.default_rng(1).integers(0, 50, 11)

Run = Callable[[dict[str, Any]], Any]


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def attention(q: Array, k: Array, v: Array, heads: int) -> Array:
    """Rows of queries for `heads` heads, of keys and values for as many or fewer."""
    words, width = q.shape
    size = width // heads
    shared = heads * size // k.shape[1]
    mixed = np.empty_like(q)
    for head in range(heads):
        own = slice(head * size, (head + 1) * size)
        group = slice(head // shared * size, (head // shared + 1) * size)
        scores = q[:, own] @ k[:, group].T / np.sqrt(size)
        scores[np.triu_indices(words, 1)] = -np.inf
        mixed[:, own] = softmax(scores) @ v[:, group]
    return mixed


def gpt2_scores(ids: Array) -> Array:
    """The scores after the last word; weights are drawn in the order of the network's own."""
    weights, width = Weights(SEED), 16
    words = weights.normal((50, width), 0.02)
    x = words[ids] + weights.normal((32, width), 0.02)[: len(ids)]

    def linear(x: Array, outputs: int, gain: float = 1.0) -> Array:
        weight = weights.he((outputs, x.shape[1]), x.shape[1], gain).data
        return np.asarray(x @ weight.T + weights.bias(outputs).data)

    def norm(x: Array) -> Array:
        gamma, beta = weights.normalization(width, 1.0)
        spread = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return np.asarray((x - x.mean(-1, keepdims=True)) / spread * gamma.data + beta.data)

    for _ in range(2):
        q, k, v = np.split(linear(norm(x), 3 * width), 3, axis=1)
        x = x + linear(attention(q, k, v, 2), width, 0.25)
        wide = linear(norm(x), 64)
        wide = wide * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3))) / 2
        x = x + linear(wide, width, 0.25)
    return np.asarray(norm(x)[-1] @ words.T)


def llama_scores(ids: Array) -> Array:
    """The scores after the last word; weights are drawn in the order of the network's own."""
    weights, width, size = Weights(SEED), 24, 4
    words = weights.normal((50, width), 0.02)
    x = words[ids]
    angles = np.arange(len(ids))[:, None] * 10000.0 ** -(np.arange(0, size, 2) / size)
    turns = np.exp(1j * angles)[:, None]

    def linear(x: Array, outputs: int, gain: float = 1.0) -> Array:
        weight = weights.he((outputs, x.shape[1]), x.shape[1], gain).data
        return np.asarray(x @ weight.T)

    def norm(x: Array) -> Array:
        scale = weights.uniform((width,), 0.8, 1.2)
        return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale)

    def rotate(x: Array) -> Array:
        pairs = x.reshape(len(x), -1, 2, size // 2)
        turned = (pairs[:, :, 0] + 1j * pairs[:, :, 1]) * turns
        return np.stack((turned.real, turned.imag), axis=2).reshape(x.shape)

    for _ in range(2):
        near = norm(x)
        q, k, v = (linear(near, outputs) for outputs in (24, 8, 8))
        x = x + linear(attention(rotate(q), rotate(k), v, 6), width, 0.25)
        near = norm(x)
        gate = linear(near, 40)
        x = x + linear(gate / (1 + np.exp(-gate)) * linear(near, 40), width, 0.25)
    return np.asarray(norm(x)[-1] @ words.T)


REFERENCES = {"gpt2": gpt2_scores, "llama_100m": llama_scores}
NAMES = pytest.mark.parametrize("name", zoo.decoder_names())


@cache
def typed(name: str) -> Module:
    return infer_types(zoo.build(name, seed=SEED, small=True))


@cache
def built(name: str) -> Any:
    return build(typed(name), threads=1)


def empty_caches(name: str) -> dict[str, Array]:
    types = {var.name: var.annotation for var in typed(name).main.params[1:]}
    return {
        cache: np.zeros((1, type_.shape[1], 0, type_.shape[3]), np.float32)
        for cache, type_ in types.items()
        if isinstance(type_, TensorType)
    }


def steps(name: str, run: Run, parts: Iterable[Array]) -> tuple[Array, list[Array]]:
    """The scores and the caches after the words of all parts, a step for each."""
    caches = empty_caches(name)
    for part in parts:
        scores, *present = run({"input_ids": part[None], **caches})
        caches = dict(zip(caches, present, strict=True))
    return scores[0], list(caches.values())


@NAMES
@pytest.mark.parametrize("cuts", [(), (4,), (1, 2, 3), tuple(range(1, 11))])
def test_steps_of_any_length_give_the_scores_of_the_whole_text(
    name: str, cuts: tuple[int, ...]
) -> None:
    model = built(name)
    rooms = dict.fromkeys(empty_caches(name), 16)
    scores, _ = steps(name, lambda x: model.run(x, donate=rooms), np.split(TEXT, cuts))
    np.testing.assert_allclose(scores, REFERENCES[name](TEXT), rtol=1e-4, atol=1e-5)


@NAMES
def test_the_interpreter_gives_the_same_scores(name: str) -> None:
    scores, _ = steps(name, lambda x: interpret(typed(name), **x), np.split(TEXT, (6,)))
    np.testing.assert_allclose(scores, REFERENCES[name](TEXT), rtol=1e-4, atol=1e-5)


@NAMES
def test_donated_caches_stay_where_they_are(name: str) -> None:
    model, rooms = built(name), dict.fromkeys(empty_caches(name), 16)
    _, caches = steps(name, lambda x: model.run(x, donate=rooms), [TEXT[:3]])
    inputs = {"input_ids": TEXT[None, 3:4], **dict(zip(rooms, caches, strict=True))}
    _, *present = model.run(inputs, donate=rooms)
    assert [new.ctypes.data for new in present] == [old.ctypes.data for old in caches]


@NAMES
def test_the_table_of_words_is_one_constant(name: str) -> None:
    tables = [
        node.data
        for node in post_order(typed(name).main)
        if isinstance(node, Constant) and node.data.ndim == 2 and len(node.data) == 50
    ]
    assert len(tables) == 1


@NAMES
def test_words_that_are_not_in_the_table_are_refused(name: str) -> None:
    with pytest.raises(RelayError):
        built(name).run({"input_ids": np.array([[50]]), **empty_caches(name)})


def test_more_words_than_positions_are_refused() -> None:
    ids = np.zeros((1, 33), np.int64)
    with pytest.raises(RelayError):
        built("gpt2").run({"input_ids": ids, **empty_caches("gpt2")})


def test_examples_by_name_are_a_step_behind_sixteen_words() -> None:
    inputs = zoo.example_inputs("gpt2", small=True)
    assert inputs["input_ids"].shape == (1, 1)
    assert inputs["past_key_values.0.key"].shape == (1, 2, 16, 8)
