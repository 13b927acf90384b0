"""The built-in programs in torch, with the same weights, as users of torch write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from relay_tune.runtime.data_values import list_items
from relay_tune.runtime.interpreter.values import ConstructorValue

Array = np.ndarray[Any, Any]
Weights = Mapping[str, Array]


def _linear(weight: Array, bias: Array | None = None) -> nn.Linear:
    """A layer with given weights [out, in]."""
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    layer.weight.data = torch.from_numpy(np.array(weight))
    layer.bias.data = torch.from_numpy(np.zeros(len(weight), "f") if bias is None else bias.copy())
    return layer


class CharRNN(nn.Module):
    """The network of PyTorch's tutorial on generating names: one-hot inputs, three layers."""

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.categories: int = weights["category_to_hidden"].shape[0]
        self.letters: int = weights["letter_to_hidden"].shape[0]
        self.hidden: int = weights["hidden_to_hidden"].shape[0]
        to_hidden = ("category_to_hidden", "letter_to_hidden")
        to_output = ("category_to_output", "letter_to_output")
        self.i2h = _linear(
            np.hstack([*(weights[name].T for name in to_hidden), weights["hidden_to_hidden"]])
        )
        self.i2o = _linear(
            np.hstack([*(weights[name].T for name in to_output), weights["hidden_to_output"]])
        )
        self.o2o = _linear(
            np.hstack([weights["hidden_to_scores"], weights["output_to_scores"]]),
            weights["scores_bias"],
        )

    def forward(self, category: Tensor, letter: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Log probabilities of the next letter, and the next state."""
        together = torch.cat((category, letter, hidden), 1)
        next_hidden = self.i2h(together)
        output = self.i2o(together)
        scores = self.o2o(torch.cat((next_hidden, output), 1))
        return torch.log_softmax(scores, dim=1), next_hidden

    @torch.jit.export
    def write(self, category: int, first: int, limit: int, stop: int) -> list[int]:
        """The letters after the first one."""
        category_tensor = torch.zeros(1, self.categories)
        category_tensor[0, category] = 1.0
        hidden = torch.zeros(1, self.hidden)
        letter = first
        written: list[int] = []
        for _ in range(limit):
            letter_tensor = torch.zeros(1, self.letters)
            letter_tensor[0, letter] = 1.0
            output, hidden = self.forward(category_tensor, letter_tensor, hidden)
            letter = int(output.argmax().item())
            if letter == stop:
                break
            written.append(letter)
        return written


class Tree:
    """A node as torch users hold it."""

    def __init__(self, value: ConstructorValue) -> None:
        number, children = value.fields
        assert isinstance(number, np.ndarray)
        self.value = torch.from_numpy(number.copy())
        self.children = [
            Tree(child) for child in list_items(children) if isinstance(child, ConstructorValue)
        ]


class TreeLSTM(nn.Module):
    """The child-sum TreeLSTM, node by node."""

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.hidden = weights["forget_weight"].shape[0]
        self.own = _linear(weights["input_weight"], weights["input_bias"])
        self.below = _linear(weights["sum_weight"])
        self.forget = _linear(weights["forget_weight"])

    def forward(self, tree: Tree) -> tuple[Tensor, Tensor]:
        """The (hidden, cell) of the root."""
        states = [self.forward(child) for child in tree.children]
        i, o, u, f = self.own(tree.value).chunk(4, dim=1)
        if not states:
            cell = torch.sigmoid(i) * torch.tanh(u)
            return torch.sigmoid(o) * torch.tanh(cell), cell
        hidden = torch.cat([h for h, _ in states])
        cells = torch.cat([c for _, c in states])
        kept = (torch.sigmoid(f + self.forget(hidden)) * cells).sum(0, keepdim=True)
        below_i, below_o, below_u = self.below(hidden.sum(0, keepdim=True)).chunk(3, dim=1)
        cell = torch.sigmoid(i + below_i) * torch.tanh(u + below_u) + kept
        return torch.sigmoid(o + below_o) * torch.tanh(cell), cell


def char_rnn_variants(weights: Weights, inputs: Mapping[str, Any]) -> dict[str, Callable[[], Any]]:
    """The letters that torch writes: from Python, and as a script."""
    model = CharRNN(weights).eval()
    script = torch.jit.script(model)
    arguments = [int(inputs[name]) for name in ("category", "first", "limit")]
    stop = int(weights["stop"])

    def run(network: Any) -> Callable[[], Array]:
        def call() -> Array:
            with torch.inference_mode():
                return np.asarray(network.write(*arguments, stop))

        return call

    return {"torch eager": run(model), "torch.jit.script": run(script)}


def tree_lstm_variants(weights: Weights, tree: ConstructorValue) -> dict[str, Callable[[], Any]]:
    """The state of the root in torch."""
    model, nodes = TreeLSTM(weights).eval(), Tree(tree)

    def call() -> Array:
        with torch.inference_mode():
            return np.asarray(model(nodes)[0].numpy())

    return {"torch eager": call}
