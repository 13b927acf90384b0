"""The plain C interface of programs from tensors to tensors: one function, `NAME_run`.

A program has it where the sizes of its inputs and outputs are known. Tuples are their components:
an input `pair` of two tensors is `pair.0` and `pair.1`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relay_tune.first_order.kinds import is_open_type
from relay_tune.first_order.program import FirstOrderProgram
from relay_tune.ir.types import TensorType, TupleType, Type


@dataclass(frozen=True, slots=True)
class PlainTensor:
    """An input or an output as C sees it."""

    name: str
    type: TensorType

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return tuple(dim for dim in self.type.shape if isinstance(dim, int))


@dataclass(frozen=True, slots=True)
class PlainInterface:
    """The tensors that `NAME_run` takes and gives.

    Attributes:
        inputs: in order.
        outputs: in order.
        is_alone: whether the program is a network, whose header needs no sessions.
    """

    inputs: tuple[PlainTensor, ...]
    outputs: tuple[PlainTensor, ...]
    is_alone: bool


def plain_interface(program: FirstOrderProgram) -> PlainInterface | None:
    """The plain interface of a program; None where it needs sessions."""
    entry = program.entries["main"]
    inputs = [part for name, type_ in entry.inputs.items() for part in _parts(name, type_)]
    outputs = [part for name, type_ in entry.outputs.items() for part in _parts(name, type_)]
    tensors = [
        PlainTensor(name, type_)
        for name, type_ in (*inputs, *outputs)
        if isinstance(type_, TensorType) and not is_open_type(type_)
    ]
    if len(tensors) < len(inputs) + len(outputs):
        return None
    first = len(inputs)
    return PlainInterface(tuple(tensors[:first]), tuple(tensors[first:]), _is_network(program))


def _parts(name: str, type_: Type) -> Iterator[tuple[str, Type]]:
    """The components of an input or an output with their names."""
    if not isinstance(type_, TupleType):
        yield name, type_
        return
    for number, field in enumerate(type_.fields):
        yield from _parts(f"{name}.{number}", field)


def _is_network(program: FirstOrderProgram) -> bool:
    functions = program.functions.values()
    return len(functions) == 1 and all(len(function.blocks) == 1 for function in functions)
