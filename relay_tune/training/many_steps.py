"""Many training steps as one program: a loop over batches, whose state is passed on.

    def @main(%x: Tensor[(steps, 32, 784), float32], %target, %weight, %number: int64) {
      @train(0, steps, %x, %target, %weight, %number, [])
    }
    def @train(%i, %steps, %x, %target, %weight, %number, %losses) {
      if (%i < %steps) {
        let %result = step(take(%x, %i, axis=0), take(%target, %i, axis=0), %weight, %number);
        @train(%i + 1, .., %result.1, %result.2, concatenate((%losses, [%result.0])))
      } else { (%losses, %weight, %number) }
    }

The call of itself is the last thing that the function does, so that the loop needs no stack; what a
step needs no more is memory of the next one; losses are appended in place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.dim import UNKNOWN, Dim, Symbol
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
from relay_tune.op_rules.typed import call, constant_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.training.program import StepProgram
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_text import type_text

ORDER = "order"
"""The input that says which samples make up each batch, if no other one is called so."""

_FUNCTION = "train"
_NUMBER = TensorType((), "int64")


@dataclass(frozen=True)
class ManySteps:
    """A program of many steps.

    Attributes:
        module: the program; its results are the losses, then all that a step passes on.
        order: the name of its input for the order; None where batches are stacked.
    """

    module: Module
    order: str | None


def many_steps(step: StepProgram, ordered: bool) -> ManySteps:
    """The program of many steps.

    Args:
        step: the program of one step.
        ordered: whether batches are rows of samples, chosen by one more input, int64
            [steps, batch]; otherwise the inputs of a batch are stacked along a new first axis.

    Raises InputError where the inputs of a batch cannot be given so.
    """
    params = {param.name: _type(param) for param in step.module.main.params}
    words = {word for type_ in params.values() for word in re.findall(r"\w+", str(type_.shape))}
    steps, samples = (Symbol(free_name(name, words)) for name in ("steps", "samples"))
    batch = {name: params[name] for name in step.batch}
    state = {name: params[name] for name in step.passed_on}
    if not ordered:
        stacks = {name: TensorType((steps, *t.shape), t.dtype) for name, t in batch.items()}
        return ManySteps(_program(_Loop(step, stacks, state, None)), None)
    size = _samples_of_a_batch(batch)
    order = free_name(ORDER, params)
    rows = {name: TensorType((samples, *t.shape[1:]), t.dtype) for name, t in batch.items()}
    rows[order] = TensorType((steps, size), "int64")
    return ManySteps(_program(_Loop(step, rows, state, order)), order)


@dataclass(frozen=True)
class _Loop:
    """What the loop consists of.

    Attributes:
        step: what is repeated.
        data: the inputs that all steps read, and their types.
        state: the inputs that a step passes on.
        order: the name of the one of `data` that chooses samples, if one does.
    """

    step: StepProgram
    data: Mapping[str, TensorType]
    state: Mapping[str, TensorType]
    order: str | None

    @property
    def name(self) -> str:
        """That of the function."""
        return free_name(_FUNCTION, self.step.module.functions)

    @property
    def result(self) -> TupleType:
        """What a step returns: the loss, and what it passes on."""
        type_ = self.step.module.main.body.type
        assert isinstance(type_, TupleType)
        return type_

    @property
    def losses(self) -> TensorType:
        """The losses so far."""
        loss = self.result.fields[0]
        assert isinstance(loss, TensorType)
        return TensorType((UNKNOWN,), loss.dtype)

    def inputs(self) -> dict[str, Var]:
        """New variables for all inputs of the program."""
        return {name: _variable(name, type_) for name, type_ in {**self.data, **self.state}.items()}


def _program(loop: _Loop) -> Module:
    """The loop, and the function that begins it."""
    inputs = loop.inputs()
    counted = inputs[loop.order or loop.step.batch[0]]
    count = call("take", call("shape_of", counted, dtype="int64"), _integer(0), axis=0)
    nothing = constant_of(np.zeros(0, loop.losses.dtype))
    begun = Call(GlobalVar(loop.name), (_integer(0), count, *inputs.values(), nothing))
    main = Function(tuple(inputs.values()), begun)
    module = loop.step.module.with_function(loop.name, _function(loop))
    return infer_types(module.with_function("main", main))


def _function(loop: _Loop) -> Function:
    """The function that makes step i, and those behind it."""
    i, steps = _variable("i", _NUMBER), _variable("steps", _NUMBER)
    inputs, losses = loop.inputs(), _variable("losses", loop.losses)
    state = [inputs[name] for name in loop.state]
    result = _variable("result", loop.result)
    loss, *new = (
        TupleGetItem(result, index, type=type_) for index, type_ in enumerate(loop.result.fields)
    )
    more = call("concatenate", Tuple((losses, call("reshape", loss, newshape=(1,)))), axis=0)
    data = [inputs[name] for name in loop.data]
    again = Call(GlobalVar(loop.name), (call("add", i, _integer(1)), steps, *data, *new, more))
    body = _with_batch(loop, i, inputs, result, again)
    choice = If(call("less", i, steps), body, Tuple((losses, *state)))
    returned = TupleType((loop.losses, *loop.state.values()))
    return Function((i, steps, *inputs.values(), losses), choice, returned)


def _with_batch(loop: _Loop, i: Var, inputs: Mapping[str, Var], result: Var, after: Expr) -> Expr:
    """`after`, with `result` bound to that of a step on batch i."""
    main = loop.step.module.main
    rows: Expr = i if loop.order is None else call("take", inputs[loop.order], i, axis=0)
    which = _variable("rows", rows.type)
    mode = "clip" if loop.order is None else "raise"  # i is in range; samples are the user's
    batch = {n: call("take", inputs[n], which, axis=0, mode=mode) for n in loop.step.batch}
    bound = {name: _variable(name, taken.type) for name, taken in batch.items()}
    values: dict[Expr, Expr] = {each: {**inputs, **bound}[each.name] for each in main.params}
    body: Expr = Let(result, rewrite(main.body, lambda node: values.get(node, node)), after)
    for name, taken in batch.items():
        body = Let(bound[name], taken, body)
    return Let(which, rows, body)


def _samples_of_a_batch(batch: Mapping[str, TensorType]) -> Dim:
    """The size of the first axis, which all inputs of a batch have; InputError otherwise."""
    sizes = {size for type_ in batch.values() for size in type_.shape[:1]}
    if len(sizes) != 1 or not all(type_.shape for type_ in batch.values()):
        found = ", ".join(f"{name}: {type_text(type_)}" for name, type_ in batch.items())
        raise InputError(
            f"The inputs of a batch have no first axis of samples in common: {found}.",
            remedy="Stack batches along a new first axis, and give no order.",
        )
    (size,) = sizes
    return size


def _type(param: Var) -> TensorType:
    type_ = param.annotation or param.type
    if not isinstance(type_, TensorType):
        raise InputError(
            f"The input {param.name} of a batch is no tensor, so it cannot be stacked.",
            remedy="Make single steps.",
        )
    return type_


def _variable(name: str, type_: Type | None) -> Var:
    return Var(name, type_, type=type_)


def _integer(value: int) -> Constant:
    return constant_of(np.asarray(value, dtype=np.int64))
