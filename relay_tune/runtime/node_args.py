"""Inputs and outputs as ONNX Runtime describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from relay_tune.arguments import did_you_mean
from relay_tune.errors import InputError
from relay_tune.ir.dim import size_label
from relay_tune.ir.types import TensorType, Type
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.type_text import type_text

Value = TypeVar("Value")

_ELEMENTS = {
    "float16": "float16",
    "float32": "float",
    "float64": "double",
}


@dataclass(frozen=True, slots=True)
class NodeArg:
    """An input or an output.

    Attributes:
        name: of the input or output.
        shape: a number for each size that is known, a name or None for others.
        type: such as `tensor(float)`; of what is no tensor, its type as Relay text.
    """

    name: str
    shape: list[int | str | None]
    type: str


def node_args(types: Mapping[str, Type]) -> list[NodeArg]:
    """The description of inputs or outputs, in order."""
    return [_node_arg(name, type_) for name, type_ in types.items()]


def chosen_outputs(
    names: object, known: Mapping[str, Type], outputs: Sequence[Value]
) -> list[Value]:
    """The outputs of these names, in their order; InputError for a name that there is none of."""
    by_output = dict(zip(known, outputs, strict=True))
    if not isinstance(names, list | tuple):
        raise InputError(
            f"The names of outputs must be a list, but are {names!r}.",
            remedy="Write run(None, inputs) for all outputs, or run([name], inputs).",
        )
    for name in names:
        if name not in by_output:
            raise InputError(
                f"There is no output {name!r}.",
                notes=(f"There are: {', '.join(by_output)}.",),
                remedy=did_you_mean(str(name), by_output, "Name outputs that the model has."),
            )
    return [by_output[name] for name in names]


def _node_arg(name: str, type_: Type) -> NodeArg:
    if not isinstance(type_, TensorType):
        return NodeArg(name, [], type_text(type_))
    element = _ELEMENTS.get(type_.dtype, type_.dtype)
    return NodeArg(name, [size_label(dim) for dim in type_.shape], f"tensor({element})")
