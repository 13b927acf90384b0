"""Which tensors become collections of rows.

A group, all tensors that are terms of each other's sums, does if

- all its terms are sums over rows of one form, and zeros: no other tensor is added;
- it is a result of functions that call themselves, and elements are read outside of these functions
  and of those that they call: so rows are summed once, not in every step;
- no such function takes it as an argument: a loop that hands its sum on to the next step runs in
  memory of one size, however many steps it takes;
- the rows of a term are no larger than the term.
"""

from __future__ import annotations

from dataclasses import field
from math import prod

from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.calls import reachable
from relay_tune.transform.row_sums.flow import Flow, Form
from relay_tune.transform.row_sums.slots import Cell, direct_cells, root_of
from relay_tune.typing.call_graph import recursive_groups, used_globals


@dataclass
class _Group:
    """Cells whose tensors are added up.

    Attributes:
        cells: the cells.
        forms: of their terms.
        inside: the functions that return them and call themselves, and what these call.
        read_in: the functions that read elements.
        is_argument: whether functions that call themselves take them.
    """

    cells: list[Cell] = field(default_factory=list)
    forms: set[Form] = field(default_factory=set)
    inside: set[str] = field(default_factory=set)
    read_in: set[str] = field(default_factory=set)
    is_argument: bool = False

    def is_collected(self) -> bool:
        """Whether rows are collected in place of adding."""
        if self.is_argument or not self.inside or self.inside & self.read_in:
            return False
        return len(self.forms) == 1 and all(map(_is_smaller, self.forms))


def collected_cells(flow: Flow) -> dict[Cell, Form]:
    """The cells of tensors that become collections of rows, with what their terms are."""
    choice = _Choice(flow)
    known = [root_of(cell) for slot in flow.of.values() for cell in direct_cells(slot)]
    left = {cell for cell in known if not cell.is_fixed}
    while True:
        left = choice.without_other_sums(left)
        groups = choice.groups(left)
        refused = {cell for group in groups if not group.is_collected() for cell in group.cells}
        if not refused:
            return {cell: form for group in groups for form in group.forms for cell in group.cells}
        left -= refused


class _Choice:
    """Groups the cells of a module."""

    def __init__(self, flow: Flow) -> None:
        self._exits = [(root_of(cell), function) for cell, function in flow.exits]
        self._terms = [(root_of(cell), form) for cell, form in flow.terms]
        self._sums = [
            (root_of(each.result), (root_of(each.left), root_of(each.right)), each.function)
            for each in flow.additions
        ]
        self._inside = _functions_inside(flow)
        self._arguments = _arguments(flow)

    def without_other_sums(self, left: set[Cell]) -> set[Cell]:
        """These cells without sums of tensors that are not among them."""
        size = len(left) + 1
        while len(left) < size:
            size = len(left)
            left = left - {cell for cell, parts, _ in self._sums if not left.issuperset(parts)}
        return left

    def groups(self, left: set[Cell]) -> list[_Group]:
        """The groups of these cells."""
        joined: dict[Cell, list[Cell]] = {cell: [cell] for cell in left}
        for cell, parts, _ in self._sums:
            for part in parts if cell in left else ():
                _join(joined, cell, part)
        groups = {id(cells): _Group(cells) for cells in joined.values()}
        of = {cell: groups[id(cells)] for cell, cells in joined.items()}
        for cell, form in self._terms:
            if cell in of:
                of[cell].forms.add(form)
        for cell, function in self._exits:
            if cell in of:
                of[cell].read_in.add(function)
        for cell, parts, function in self._sums:
            for part in parts:
                if cell not in of and part in of:
                    of[part].read_in.add(function)
        for cell, functions in self._inside.items():
            if cell in of:
                of[cell].inside |= functions
        for cell in self._arguments & of.keys():
            of[cell].is_argument = True
        return list(groups.values())


def _join(joined: dict[Cell, list[Cell]], left: Cell, right: Cell) -> None:
    """Put the groups of two cells into one."""
    more, less = sorted((joined[left], joined[right]), key=len, reverse=True)
    if more is not less:
        more += less
        joined.update(dict.fromkeys(less, more))


def _functions_inside(flow: Flow) -> dict[Cell, set[str]]:
    """Of what functions that call themselves return, these functions and those they call."""
    found: dict[Cell, set[str]] = {}
    for name in recursive_functions(flow.module):
        inside = {name} | reachable(flow.module, name)
        for cell in flow.slots.cells(flow.results[name]):
            found.setdefault(cell, set()).update(inside)
    return found


def _arguments(flow: Flow) -> set[Cell]:
    """What functions that call themselves take."""
    functions = (flow.module[name] for name in recursive_functions(flow.module))
    slots = (flow.slot(param) for function in functions for param in function.params)
    return {cell for slot in slots for cell in flow.slots.cells(slot)}


def recursive_functions(module: Module) -> list[str]:
    """The functions that call themselves, perhaps through others."""
    return [
        name
        for group in recursive_groups(module)
        for name in group
        if len(group) > 1 or name in used_globals(module[name])
    ]


def _is_smaller(form: Form) -> bool:
    """Whether the rows of a term have no more elements than the term."""
    _, rows, result = form
    return sum(map(_elements, rows)) <= _elements(result)


def _elements(type_: TensorType) -> int:
    return prod(dim for dim in type_.shape if isinstance(dim, int))
