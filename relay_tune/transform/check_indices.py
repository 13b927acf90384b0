"""Check indices that arrive at run time, once, where they enter.

before: take(%table, cast(%ids, dtype="int64"), axis=0, mode="raise")
after:  %0 = check_indices(%ids, index_extent(%ids), (), sizes=[1000], subject="take at f:2:4");
        take(%table, cast(%0, dtype="int64"), axis=0, mode="raise")

Indices that are known are checked here, and those that are in range whatever the inputs are
(`integer_ranges`) need no check. Operators that share indices share the check, unless there are
branches: then each check belongs to the branch of its operator, which may not be taken.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import prod
from typing import Any, ClassVar

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr, Tuple, TupleGetItem
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order, rewrite_with_original
from relay_tune.ir.types import TupleType
from relay_tune.op.index_check import extents, index_subject, require_indices
from relay_tune.op_rules.indices.ranges import Range
from relay_tune.op_rules.indices.sources import source_of
from relay_tune.op_rules.indices.uses import IndexUse, Path, index_uses, sizes_in
from relay_tune.op_rules.matching import static_shape, tensor_type
from relay_tune.op_rules.typed import call, constant_of, recall, tuple_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.branches.activation import has_branches
from relay_tune.transform.integer_ranges import integer_ranges
from relay_tune.transform.module_pass import map_scopes, same_scope

_ZERO = np.zeros((), np.int64)


@dataclass(frozen=True)
class CheckIndices:
    """Puts checks before operators that read or write at indices.

    Raises IndexRangeError where an index that is known is out of range.
    """

    name: ClassVar[str] = "check_indices"

    def __call__(self, module: Module) -> Module:
        """The module in which indices are checked."""
        return map_scopes(module, _checked)


def _checked(body: Expr) -> Expr:
    uses: dict[Expr, tuple[IndexUse, ...]] = {
        node: found
        for node in post_order(body, enter=same_scope)
        if isinstance(node, Call) and (found := tuple(index_uses(node)))
    }
    if not uses:
        return body
    checks = _Checks(integer_ranges(body), shares=not has_branches(body))

    def visit(original: Expr, node: Expr) -> Expr:
        for use in uses.get(original, ()):
            assert isinstance(node, Call) and isinstance(original, Call)
            node = checks.added(original, node, use)
        return node

    return rewrite_with_original(body, visit, enter=same_scope)


class _Checks:
    """Writes the checks of one function; `ranges` are those of its values."""

    def __init__(self, ranges: Mapping[Expr, Range], *, shares: bool) -> None:
        self._ranges = ranges
        self._shares = shares
        self._made: dict[Hashable, Expr] = {}

    def added(self, original: Call, node: Call, use: IndexUse) -> Call:
        """The call with checked indices; itself where they need no check."""
        indices = argument_at(original, use.indices)
        sizes = index_sizes(argument_at(original, use.data), use)
        if isinstance(indices, Constant) and -1 not in sizes:
            subject = index_subject(original)
            require_indices(indices.data, sizes, use.coordinates, subject, use.ignored)
            return node
        if self._is_inside(indices, sizes) or 0 in (static_shape(indices) or ()):
            return node
        data = tuple_of([self._measured(argument_at(node, use.data), use)] if -1 in sizes else [])
        attributes = {
            "sizes": sizes,
            "axes": use.axes,
            "subject": index_subject(original),
            "is_size": use.is_shape and -1 in sizes,
        }
        checked = self._checked(argument_at(node, use.indices), use, data, attributes)
        return _with_part(node, use.indices, checked)

    def _measured(self, data: Expr, use: IndexUse) -> Expr:
        """What tells sizes that are not known: the tensor, or the number of its elements."""
        if not use.is_shape:
            return data
        key = ("elements of shape", data)
        if not self._shares or key not in self._made:
            sizes = call("maximum", call("cast", data, dtype="int64"), constant_of(_ZERO))
            self._made[key] = call("prod", sizes)
        return self._made[key]

    def _is_inside(self, indices: Expr, sizes: tuple[int, ...]) -> bool:
        found = self._ranges.get(indices)
        return found is not None and all(-size <= found[0] <= found[1] < size for size in sizes)

    def _checked(
        self, indices: Expr, use: IndexUse, data: Tuple, attributes: dict[str, Any]
    ) -> Expr:
        """The indices, checked where they come from: what only moves them stays behind that."""
        axis = use.coordinates
        moves: list[Call] = []
        while (source := source_of(indices, axis)) is not None:
            assert isinstance(indices, Call)  # it has a source
            moves.append(indices)
            indices, axis = source
        kind = (axis, use.ignored)
        key = (indices, kind, attributes["sizes"], data.fields, attributes["axes"])
        if not self._shares or key not in self._made:
            self._made[key] = call(
                "check_indices", indices, _extent(indices, *kind), data, **attributes
            )
        checked = self._made[key]
        for move in reversed(moves):
            checked = recall(move, (checked,))
        return checked


def _extent(indices: Expr, axis: int | None, ignored: int | None) -> Expr:
    if isinstance(indices, Constant):
        return constant_of(extents(indices.data, axis, ignored))
    return call("index_extent", indices, axis=axis, ignored=ignored)


def index_sizes(data: Expr, use: IndexUse) -> tuple[int, ...]:
    """The sizes that indices are compared with; -1 where one is not known."""
    if use.is_shape:
        return (prod(sizes_in(data.data)) if isinstance(data, Constant) else -1,)
    type_ = tensor_type(data)
    shape = () if type_ is None else type_.shape
    if use.axes is not None:
        return tuple(size if isinstance(size := shape[axis], int) else -1 for axis in use.axes)
    known = static_shape(data)
    return (-1 if known is None else prod(known),)


def argument_at(node: Call, path: Path) -> Expr:
    """The argument of a call, or its field, at a path."""
    argument = node.arguments[path[0]]
    if len(path) == 1:
        return argument
    if isinstance(argument, Tuple):
        return argument.fields[path[1]]
    type_ = argument.type
    assert isinstance(type_, TupleType)  # the program is typed
    return TupleGetItem(argument, path[1], type=type_.fields[path[1]])


def _with_part(node: Call, path: Path, part: Expr) -> Call:
    """The call with another argument, or another field of it, at a path."""
    if len(path) == 2:
        type_ = node.arguments[path[0]].type
        count = len(type_.fields) if isinstance(type_, TupleType) else 0
        fields = [argument_at(node, (path[0], number)) for number in range(count)]
        fields[path[1]] = part
        part = tuple_of(fields)
    arguments = list(node.arguments)
    arguments[path[0]] = part
    return recall(node, arguments)
