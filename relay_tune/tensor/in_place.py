"""Kernels that compute the same where a tensor that they read lies where one that they write does.

    safe:    for i in 0 .. 64: y[i] = x[i] * 2 + z[i]          each element is read before it goes
    unsafe:  for i in 0 .. 64: y[i] = x[63 - i]                an earlier store has overwritten it
    unsafe:  for i in 0 .. 64: y[i] = x[i]; w[i] = x[i]        so it has here

This is read off the statements, so it holds for the schedule as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import Affine, axis_affine, flat_form
from relay_tune.tensor.expression import Axis, Binary, Literal, Scalar, Tensor
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Branch,
    Kernel,
    LaneReduce,
    Let,
    Loop,
    Prefetch,
    Statement,
    Store,
)
from relay_tune.tensor.matrix_registers import MatrixRegisters
from relay_tune.tensor.size import is_integer, is_symbolic
from relay_tune.tensor.touched import touched_tensors
from relay_tune.tensor.walk import loads, sub_expressions, substitute


def can_be_in_place(kernels: Sequence[Kernel], read: Tensor, written: Tensor) -> bool:
    """Whether `read` may lie in the memory of `written` while kernels run that store all of it.

    Of `read`, a store to an element of `written` alone may load the same element alone, and each
    element has to be stored once: stores of all elements are, if they run as often as there are
    elements. Sizes that are not known are refused, and conditions but those of an axis.
    """
    sizes = (*read.shape, *written.shape)
    if any(is_symbolic(size) for size in sizes) or read.dtype != written.dtype:
        return False
    stores = 0
    for kernel in kernels:
        if not all(_has_one_name(kernel, tensor) for tensor in (read, written)):
            return False
        found = _Tensors(kernel, read, written).stores(kernel.body, _Scope({}, {}))
        if found is None:
            return False
        stores += found
    return stores == prod(written.shape) == prod(read.shape)


def _has_one_name(kernel: Kernel, tensor: Tensor) -> bool:
    """Whether a kernel sees a tensor as its elements only, not as words of several of them."""
    pairs = zip(kernel.arguments, kernel.parameters, strict=True)
    names = [name for argument, name in pairs if argument is tensor]
    return len(names) <= 1 and all(name.dtype == tensor.dtype for name in names)


@dataclass(frozen=True, slots=True)
class _Scope:
    """Axes inside of loops: their values, and what others stand for."""

    ranges: Mapping[Axis, range]
    forms: Mapping[Axis, Scalar]

    def within(self, axis: Axis, begin: int, end: int) -> _Scope:
        """The scope inside of a loop, or a part of its iterations."""
        own = self.ranges.get(axis, range(begin, end))
        inside = range(max(begin, own.start), min(end, own.stop))
        return replace(self, ranges={**self.ranges, axis: inside})

    def knowing(self, axis: Axis, value: Scalar) -> _Scope:
        """The scope in which an axis stands for a value, which counts where it is affine."""
        form = substitute(value, self.forms)
        return (
            self if axis_affine(form) is None else replace(self, forms={**self.forms, axis: form})
        )

    def offset(self, tensor: Tensor, indices: Sequence[Scalar]) -> Affine | None:
        """The offset of an element, over the axes of loops."""
        return flat_form(tensor.shape, [substitute(index, self.forms) for index in indices])

    @property
    def iterations(self) -> int:
        """How often a statement runs."""
        return prod(len(each) for each in self.ranges.values())


class _Tensors:
    """Two tensors as a kernel names them; it may not have one or both."""

    def __init__(self, kernel: Kernel, read: Tensor, written: Tensor) -> None:
        named = dict(zip(kernel.arguments, kernel.parameters, strict=True))
        self._read, self._written = named.get(read), named.get(written)

    def stores(self, node: Statement, scope: _Scope) -> int | None:
        """How many elements a statement stores; None where that may be unsafe."""
        if not self._touches(node):
            return 0
        match node:
            case Prefetch():
                return 0
            case Block():
                return _sum(self.stores(part, scope) for part in node.statements)
            case Loop(begin=Literal(value=begin), end=Literal(value=end)) if is_integer(
                begin
            ) and is_integer(end):
                numbers, body = _numbers(node.axis, end, node.body) if begin == 0 else ({}, None)
                if body is None:
                    return self.stores(node.body, scope.within(node.axis, begin, end))
                for axis, count in numbers.items():
                    scope = scope.within(axis, 0, count)
                return self.stores(body, scope)
            case Let() if not self._is_loaded(node.value):
                return self.stores(node.body, scope.knowing(node.axis, node.value))
            case Branch():
                return self._branch(node, scope)
            case Allocate() | MatrixRegisters():
                return self.stores(node.body, scope)
            case Store() if node.buffer is self._written and self._is_elementwise(node, scope):
                return scope.iterations
        return None

    def _branch(self, node: Branch, scope: _Scope) -> int | None:
        """The stores of the first iterations of a loop, and those of the others."""
        match node.condition:
            case Binary(operation="lt", left=Axis() as left, right=Literal(value=limit)) if (
                is_integer(limit)
            ):
                axis = scope.forms.get(left, left)
                if not isinstance(axis, Axis) or axis not in scope.ranges:
                    return None
                whole = scope.ranges[axis]
                first = self.stores(node.then, scope.within(axis, whole.start, limit))
                if node.otherwise is None:
                    return first
                rest = self.stores(node.otherwise, scope.within(axis, limit, whole.stop))
                return _sum((first, rest))
        return None

    def _touches(self, node: Statement) -> bool:
        return not {self._read, self._written}.isdisjoint(touched_tensors(node))

    def _is_loaded(self, value: Scalar) -> bool:
        return any(load.tensor in (self._read, self._written) for load in loads(value))

    def _is_elementwise(self, store: Store, scope: _Scope) -> bool:
        """Whether a store loads of both tensors nothing but the element of one that it stores."""
        if any(isinstance(part, LaneReduce) for part in sub_expressions(store.value)):
            return False
        position = scope.offset(store.buffer, store.indices)
        if position is None or any(self._is_loaded(index) for index in store.indices):
            return False
        return all(
            load.tensor is self._read and scope.offset(load.tensor, load.indices) == position
            for load in loads(store.value)
            if load.tensor in (self._read, self._written)
        )


def _numbers(fused: Axis, count: int, body: Statement) -> tuple[dict[Axis, int], Statement | None]:
    """The loops that one of so many iterations was fused of, with their own numbers of iterations.

    Behind them is what they run; None where the loop was not fused
    (`relay_tune.schedule.loops.loop_shapes.numbered`).
    """
    numbers: dict[Axis, int] = {}
    rest = count
    while rest > 1 and isinstance(body, Let):
        stride, extent = _digit(body.value, fused) or (rest, None)
        extent = rest // stride if extent is None and rest == count else extent
        if extent is None or stride * extent != rest:
            break
        numbers[body.axis], rest, body = extent, stride, body.body
    return (numbers, body) if numbers and rest == 1 else ({}, None)


def _digit(value: Scalar, fused: Axis) -> tuple[int, int | None] | None:
    """A and B of (fused // A) % B; B is None where there is no %, all is None for other values."""
    stride, extent = 1, None
    match value:
        case Binary(operation="floormod", left=left, right=Literal(value=known)):
            value, extent = left, int(known)
    match value:
        case Binary(operation="floordiv", left=left, right=Literal(value=known)):
            value, stride = left, int(known)
    return (stride, extent) if value is fused else None


def _sum(parts: Iterable[int | None]) -> int | None:
    known = list(parts)
    numbers = [each for each in known if each is not None]
    return sum(numbers) if len(numbers) == len(known) else None
