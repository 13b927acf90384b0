"""The plain C interface of programs from tensors to tensors: one function, `NAME_run`.

Tuples are their components: an input `pair` of two tensors is `pair.0` and `pair.1`. Where sizes
are known at run time only, `NAME_run` is given those of the inputs, checks them, and gives those of
the outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.program.kinds import is_open_type
from relay_tune.program.program import FirstOrderProgram
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.type_text import type_text


@dataclass(frozen=True, slots=True)
class PlainTensor:
    """An input or an output as C sees it."""

    name: str
    type: TensorType

    @property
    def is_open(self) -> bool:
        """Whether some sizes are known at run time only."""
        return is_open_type(self.type)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes, -1 for those that are known at run time only."""
        return tuple(dim if isinstance(dim, int) else -1 for dim in self.type.shape)

    @property
    def bytes(self) -> int:
        """Those of the elements; -1 where they are known at run time only."""
        return -1 if self.is_open else prod(self.shape) * DTYPES[self.type.dtype].itemsize


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

    @property
    def is_open(self) -> bool:
        """Whether some sizes are known at run time only."""
        return any(each.is_open for each in (*self.inputs, *self.outputs))

    @property
    def messages(self) -> tuple[str, ...]:
        """What is said where the sizes of an input do not fit: an error for each, in order."""
        if not self.is_open:
            return ()
        return tuple(
            f"The sizes of input '{each.name}' do not fit {type_text(each.type)}, or those of "
            "other inputs."
            for each in self.inputs
        )


def plain_interface(program: FirstOrderProgram) -> PlainInterface | None:
    """The plain interface of a program; None where it needs sessions."""
    entry = program.entry
    inputs = [part for name, type_ in entry.inputs.items() for part in _parts(name, type_)]
    outputs = [part for name, type_ in entry.outputs.items() for part in _parts(name, type_)]
    tensors = [
        PlainTensor(name, type_)
        for name, type_ in (*inputs, *outputs)
        if isinstance(type_, TensorType)
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
