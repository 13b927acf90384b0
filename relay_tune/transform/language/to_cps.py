"""Continuation passing style: functions hand their result to a function that they are given.

before:
    def @square(%x: float32) -> float32 {
      multiply(%x, %x)
    }

    def @main(%x: float32) {
      %0 = @square(%x);
      add(%0, 1f)
    }

after:
    def @square[answer](%x: float32, %k: fn (float32) -> answer) -> answer {
      %0 = multiply(%x, %x);
      %k(%0)
    }

    def @main[answer](%x: float32, %k: fn (float32) -> answer) -> answer {
      %0 = fn (%v: float32) -> answer {
        %1 = add(%v, 1f);
        %k(%1)
      };
      @square[answer](%x, %0)
    }

All calls of functions are then in tail position, and the order of evaluation is written out. What
a program answers in the end is the type parameter `answer`. Operators and constructors are called
as before. See A. Appel, "Compiling with continuations", 1992.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from relay_tune.ir.expr import (
    Call,
    Clause,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Pattern,
    Var,
)
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.trampoline import Recursive, run
from relay_tune.ir.traversal import children, map_pattern_vars, rebuild
from relay_tune.ir.types import UNIT, FuncType, Type, TypeVar
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.language.a_normal_form import ToANormalForm
from relay_tune.transform.language.eta_expand import EtaExpand
from relay_tune.transform.language.let_blocks import is_atom
from relay_tune.transform.language.polymorphism import refuse_data_with_functions
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_terms import parts, with_parts

Converting = Recursive[Expr]


@dataclass(frozen=True)
class ToCps:
    """Gives every function, closures included, a continuation as its last parameter."""

    name: ClassVar[str] = "to_cps"

    def __call__(self, module: Module) -> Module:
        """The typed module in continuation passing style.

        Raises BuildError where a data type holds functions: it would need two definitions.
        """
        refuse_data_with_functions(module, "continuation passing form")
        plain = ToANormalForm()(EtaExpand()(module))
        functions = {
            name: function if function.is_primitive else _converted(function)
            for name, function in plain.functions.items()
        }
        return infer_types(replace(plain, functions=functions))


def _converted(function: Function) -> Function:
    answer = TypeVar("answer")
    made = run(_Conversion(answer).function(function))
    assert isinstance(made, Function)
    return replace(made, type_params=(*made.type_params, answer))


class _Conversion:
    """Converts one function of the module, whose answer has type `answer`."""

    def __init__(self, answer: TypeVar) -> None:
        self._answer = answer
        self._variables: dict[Var, Var] = {}

    def function(self, function: Function) -> Converting:
        """A function with one more parameter, for its continuation."""
        params = tuple(self._bind(param) for param in function.params)
        result = UNIT if function.type is None else _result(function.type)
        continuation = Var("k", FuncType((self._type(result),), self._answer))
        body = yield self._block(function.body, continuation)
        return Function(
            (*params, continuation),
            body,
            self._answer,
            function.type_params,
            function.attributes,
            span=function.span,
        )

    def _block(self, expr: Expr, continuation: Expr) -> Converting:
        """An expression in A-normal form whose value goes to `continuation`."""
        match expr:
            case Let() if _is_direct(expr.value):
                var = self._bind(expr.var, annotated=False)
                value = yield self._value(expr.value)
                return Let(var, value, (yield self._block(expr.body, continuation)))
            case Let():
                rest = yield self._rest(expr, continuation)
                return (yield self._block_into(expr.value, rest))
            case _ if _is_direct(expr):
                return Call(continuation, ((yield self._value(expr)),))
            case _:
                return (yield self._jump(expr, continuation))

    def _rest(self, let: Let, continuation: Expr) -> Converting:
        """The continuation that binds the variable of a let and goes on with its body."""
        var = self._bind(let.var)
        body = yield self._block(let.body, continuation)
        return Function((var,), body, self._answer)

    def _block_into(self, value: Expr, rest: Expr) -> Converting:
        if isinstance(value, Call):
            return (yield self._jump(value, rest))
        join = Var("join")
        return Let(join, rest, (yield self._jump(value, join)))

    def _jump(self, expr: Expr, continuation: Expr) -> Converting:
        """A call, or a choice, whose value goes to `continuation`."""
        match expr:
            case Call():
                callee = self._atom(expr.callee)
                arguments = (*map(self._atom, expr.arguments), continuation)
                types: tuple[Type, ...] = ()  # inferred: a value may be a function of the module
                if expr.type_arguments and isinstance(expr.callee, GlobalVar):
                    types = (*map(self._type, expr.type_arguments), self._answer)
                return Call(callee, arguments, None, types, span=expr.span)
            case If():
                yes = yield self._block(expr.true_branch, continuation)
                no = yield self._block(expr.false_branch, continuation)
                return If(self._atom(expr.condition), yes, no, span=expr.span)
            case Match():
                clauses = []
                for clause in expr.clauses:
                    pattern = self._pattern(clause.pattern)
                    body = yield self._block(clause.body, continuation)
                    clauses.append(Clause(pattern, body))
                value = self._atom(expr.value)
                return Match(value, tuple(clauses), expr.complete, span=expr.span)
            case _:
                raise AssertionError(expr)

    def _value(self, expr: Expr) -> Converting:
        """What is evaluated without a call of a function."""
        if isinstance(expr, Function) and not expr.is_primitive:
            return (yield self.function(expr))
        if is_atom(expr):
            return self._atom(expr)
        made = rebuild(expr, [self._atom(child) for child in children(expr)])
        if isinstance(made, Call):
            types = tuple(map(self._type, made.type_arguments))
            made = replace(made, type_arguments=types)
        return replace(made, type=None)

    def _atom(self, node: Expr) -> Expr:
        return self._variables.get(node, node) if isinstance(node, Var) else node

    def _bind(self, var: Var, annotated: bool = True) -> Var:
        known = (var.annotation or var.type) if annotated else var.annotation
        annotation = None if known is None else self._type(known)
        copy = self._variables[var] = Var(var.name, annotation, span=var.span)
        return copy

    def _pattern(self, pattern: Pattern) -> Pattern:
        return map_pattern_vars(pattern, self._bind)

    def _type(self, type_: Type) -> Type:
        """The type of a value after conversion: its functions take continuations."""
        if not parts(type_):
            return type_
        inner = tuple(map(self._type, parts(type_)))
        if not isinstance(type_, FuncType):
            return with_parts(type_, inner)
        continuation = FuncType((inner[-1],), self._answer)
        return FuncType((*inner[:-1], continuation), self._answer, type_.type_params)


def _is_direct(expr: Expr) -> bool:
    """Whether an expression is evaluated without a call of a function or a choice."""
    match expr:
        case Call():
            return isinstance(expr.callee, Operator | Constructor) or is_opaque_function(
                expr.callee
            )
        case If() | Match() | Let():
            return False
        case _:
            return True


def _result(type_: Type) -> Type:
    return type_.result if isinstance(type_, FuncType) else UNIT
