"""ONNX's LSTM and GRU as torch's, whose gates have another order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from relay_tune.cli.peers.torch_module.call import Call, NotInTorch, Translation

LSTM_GATES = (0, 2, 3, 1)
"""torch: input, forget, cell, output; ONNX: input, output, forget, cell."""
GRU_GATES = (1, 0, 2)
"""torch: reset, update, new; ONNX: update, reset, new."""


def reordered(weights: Tensor, order: Sequence[int]) -> Tensor:
    """The rows of the gates in torch's order."""
    gates = weights.chunk(len(order))
    return torch.cat([gates[gate] for gate in order])


def parameters(call: Call, order: Sequence[int]) -> list[Tensor]:
    """torch's list: for each direction, weights of the input and of the state, and both biases."""
    flat: list[Tensor] = []
    for inputs, state, bias in zip(*(call.tensor(n) for n in (1, 2, 3)), strict=True):
        parts = (inputs, state, *bias.chunk(2))
        flat += [reordered(part, order) for part in parts]
    return flat


def recurrent(call: Call) -> Sequence[Tensor]:
    """A layer, in one or both directions; results are ONNX's: all states, the last ones."""
    is_lstm = call.kind == "LSTM"
    direction = call.option("direction", b"forward")
    if direction == b"reverse" or call.optional(4) is not None:
        raise NotInTorch(f"{call.kind} in reverse, or with lengths.")
    if not is_lstm and not call.option("linear_before_reset", 0):
        raise NotInTorch("GRU whose reset gate comes before the product.")
    data = call.tensor(0)
    weights = parameters(call, LSTM_GATES if is_lstm else GRU_GATES)
    both = direction == b"bidirectional"
    shape = (1 + both, data.shape[1], call.option("hidden_size"))
    given = [call.optional(n) for n in ((5, 6) if is_lstm else (5,))]
    states = [data.new_zeros(shape) if state is None else state for state in given]
    settings = (True, 1, 0.0, False, both, False)
    if is_lstm:
        outputs, *last = torch.lstm(data, states, weights, *settings)
    else:
        outputs, *last = torch.gru(data, states[0], weights, *settings)
    steps, batch, _ = outputs.shape
    moved = outputs.reshape(steps, batch, 1 + both, -1).transpose(1, 2)
    return (moved, *last)


RECURRENT: Mapping[str, Translation] = {"GRU": recurrent, "LSTM": recurrent}
