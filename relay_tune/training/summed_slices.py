"""Gradients of a batch as sums over its slices: a loop that passes on what was added up so far.

    def @slices(%i, %x, %target, %w, %loss, %d_w) {
      if (%i < 3) {
        let %result = @gradient(%x, %target, %w, %i);
        @slices(%i + 1, %x, %target, %w, %loss + %result.0, %d_w + %result.1.0)
      } else { (%loss, (%d_w,)) }
    }

The first slice begins the sums. They take memory that no slice does, that of the parameters; each
slice adds to them in place. The last of, here, four slices is none of the loop's: the optimiser
uses what it adds to the sums at once, in the kernels that compute it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from relay_tune.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
)
from relay_tune.ir.module import Module
from relay_tune.ir.names import free_name
from relay_tune.ir.traversal import rewrite
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op.elements import wide_dtype
from relay_tune.op_rules.typed import call, constant_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.training.optimisers import converted, element_type
from relay_tune.training.slices import SlicedLoss

FUNCTION = "slices"
"""The function that adds up, if no other one is called so."""

ENDS = 2
"""Slices that are none of the loop's: the first, and the last."""

Following = Callable[[Sequence[Expr]], Expr]
"""What follows a slice, of its loss and gradients."""


@dataclass(frozen=True)
class SummedSlices:
    """What adds up the gradients of slices.

    Attributes:
        functions: the loop, by name.
        value: the loss and its gradients, an expression of the inputs of a step.
        type: of the value.
    """

    functions: Mapping[str, Function]
    value: Expr
    type: TupleType


def summed_slices(
    found: Module, sliced: SlicedLoss, gradient: str, params: Mapping[str, Var]
) -> SummedSlices:
    """The sum of the gradients of all slices.

    Args:
        found: its main gives the loss and the gradients of a slice.
        sliced: what the slice is of.
        gradient: the name by which the main of `found` is called.
        params: the inputs of the step, by name.
    """
    type_ = found.main.body.type
    assert isinstance(type_, TupleType)
    *given, _ = found.main.params
    loop = _Loop(free_name(FUNCTION, found.functions), gradient, type_, sliced.parts)
    inner = [_variable(each.name, each.annotation or each.type) for each in given]
    bound = {var.name: _variable(var.name, var.type) for var, _ in sliced.whole}
    outer = [bound[each.name] if each.name in bound else params[each.name] for each in given]
    value = loop.value(outer)
    for var, whole in reversed(sliced.whole):
        renamed = rewrite(whole, lambda e: params[e.name] if isinstance(e, Var) else e)
        value = Let(bound[var.name], renamed, value)
    functions = {loop.name: loop.function(inner)} if loop.is_needed else {}
    return SummedSlices(functions, value, loop.returned)


@dataclass(frozen=True)
class _Loop:
    """What the loop consists of.

    Attributes:
        name: of its function.
        gradient: the function of a slice.
        result: what that returns: the loss, and the gradients.
        parts: the number of slices.
    """

    name: str
    gradient: str
    result: TupleType
    parts: int

    @property
    def is_needed(self) -> bool:
        """Whether there are slices between the first and the last one."""
        return self.parts > ENDS

    @property
    def sums(self) -> tuple[TensorType, ...]:
        """The types of what is added up: gradients in at least 32 bits."""
        loss, gradients = self.result.fields
        assert isinstance(loss, TensorType) and isinstance(gradients, TupleType)
        tensors = [each for each in gradients.fields if isinstance(each, TensorType)]
        return (loss, *(TensorType(each.shape, wide_dtype(each.dtype)) for each in tensors))

    @property
    def returned(self) -> TupleType:
        """The type of the sums, as a slice has them."""
        loss, *gradients = self.sums
        return TupleType((loss, TupleType(tuple(gradients))))

    def value(self, given: Sequence[Expr]) -> Expr:
        """The first slice, the loop over the next ones, and the last slice."""
        first = self._slice(
            _integer(0),
            given,
            lambda parts: (
                self._again(_integer(1), given, parts) if self.is_needed else _as_returned(parts)
            ),
        )
        so_far = _variable("so_far", self.returned)
        loss, gradients = _fields(so_far)
        sums = (loss, *_fields(gradients))
        last = self._slice(
            _integer(self.parts - 1), given, lambda parts: _as_returned(_added(sums, parts))
        )
        return Let(so_far, first, last)

    def function(self, given: Sequence[Var]) -> Function:
        """The function that adds slice i, and those behind it."""
        i = _variable("i", TensorType((), "int64"))
        sums = [_variable(f"sum_{index}", type_) for index, type_ in enumerate(self.sums)]

        def more(parts: Sequence[Expr]) -> Expr:
            return self._again(call("add", i, _integer(1)), given, _added(sums, parts))

        again = self._slice(i, given, more)
        body = If(call("less", i, _integer(self.parts - 1)), again, _as_returned(sums))
        return Function((i, *given, *sums), body, self.returned)

    def _again(self, i: Expr, given: Sequence[Expr], sums: Sequence[Expr]) -> Expr:
        """A call of the loop."""
        return Call(GlobalVar(self.name), (i, *given, *sums))

    def _slice(self, i: Expr, given: Sequence[Expr], following: Following) -> Expr:
        """Slice i, and what follows it."""
        result = _variable("result", self.result)
        loss, gradients = _fields(result)
        parts: list[Expr] = [loss]
        for part in _fields(gradients):
            parts.append(converted(part, wide_dtype(element_type(part))))
        asked = Call(GlobalVar(self.gradient), (*given, i))
        return Let(result, asked, following(parts))


def _added(sums: Sequence[Expr], parts: Sequence[Expr]) -> list[Expr]:
    return [call("add", old, new) for old, new in zip(sums, parts, strict=True)]


def _as_returned(sums: Sequence[Expr]) -> Tuple:
    """The loss, and the gradients as a tuple."""
    return Tuple((sums[0], Tuple(tuple(sums[1:]))))


def _fields(value: Expr) -> list[TupleGetItem]:
    """The fields of a tuple."""
    assert isinstance(value.type, TupleType)
    return [TupleGetItem(value, index, type=each) for index, each in enumerate(value.type.fields)]


def _variable(name: str, type_: Type | None) -> Var:
    return Var(name, type_, type=type_)


def _integer(value: int) -> Constant:
    return constant_of(np.asarray(value, dtype=np.int64))
