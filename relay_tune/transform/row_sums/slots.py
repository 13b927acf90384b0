"""What flows together in a program: a slot for each value, in the form of its type.

The tensors of a tuple have slots of their own, and so have the fields of a data type without
parameters: one for all values of it. Slots of values that flow into each other are one.

    Tensor[(4, 8), float32]                  a cell
    (Tensor[..], Tensor[..])                 a tuple of cells
    a data type                              its name: its fields are found by constructor
    anything else                            None
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TypeAlias

from relay_tune.ir.expr import Constructor
from relay_tune.ir.type_data import TypeData
from relay_tune.ir.types import GlobalTypeVar, TensorType, TupleType, Type, TypeCall
from relay_tune.quick_dataclass import dataclass


@dataclass(eq=False, slots=True)
class Cell:
    """Tensors that flow into each other.

    Attributes:
        type: their type.
        is_fixed: whether they have to be tensors.
        joined: the cell that this one became part of.
    """

    type: TensorType
    is_fixed: bool = False
    joined: Cell | None = None


Slot: TypeAlias = "Cell | tuple[Slot, ...] | str | None"


@dataclass
class Slots:
    """The slots of a module with these data types."""

    types: Mapping[str, TypeData]
    _fields: dict[tuple[str, str], tuple[Slot, ...]] = field(default_factory=dict)
    _fixed_data: set[str] = field(default_factory=set)

    def of_type(self, type_: Type | None) -> Slot:
        """A new slot for values of a type."""
        match type_:
            case TensorType():
                is_open = not all(isinstance(dim, int) for dim in type_.shape)
                return Cell(type_, is_open)
            case TupleType():
                return tuple(self.of_type(part) for part in type_.fields)
            case (
                GlobalTypeVar(name=name) | TypeCall(function=GlobalTypeVar(name=name), arguments=())
            ) if name in self.types:
                return name
            case _:
                return None

    def fields(self, constructor: Constructor) -> tuple[Slot, ...] | None:
        """The slots of a constructor's fields; None where its data type has parameters."""
        name = constructor.belongs_to.name
        if self.types[name].type_params:
            return None
        key = (name, constructor.name)
        if key not in self._fields:
            self._fields[key] = tuple(map(self.of_type, constructor.inputs))
        return self._fields[key]

    def unify(self, left: Slot, right: Slot) -> None:
        """Values flow from one to the other."""
        match left, right:
            case Cell(), Cell():
                self._join(root_of(left), root_of(right))
            case tuple(), tuple() if len(left) == len(right):
                for one, other in zip(left, right, strict=True):
                    self.unify(one, other)
            case str(), str() if left == right:
                pass
            case _:
                self.fix(left)
                self.fix(right)

    def fix(self, slot: Slot) -> None:
        """All tensors of values have to be tensors."""
        for cell in self.cells(slot, self._fixed_data):
            cell.is_fixed = True

    def cells(self, slot: Slot, seen: set[str] | None = None) -> Iterator[Cell]:
        """The cells of all tensors that are reached from values; `seen` are data types to omit."""
        done = set() if seen is None else seen
        pending = [slot]
        while pending:
            match pending.pop():
                case Cell() as cell:
                    yield root_of(cell)
                case tuple() as parts:
                    pending += parts
                case str() as name if name not in done:
                    done.add(name)
                    for constructor in self.types[name].constructors:
                        pending += self.fields(constructor) or ()

    def _join(self, left: Cell, right: Cell) -> None:
        if left is right:
            return
        right.joined = left
        left.is_fixed = left.is_fixed or right.is_fixed or left.type != right.type


def root_of(cell: Cell) -> Cell:
    """The cell that a cell is part of now."""
    root = cell
    while root.joined is not None:
        root = root.joined
    while cell.joined is not None:
        cell.joined, cell = root, cell.joined
    return root


def direct_cells(slot: Slot) -> Iterator[Cell]:
    """The cells of a value itself and of the fields of its tuples, not of data types."""
    pending = [slot]
    while pending:
        match pending.pop():
            case Cell() as cell:
                yield root_of(cell)
            case tuple() as parts:
                pending += parts


def has_data(slot: Slot) -> bool:
    """Whether a value, or a field of its tuples, is of a data type."""
    return isinstance(slot, str) or (isinstance(slot, tuple) and any(map(has_data, slot)))
