"""Functions of basic blocks, and whole programs of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from relay_tune.ir.expr import Constructor, Function
from relay_tune.ir.reached import reached
from relay_tune.ir.type_data import TypeData
from relay_tune.ir.types import RefType, TupleType, Type
from relay_tune.program.instructions import CallClosure, CallFunction, Instruction, Register
from relay_tune.program.kinds import Kind
from relay_tune.program.layouts import ObjectLayout
from relay_tune.program.terminators import TailCall, Terminator
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Instructions that run one after the other."""

    label: int
    parameters: tuple[Register, ...]
    instructions: tuple[Instruction, ...]
    terminator: Terminator


@dataclass(frozen=True, eq=False, slots=True)
class FirstOrderFunction:
    """A function; `results` are the kinds of what it returns. The first block is the entry.

    Parameters that are borrowed are no objects: only their elements and sizes are there. Nor are
    `results_in_place`, which lie in the caller's memory for the result of that number.
    """

    name: str
    parameters: tuple[Register, ...]
    results: tuple[Kind, ...]
    blocks: tuple[Block, ...]
    borrowed_inputs: frozenset[Register] = frozenset()
    results_in_place: Mapping[Register, int] = field(default_factory=dict)

    @property
    def has_calls(self) -> bool:
        """Whether it calls functions of the program, not counting tail calls."""
        instructions = (each for block in self.blocks for each in block.instructions)
        return any(isinstance(each, CallFunction | CallClosure) for each in instructions)


@dataclass(frozen=True, eq=False, slots=True)
class ConstructorLayout:
    """The objects that a constructor makes for some type arguments, with its fields' types."""

    constructor: Constructor
    fields: tuple[Type, ...]
    layout: ObjectLayout


@dataclass(frozen=True, slots=True)
class AppendedOutput:
    """A component of a result that is an input with more rows behind it along an axis.

    Attributes:
        output: the number of the component of the result.
        input: the number of the component of the inputs.
        axis: along which rows are appended.
    """

    output: int
    input: int
    axis: int


@dataclass(frozen=True, slots=True)
class InPlaceOutput:
    """A component of a result that may lie in the memory of an input, instead of it.

    Attributes:
        output: the number of the component of the result.
        input: the number of the component of the inputs.
    """

    output: int
    input: int


@dataclass(frozen=True, eq=False, slots=True)
class EntryPoint:
    """A function that can be called from outside.

    Attributes:
        function: its name in the program.
        inputs: the type of each parameter by name.
        output: the type of the result.
        outputs: the same by name; the fields of a tuple each have a name.
        appended: the components of the result that are an input with more rows, in its memory.
        in_place: the components of the result that may lie in the memory of an input.
    """

    function: str
    inputs: Mapping[str, Type]
    output: Type
    outputs: Mapping[str, Type]
    appended: tuple[AppendedOutput, ...] = ()
    in_place: tuple[InPlaceOutput, ...] = ()


DataTypes = Mapping[Type, tuple[ConstructorLayout, ...]]
"""The constructors of data types."""


def types_within(type_: Type, data_types: DataTypes) -> Iterator[Type]:
    """The types of a value and of all values in it, each once."""

    def fields(part: Type) -> Sequence[Type]:
        if isinstance(part, TupleType):
            return part.fields
        return [field for made in data_types.get(part, ()) for field in made.fields]

    return reached([type_], fields)


@dataclass(frozen=True, eq=False, slots=True)
class FirstOrderProgram:
    """A whole program.

    Attributes:
        functions: all functions by name.
        layouts: the layouts of all objects but tensors, by number from 1.
        data_types: the constructors of each data type that values passed to or from outside have.
        cells: the layouts of the references that are passed to or from outside.
        closure_code: the function that a closure of a layout runs, by layout number.
        entry: the function that can be called from outside.
        types: the data types as the module defines them.
        has_cells: whether there are references, which alone can form cycles.
        is_open: whether some tensors have sizes that are known at run time only.
        batches: where kernels are deferred, those of which several calls can be one: by number of
            calls, the primitive for all of them.
    """

    functions: Mapping[str, FirstOrderFunction]
    layouts: tuple[ObjectLayout, ...]
    data_types: DataTypes
    cells: Mapping[RefType, ObjectLayout]
    closure_code: Mapping[int, str]
    entry: EntryPoint
    types: Mapping[str, TypeData]
    has_cells: bool
    is_open: bool = False
    batches: Mapping[Function, Mapping[int, Function]] = field(default_factory=dict)

    @property
    def has_values(self) -> bool:
        """Whether values of data types, or references, are passed to or from outside."""
        return bool(self.data_types or self.cells)

    @property
    def outer_function(self) -> FirstOrderFunction | None:
        """The function of the entry, unless the program itself calls it."""
        name = self.entry.function
        return None if name in self._called() else self.functions[name]

    def with_outer_function(
        self, change: Callable[[FirstOrderFunction], FirstOrderFunction]
    ) -> FirstOrderProgram:
        """The program with another outer function; as it is where there is none."""
        outer = self.outer_function
        if outer is None:
            return self
        return replace(self, functions={**self.functions, self.entry.function: change(outer)})

    def _called(self) -> Iterator[str]:
        yield from self.closure_code.values()
        for function in self.functions.values():
            for block in function.blocks:
                for instruction in block.instructions:
                    if isinstance(instruction, CallFunction):
                        yield instruction.function
                if isinstance(block.terminator, TailCall):
                    yield block.terminator.function
