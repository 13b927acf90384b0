"""Name every intermediate value: what an operator or function takes is a variable or constant.

before:
    def @main(%x: Tensor[(4), float32], %positive: bool) {
      %0 = exp(%x);
      if (%positive) {
        add(%0, %x)
      } else {
        %1 = negative(%0);
        tanh(%1)
      }
    }

after:
    def @main(%x: Tensor[(4), float32], %positive: bool) {
      let %v = exp(%x);
      if (%positive) {
        add(%v, %x)
      } else {
        let %v_1 = negative(%v);
        tanh(%v_1)
      }
    }

The order of the bindings is that of evaluation. A value that several blocks use is bound in the
innermost block around them. What a block returns is not bound, so that calls in tail position stay
there. The form is that of C. Flanagan et al., "The essence of compiling with continuations", 1993.
"""

from __future__ import annotations

from typing import ClassVar

from relay_tune.ir.expr import Expr, Function, If, Let, Match
from relay_tune.ir.expression_scopes import opens_block, plan_scopes
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import children, post_order
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.language.let_blocks import LetBlocks, is_atom
from relay_tune.transform.module_pass import map_functions, with_body


@dataclass(frozen=True)
class ToANormalForm:
    """Binds every intermediate value with let."""

    name: ClassVar[str] = "to_a_normal_form"

    def __call__(self, module: Module) -> Module:
        """The module in A-normal form; types are kept."""
        return map_functions(module, lambda function: with_body(function, _named(function.body)))


def is_a_normal_form(expr: Expr) -> bool:
    """Whether every operand below an expression is a variable, a constant or a function's name."""
    return all(
        is_atom(child)
        for node in post_order(expr, enter=lambda node: not is_opaque_function(node))
        for child in _operands(node)
    )


def _named(body: Expr) -> Expr:
    return LetBlocks(plan_scopes(body, opens_block), lambda _: True).body()


def _operands(node: Expr) -> tuple[Expr, ...]:
    """The children that are values which the node uses."""
    match node:
        case Let():
            return () if not isinstance(node.value, Let) else (node.value,)
        case Function():
            return ()
        case If():
            return (node.condition,)
        case Match():
            return (node.value,)
        case _:
            return children(node)
