"""ONNX operators that compute each element by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn import functional

from relay_tune.cli.peers.torch_module.call import Call, Translation

TYPES = {
    1: torch.float32, 2: torch.uint8, 3: torch.int8, 6: torch.int32, 7: torch.int64,
    9: torch.bool, 10: torch.float16, 11: torch.float64,
}  # fmt: skip
"""torch's types by ONNX's numbers."""


def plain(function: Callable[..., Tensor]) -> Translation:
    """A function of torch whose arguments are the inputs."""
    return lambda call: function(*(call.tensor(n) for n in range(len(call.inputs))))


def clip(call: Call) -> Tensor:
    """Limits are inputs, or attributes in old operator sets."""
    low, high = (call.numbers_or_option(n, name) for n, name in ((1, "min"), (2, "max")))
    limits = [value[0] if isinstance(value, list) else value for value in (low, high)]
    return call.tensor(0).clamp(*limits)


def gelu(call: Call) -> Tensor:
    """GELU, exact or by tanh."""
    kind = call.option("approximate", b"none").decode()
    return functional.gelu(call.tensor(0), approximate=kind)


def hard_sigmoid(call: Call) -> Tensor:
    """max(0, min(1, alpha x + beta)); torch has a function for 1/6 and 1/2."""
    alpha, beta = call.option("alpha", 0.2), call.option("beta", 0.5)
    if abs(alpha - 1 / 6) < 1e-6 and beta == 0.5:
        return functional.hardsigmoid(call.tensor(0))
    return (call.tensor(0) * alpha + beta).clamp(0, 1)


ELEMENTWISE: Mapping[str, Translation] = {
    "Abs": plain(torch.abs),
    "Add": plain(torch.add),
    "And": plain(torch.logical_and),
    "Cast": lambda call: call.tensor(0).to(TYPES[call.option("to")]),
    "Clip": clip,
    "Cos": plain(torch.cos),
    "Div": plain(torch.div),
    "Elu": lambda call: functional.elu(call.tensor(0), call.option("alpha", 1.0)),
    "Equal": plain(torch.eq),
    "Erf": plain(torch.erf),
    "Exp": plain(torch.exp),
    "Gelu": gelu,
    "Greater": plain(torch.gt),
    "HardSigmoid": hard_sigmoid,
    "HardSwish": plain(functional.hardswish),
    "Identity": lambda call: call.tensor(0),
    "LeakyRelu": lambda call: functional.leaky_relu(call.tensor(0), call.option("alpha", 0.01)),
    "Less": plain(torch.lt),
    "Log": plain(torch.log),
    "Max": plain(torch.maximum),
    "Min": plain(torch.minimum),
    "Mul": plain(torch.mul),
    "Neg": plain(torch.neg),
    "Not": plain(torch.logical_not),
    "Pow": plain(torch.pow),
    "Reciprocal": plain(torch.reciprocal),
    "Relu": plain(functional.relu),
    "Sigmoid": plain(torch.sigmoid),
    "Sin": plain(torch.sin),
    "Softplus": plain(functional.softplus),
    "Sqrt": plain(torch.sqrt),
    "Sub": plain(torch.sub),
    "Tanh": plain(torch.tanh),
    "Where": plain(torch.where),
}
