"""The programs of the zoo, written in Python: what their Relay texts say, through `@relay`.

`w` has the weights, by the names of the texts' parameters; they become constants.
"""

# The programs use names that Relay knows and Python does not.
# ruff: noqa: F821, UP037

from collections.abc import Callable, Mapping
from types import MappingProxyType, SimpleNamespace

import numpy as np

from relay_tune.frontend.python.relay_function import RelayFunction, relay
from relay_tune.ir.dim import UNKNOWN, Symbol
from relay_tune.ir.types import GlobalTypeVar, TensorType, TupleType, TypeCall
from relay_tune.zoo.weights import Array


def char_rnn(w: SimpleNamespace) -> RelayFunction:
    """The letters after `first`, up to the letter `w.stop` or to `limit` letters."""

    @relay
    def write(category: "int64", first: "int64", limit: int):
        letter, hidden = first, w.hidden
        written: "List[int64]" = []
        for _ in range(limit):
            output = w.category_to_output[category] + w.letter_to_output[letter]
            output += hidden @ w.hidden_to_output.T
            hidden = hidden @ w.hidden_to_hidden.T + w.category_to_hidden[category]
            hidden += w.letter_to_hidden[letter]
            scores = hidden @ w.hidden_to_scores.T + output @ w.output_to_scores.T + w.scores_bias
            letter = np.argmax(scores)
            if letter == w.stop:
                break
            written = [letter, *written]
        return rev(written)

    return write


def lstm_list(w: SimpleNamespace) -> RelayFunction:
    """The hidden states of all steps of `data`, and the last (hidden, cell)."""
    sequence = TensorType((Symbol("t"), *_row(w.hidden, w.input_weight).shape), "float32")

    @relay
    def layer(data: sequence):
        projected = data @ w.input_weight.T + w.bias
        hidden, cell = w.hidden, w.cell
        states = []
        for i in range(len(data)):
            gates = projected[i] + hidden @ w.state_weight.T
            enter, leave, forget, candidate = np.split(gates, 4, axis=1)
            cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(candidate)
            hidden = sigmoid(leave) * np.tanh(cell)
            states = [hidden, *states]
        return (rev(states), (hidden, cell))

    return layer


def gru_list(w: SimpleNamespace) -> RelayFunction:
    """The hidden states of all steps of `data`, and the last one."""
    sequence = TensorType((Symbol("t"), *_row(w.hidden, w.input_weight).shape), "float32")

    @relay
    def layer(data: sequence):
        projected = data @ w.input_weight.T + w.input_bias
        hidden = w.hidden
        states = []
        for i in range(len(data)):
            new_update, new_reset, new = np.split(projected[i], 3, axis=1)
            remembered = hidden @ w.state_weight.T + w.state_bias
            old_update, old_reset, old = np.split(remembered, 3, axis=1)
            update = sigmoid(new_update + old_update)
            candidate = np.tanh(new + sigmoid(new_reset + old_reset) * old)
            hidden = (1 - update) * candidate + update * hidden
            states = [hidden, *states]
        return (rev(states), hidden)

    return layer


def tree_lstm(w: SimpleNamespace) -> RelayFunction:
    """The (hidden, cell) of the root of a tree."""
    node = TypeCall(GlobalTypeVar("Tree"), (_row(w.zero, w.input_weight),))
    state = TensorType(w.zero.shape, "float32")

    @relay
    def encode(tree: node) -> TupleType((state, state)):
        match tree:
            case Rose(value, children):
                own = value @ w.input_weight.T + w.input_bias
                enter, leave, candidate, forget = np.split(own, 4, axis=1)
                hidden, kept = w.zero, w.zero
                for child in children:
                    child_hidden, child_cell = encode(child)
                    share = sigmoid(forget + child_hidden @ w.forget_weight.T)
                    hidden, kept = hidden + child_hidden, kept + share * child_cell
                below = np.split(hidden @ w.sum_weight.T, 3, axis=1)
                cell = sigmoid(enter + below[0]) * np.tanh(candidate + below[2]) + kept
                return (sigmoid(leave + below[1]) * np.tanh(cell), cell)

    return encode


def seq2seq(w: SimpleNamespace) -> RelayFunction:
    """The words that are written for `source`, up to the word `w.stop` or to `limit` words."""
    w = SimpleNamespace(**vars(w), states=TensorType((UNKNOWN, w.no_state.shape[1]), "float32"))

    @relay
    def translate(source: "Tensor[(s), int64]", limit: int):
        def next_state(projected, remembered, state):
            new_update, new_reset, new = np.split(projected, 3, axis=1)
            old_update, old_reset, old = np.split(remembered, 3, axis=1)
            update = sigmoid(new_update + old_update)
            candidate = np.tanh(new + sigmoid(new_reset + old_reset) * old)
            return (1 - update) * candidate + update * state

        words = take(w.source_table, source, axis=0)
        inputs = words @ w.encoder_input_weight.T + w.encoder_input_bias
        state = w.no_state
        memory: w.states = w.no_memory
        for i in range(len(source)):
            remembered = state @ w.encoder_state_weight.T + w.encoder_state_bias
            state = next_state(inputs[i, None], remembered, state)
            memory = np.concatenate((memory, state), axis=0)
        keys = memory @ w.key_weight.T + w.key_bias

        word = np.int64(w.start)
        written: "List[int64]" = []
        for _ in range(limit):
            energy = np.tanh(state @ w.query_weight.T + keys) @ w.energy_weight.T
            shares = nn.softmax(energy, axis=0)
            seen = np.sum(shares * memory, axis=0, keepdims=True)
            read = np.concatenate((w.target_table[word, None], seen), axis=1)
            projected = read @ w.decoder_input_weight.T + w.decoder_input_bias
            remembered = state @ w.decoder_state_weight.T + w.decoder_state_bias
            state = next_state(projected, remembered, state)
            word = np.argmax(state @ w.output_weight.T + w.output_bias)
            if word == w.stop:
                break
            written = [word, *written]
        return rev(written)

    return translate


def _row(state: Array, input_weight: Array) -> TensorType:
    """The type of one input: as many samples as the state has, features of the weight."""
    return TensorType((state.shape[0], input_weight.shape[1]), "float32")


PYTHON_PROGRAMS: Mapping[str, Callable[[SimpleNamespace], RelayFunction]] = MappingProxyType(
    {
        "char_rnn": char_rnn,
        "lstm_list": lstm_list,
        "gru_list": gru_list,
        "tree_lstm": tree_lstm,
        "seq2seq": seq2seq,
    }
)
"""By the names of the texts."""
