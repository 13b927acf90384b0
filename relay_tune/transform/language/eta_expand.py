"""Write constructors, and functions of the module, that are used as values as closures.

before:
    type Box[A] {
      Full(A),
    }

    def @apply[A, B](%f: fn (A) -> B, %x: A) -> B {
      %f(%x)
    }

    def @main(%x: int32) {
      @apply(Full, %x)
    }

after:
    type Box[A] {
      Full(A),
    }

    def @apply[A, B](%f: fn (A) -> B, %x: A) -> B {
      %f(%x)
    }

    def @main(%x: int32) {
      %0 = fn [A](%a: A) -> Box[A] {
        Full[A](%a)
      };
      @apply[int32, Box[int32]](%0, %x)
    }

Afterwards constructors are only called, which back ends know how to do.
"""

from __future__ import annotations

from dataclasses import replace
from string import ascii_lowercase
from typing import ClassVar

from relay_tune.ir.expr import Call, Constructor, Expr, Function, GlobalVar, Var
from relay_tune.ir.module import Module
from relay_tune.ir.types import FuncType, Type, TypeVar
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.language.operands import rewrite_operands
from relay_tune.transform.module_pass import map_functions
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_terms import substitute_vars


@dataclass(frozen=True)
class EtaExpand:
    """Makes closures of what is used as a function without being called.

    Fields:
        constructors: whether constructors are expanded.
        global_functions: whether functions of the module are.
    """

    name: ClassVar[str] = "eta_expand"
    constructors: bool = True
    global_functions: bool = False

    def __call__(self, module: Module) -> Module:
        """The typed module in which the chosen ones are only called."""
        expanded = map_functions(module, lambda each: rewrite_operands(each, self._closure))
        return module if expanded is module else infer_types(expanded)

    def _closure(self, value: Expr) -> Expr:
        chosen = (self.constructors and isinstance(value, Constructor)) or (
            self.global_functions and isinstance(value, GlobalVar)
        )
        return closure_of(value) if chosen else value


def closure_of(value: Expr) -> Expr:
    """A function that calls `value`; `value` itself if its type is not known."""
    type_ = value.type
    if not isinstance(type_, FuncType):
        return value
    variables = tuple(TypeVar(var.name, var.kind) for var in type_.type_params)
    renamed: dict[Type, Type] = dict(zip(type_.type_params, variables, strict=True))
    types = [substitute_vars(part, renamed) for part in (*type_.params, type_.result)]
    params = tuple(
        Var(ascii_lowercase[index % 26], param) for index, param in enumerate(types[:-1])
    )
    call = Call(replace(value, type=None), params, None, variables)
    return Function(params, call, types[-1], variables)
