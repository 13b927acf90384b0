"""The network of PyTorch's tutorial on generating names, as a program in Python."""

# The program uses names that Relay knows and Python does not.
# ruff: noqa: F821, UP037

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from relay_tune.frontend.python.relay_function import RelayFunction, relay


def char_rnn(weights: Mapping[str, Any], letters: int, categories: int) -> RelayFunction:
    """The letters after `first`, up to the letter `stop` or to `limit` letters."""
    w = SimpleNamespace(**weights)

    @relay
    def write(category: "int64", first: "int64", limit: int):
        letter, hidden = first, w.hidden
        written: "List[int64]" = []
        category_tensor = np.eye(categories, dtype="float32")[category, None]
        for _ in range(limit):
            letter_tensor = np.eye(letters, dtype="float32")[letter, None]
            combined = np.concatenate((category_tensor, letter_tensor, hidden), axis=1)
            hidden = combined @ w.i2h_weight.T + w.i2h_bias
            output = combined @ w.i2o_weight.T + w.i2o_bias
            output_combined = np.concatenate((hidden, output), axis=1)
            scores = nn.log_softmax(output_combined @ w.o2o_weight.T + w.o2o_bias)
            letter = np.argmax(scores)
            if letter == w.stop:
                break
            written = [letter, *written]
        return rev(written)

    return write
