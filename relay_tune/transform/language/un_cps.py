"""Give a program in continuation passing style an entry that returns its answer.

before:
    def @main[answer](%x: float32, %k: fn (float32) -> answer) -> answer {
      %0 = multiply(%x, %x);
      %k(%0)
    }

after:
    def @main_cps[answer](%x: float32, %k: fn (float32) -> answer) -> answer {
      %0 = multiply(%x, %x);
      %k(%0)
    }

    def @main(%x: float32) -> float32 {
      %0 = fn (%result: float32) -> float32 {
        %result
      };
      @main_cps[float32](%x, %0)
    }

Functions that the entry takes or returns stay in continuation passing style. Partial evaluation
makes a direct program of what is left.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import ClassVar

from relay_tune.errors import BuildError
from relay_tune.ir.expr import Call, Expr, Function, GlobalVar, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import rewrite
from relay_tune.ir.types import FuncType, Type, TypeVar
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import with_body
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_terms import substitute_vars


@dataclass(frozen=True)
class UnCps:
    """Calls the entry with the continuation that returns what it is given."""

    name: ClassVar[str] = "un_cps"
    entry: str = "main"

    def __call__(self, module: Module) -> Module:
        """The typed module with a direct entry; BuildError if the entry takes no continuation."""
        converted = module[self.entry]
        answer, result = _answer_and_result(converted)
        names = (f"{self.entry}_cps{number or ''}" for number in itertools.count())
        target = next(name for name in names if name not in module.functions)

        def renamed(function: Function) -> Function:
            return with_body(function, rewrite(function.body, visit))

        def visit(node: Expr) -> Expr:
            is_entry = isinstance(node, GlobalVar) and node.name == self.entry
            return GlobalVar(target) if is_entry else node

        functions: dict[str, Function] = {}
        for name, function in module.functions.items():
            functions[target if name == self.entry else name] = renamed(function)
            if name == self.entry:
                functions[name] = _direct(converted, GlobalVar(target), answer, result)
        return infer_types(replace(module, functions=functions))


def _answer_and_result(function: Function) -> tuple[TypeVar, Type]:
    """The type variable of the answer, and what the continuation of a function takes."""
    type_ = function.type
    if isinstance(type_, FuncType) and type_.params:
        continuation, answer = type_.params[-1], type_.result
        takes_one = isinstance(continuation, FuncType) and len(continuation.params) == 1
        if takes_one and isinstance(answer, TypeVar) and isinstance(continuation, FuncType):
            return answer, continuation.params[0]
    raise BuildError(
        "The function is not in continuation passing style.",
        where=function.span,
        remedy="Run to_cps first.",
    )


def _direct(function: Function, target: GlobalVar, answer: TypeVar, result: Type) -> Function:
    instance: dict[Type, Type] = {answer: result}
    params = tuple(
        Var(param.name, None if param.type is None else substitute_vars(param.type, instance))
        for param in function.params[:-1]
    )
    returned = Var("result", result)
    identity = Function((returned,), returned, result)
    others = tuple(var for var in function.type_params if var is not answer)
    types = tuple(result if var is answer else var for var in function.type_params)
    return Function(params, Call(target, (*params, identity), None, types), result, others)
