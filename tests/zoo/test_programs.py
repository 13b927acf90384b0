"""The programs of the zoo against the same networks in numpy, loops in Python."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from relay_tune import zoo
from relay_tune.errors import InputError
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.structural import first_difference
from relay_tune.runtime.data_values import data_value, list_items, list_value
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.interpreter.values import ConstructorValue
from relay_tune.std import prelude
from relay_tune.typing.infer import infer_types
from relay_tune.zoo.program_catalogue import PROGRAMS
from relay_tune.zoo.programs import program_weights
from relay_tune.zoo.python_programs import PYTHON_PROGRAMS
from relay_tune.zoo.weights import Array

pytestmark = pytest.mark.builds_apart

SEED = 5
W = dict[str, Array]


def weights(name: str) -> W:
    return program_weights(PROGRAMS[name], SEED, small=True, batch=1)


def run(name: str, **inputs: Any) -> Any:
    module = infer_types(zoo.build(name, small=True, seed=SEED))
    return interpret(module, **{**zoo.example_inputs(name, SEED, small=True), **inputs})


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def gru_step(projected: Array, state: Array, weight: Array, bias: Array) -> Array:
    new, old = np.split(projected, 3, axis=1), np.split(state @ weight.T + bias, 3, axis=1)
    update = sigmoid(new[0] + old[0])
    candidate = np.tanh(new[2] + sigmoid(new[1] + old[1]) * old[2])
    return (1 - update) * candidate + update * state


def spelled(w: W, category: int, letter: int, limit: int) -> list[int]:
    hidden, written = w["hidden"], []
    for _ in range(limit):
        output = w["category_to_output"][category] + w["letter_to_output"][letter]
        output = output + hidden @ w["hidden_to_output"].T
        hidden = hidden @ w["hidden_to_hidden"].T + w["category_to_hidden"][category]
        hidden = hidden + w["letter_to_hidden"][letter]
        scores = hidden @ w["hidden_to_scores"].T + output @ w["output_to_scores"].T
        letter = int(np.argmax(scores + w["scores_bias"]))
        if letter == w["stop"]:
            break
        written.append(letter)
    return written


def integers(value: Any) -> list[int]:
    return [int(item) for item in list_items(value)]


@pytest.mark.parametrize("category", range(3))
@pytest.mark.parametrize("first", range(6))
def test_char_rnn(category: int, first: int) -> None:
    start = {"category": np.asarray(category), "first": np.asarray(first)}
    found = integers(run("char_rnn", **start, limit=np.int32(9)))
    assert found == spelled(weights("char_rnn"), category, first, 9)


def test_char_rnn_stops_where_the_data_says() -> None:
    w = weights("char_rnn")
    lengths = {len(spelled(w, category, first, 9)) for category in range(3) for first in range(6)}
    assert len(lengths) > 1


def test_lstm_list() -> None:
    w, data = weights("lstm_list"), zoo.example_inputs("lstm_list", SEED, small=True)["data"]
    hidden, cell, states = w["hidden"], w["cell"], []
    for x in data:
        gates = x @ w["input_weight"].T + hidden @ w["state_weight"].T + w["bias"]
        enter, leave, forget, candidate = np.split(gates, 4, axis=1)
        cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(candidate)
        hidden = sigmoid(leave) * np.tanh(cell)
        states.append(hidden)
    found, last = run("lstm_list")
    np.testing.assert_allclose(list_items(found), states, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(last, (hidden, cell), rtol=1e-4, atol=1e-6)


def test_gru_list() -> None:
    w, data = weights("gru_list"), zoo.example_inputs("gru_list", SEED, small=True)["data"]
    state, states = w["hidden"], []
    for x in data:
        projected = x @ w["input_weight"].T + w["input_bias"]
        state = gru_step(projected, state, w["state_weight"], w["state_bias"])
        states.append(state)
    found, last = run("gru_list")
    np.testing.assert_allclose(list_items(found), states, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(last, state, rtol=1e-4, atol=1e-6)


def tree_state(w: W, tree: ConstructorValue) -> tuple[Array, Array]:
    value, children = tree.fields
    own = np.split(value @ w["input_weight"].T + w["input_bias"], 4, axis=1)
    states = [tree_state(w, child) for child in list_items(children)]
    hidden = sum((state[0] for state in states), w["zero"])
    below = np.split(hidden @ w["sum_weight"].T, 3, axis=1)
    enter, leave, candidate = (a + b for a, b in zip(own, below, strict=False))
    forgets = [sigmoid(own[3] + state[0] @ w["forget_weight"].T) for state in states]
    kept = sum((f * state[1] for f, state in zip(forgets, states, strict=True)), w["zero"])
    cell = sigmoid(enter) * np.tanh(candidate) + kept
    return sigmoid(leave) * np.tanh(cell), cell


def test_tree_lstm_on_a_binary_tree() -> None:
    tree = zoo.example_inputs("tree_lstm", SEED, small=True)["tree"]
    expected = tree_state(weights("tree_lstm"), tree)
    np.testing.assert_allclose(run("tree_lstm"), expected, rtol=1e-4, atol=1e-6)


def test_tree_lstm_on_a_leaf_and_on_many_children() -> None:
    module = prelude("Tree")
    values = np.random.default_rng(0).standard_normal((4, 1, 6)).astype(np.float32)
    leaves = [data_value(module, "Rose", value, list_value([])) for value in values]
    bush = data_value(module, "Rose", values[0], list_value(leaves))
    for tree in (leaves[0], bush):
        expected = tree_state(weights("tree_lstm"), tree)
        np.testing.assert_allclose(run("tree_lstm", tree=tree), expected, rtol=1e-4, atol=1e-6)


def translated(w: W, source: Array, limit: int) -> list[int]:
    state, memory = w["no_state"], w["no_memory"]
    for word in source:
        projected = w["source_table"][word] @ w["encoder_input_weight"].T + w["encoder_input_bias"]
        state = gru_step(projected[None], state, w["encoder_state_weight"], w["encoder_state_bias"])
        memory = np.concatenate((memory, state))
    keys = memory @ w["key_weight"].T + w["key_bias"]
    written, word = [], int(w["start"])
    for _ in range(limit):
        energy = np.tanh(state @ w["query_weight"].T + keys) @ w["energy_weight"].T
        shares = np.exp(energy) / np.exp(energy).sum()
        seen = np.concatenate((w["target_table"][[word]], (shares * memory).sum(0)[None]), axis=1)
        projected = seen @ w["decoder_input_weight"].T + w["decoder_input_bias"]
        state = gru_step(projected, state, w["decoder_state_weight"], w["decoder_state_bias"])
        word = int(np.argmax(state @ w["output_weight"].T + w["output_bias"]))
        if word == w["stop"]:
            break
        written.append(word)
    return written


@pytest.mark.parametrize("length", [1, 2, 7])
def test_seq2seq_for_any_length_of_the_source(length: int) -> None:
    w = weights("seq2seq")
    for seed in range(5):
        source = np.random.default_rng(seed).integers(0, 9, length)
        found = integers(run("seq2seq", source=source, limit=np.int32(6)))
        assert found == translated(w, source, 6)


@pytest.mark.parametrize("name", [*zoo.program_names(), *zoo.names()])
def test_texts_are_read_back(name: str) -> None:
    module = zoo.build(name, small=True)
    assert first_difference(parse(module.astext()), module) is None


@pytest.mark.parametrize("name", zoo.program_names())
def test_full_size_programs_have_types(name: str) -> None:
    assert infer_types(zoo.build(name)).main.type is not None


def test_batches_only_where_the_program_has_them() -> None:
    assert zoo.build("lstm_list", small=True, batch=3).main.params[0].annotation.shape == (5, 3, 12)
    with pytest.raises(InputError, match="takes one sample, not a batch of 2"):
        zoo.build("char_rnn", small=True, batch=2)


@pytest.mark.parametrize("name", PYTHON_PROGRAMS)
@pytest.mark.parametrize("seed", range(3))
def test_programs_in_python_say_what_the_texts_say(name: str, seed: int) -> None:
    program = PYTHON_PROGRAMS[name](SimpleNamespace(**weights(name)))
    inputs = zoo.example_inputs(name, seed, small=True)
    found = interpret(program.module, **inputs)
    expected = interpret(zoo.build(name, small=True, seed=SEED), **inputs)
    np.testing.assert_allclose(flat(found), flat(expected), rtol=1e-5, atol=1e-6)


def flat(value: Any) -> Array:
    """All numbers in a value, in order."""
    match value:
        case ConstructorValue():
            parts = list_items(value)
        case tuple():
            parts = list(value)
        case _:
            return np.ravel(value)
    return np.concatenate([np.zeros(0), *(flat(part) for part in parts)])
