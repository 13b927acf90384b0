"""Functions that are computed again where their adjoints are wanted, so that nobody keeps a tape.

before:
    %h = @block_checkpoint(%x, %w)

after:
    let %h = @block(%x, %w);                      forward: what every call is
    ..
    let %x_again = again(%x, %d_h);               backward: once the adjoint of the result is known
    let %h_tape = @block_again(%x_again, %w);
    let %d_block = @block_backward(%h_tape, %d_h);

`again` keeps the recomputation behind the adjoint, and apart from what was computed before: passes
that join equal values see other ones. It is no kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.errors import BuildError
from relay_tune.ir.expr import Call, Constant, Expr, Function, GlobalVar, Var
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op_rules.gradient.rule import Adjoint
from relay_tune.op_rules.typed import call
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.adjoint_types import AdjointTypes
from relay_tune.transform.gradient.block_code import BlockCode
from relay_tune.transform.gradient.stand_ins import (
    bindings_of,
    called,
    holds_cells,
    is_checkpoint,
    result_of,
)
from relay_tune.transform.gradient.tapes import open_sizes
from relay_tune.transform.gradient.typed_nodes import (
    Binding,
    field_of,
    function_call,
    let_block,
    packed,
    parameter,
    tuple_of,
    type_of,
    variable,
)
from relay_tune.transform.language.fresh_copy import fresh_copy


@dataclass(frozen=True)
class Checkpoint:
    """A function that is computed again.

    Attributes:
        function: the one that stands for it.
        value: the call of the function itself, in the parameters of that one.
    """

    function: Function
    value: Call

    @staticmethod
    def of(function: Function) -> Checkpoint:
        """Read a function that stands for one."""
        whole = result_of(function.body)
        assert isinstance(whole, Call)
        values: dict[Expr, Expr] = dict(bindings_of(function.body).items())
        value = whole.arguments[0]
        while value in values:
            value = values[value]
        assert isinstance(value, Call)
        return Checkpoint(function, value)

    @property
    def name(self) -> str:
        """The name of the function itself."""
        assert isinstance(self.value.callee, GlobalVar)
        return self.value.callee.name

    def itself(self, call_: Call) -> Call:
        """The call of the function itself for a call of the one that stands for it."""
        return called(self.function, self.value, call_.arguments)

    def written(self) -> Expr:
        """The value, as a call of what the operator gives."""
        plain = fresh_copy(Function(self.function.params, self.value))
        return Call(call("checkpoint", plain), self.function.params, span=self.function.span)

    def require_no_cells(self, types: AdjointTypes) -> None:
        """BuildError where cells are shared with others: the second run would find other values."""
        for param in self.function.params:
            if holds_cells(type_of(param), types):
                raise self._refusal(f"takes %{param.name}, which holds a cell")
        if holds_cells(type_of(self.value), types):
            raise self._refusal("returns a cell")

    def _refusal(self, what: str) -> BuildError:
        return BuildError(
            f"The checkpoint of @{self.name} {what}.",
            where=self.function.span,
            notes=("Derivatives compute it twice, and the cell may hold another value by then.",),
            remedy="Give it the value of the cell, and have it return the new one.",
        )


def checkpoints(module: Module) -> dict[str, Checkpoint]:
    """Those of a module, by the names of the functions that stand for them."""
    return {
        name: Checkpoint.of(function)
        for name, function in module.functions.items()
        if is_checkpoint(function)
    }


def arguments_again(code: BlockCode, call_: Call, adjoint: Adjoint) -> list[Expr]:
    """The arguments of a call, to compute it again when the adjoint of its result is known.

    Where some are computed here, others stay what they are, such as weights: they are there all the
    time, and what is computed from them alone, as their layouts, serves both runs.
    """
    after = _tensors(adjoint)
    known = packed(after) if after else tuple_of(())
    computed = [each for each in call_.arguments if each in code.of.definitions]
    return [
        _again(code, each, known) if each in computed or not computed else each
        for each in call_.arguments
    ]


def function_again(function: Function, forward: str, tape: Type) -> Function:
    """The function that gives the tape alone of what `forward` gives, a result and a tape.

    The type of the result is told: a function that never returns says none itself.
    """
    params = tuple(parameter(each.name, type_of(each)) for each in function.params)
    type_ = type_of(function.body)
    run = variable("run", TupleType((type_, tape)))
    bindings: list[Binding] = [
        (run, function_call(forward, params, type_of(run))),
        (parameter("result", open_sizes(type_)), field_of(run, 0)),
    ]
    return Function(params, let_block(bindings, field_of(run, 1)), span=function.span)


def _again(code: BlockCode, value: Expr, after: Expr) -> Expr:
    type_ = type_of(value)
    match type_:
        case _ if isinstance(value, Constant):
            return value
        case TensorType():
            name = value.name if isinstance(value, Var) else "field"
            return code.bound(f"{name}_again", call("again", value, after))
        case TupleType():
            fields = (field_of(value, index) for index in range(len(type_.fields)))
            return tuple_of(_again(code, each, after) for each in fields)
        case _:
            return value


def _tensors(adjoint: Adjoint) -> Sequence[Expr]:
    """The tensors that an adjoint consists of, but for those in data types."""
    match adjoint:
        case None:
            return ()
        case tuple():
            return [tensor for part in adjoint for tensor in _tensors(part)]
    match type_of(adjoint):
        case TensorType():
            return (adjoint,)
        case TupleType(fields=fields):
            return [tensor for n in range(len(fields)) for tensor in _tensors(field_of(adjoint, n))]
        case _:
            return ()
