"""Evaluate at build time whatever of a program is known then, and keep the rest.

before:
    def @power(%n: int32, %x: float32) -> float32 {
      %0 = less_equal(%n, 0);
      if (%0) {
        1f
      } else {
        %1 = subtract(%n, 1);
        %2 = @power(%1, %x);
        multiply(%x, %2)
      }
    }

    def @main(%x: float32) {
      @power(3, %x)
    }

after:
    def @main(%x: float32) {
      let %v = multiply(%x, 1f);
      let %v_1 = multiply(%x, %v);
      multiply(%x, %v_1)
    }

Tuples, data, closures and cells that the program itself makes are known, and so are the branches
and clauses that they decide. Functions are unfolded where they are called; recursive ones as long
as an argument is known and becomes smaller. Effects stay, in their order. The program is
specialised and brought to A-normal form first, and freed of what is dead at the end.

The evaluator is online, with a store for cells, after P. Thiemann and D. Dussart, "Partial
evaluation for higher-order languages with state", 1999.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from relay_tune.ir.expr import Function
from relay_tune.ir.module import Module
from relay_tune.ir.trampoline import run
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.eliminate_dead_code import EliminateDeadCode
from relay_tune.transform.language.a_normal_form import ToANormalForm
from relay_tune.transform.language.partial_evaluator import PartialEvaluator
from relay_tune.transform.language.specialize import Specialize
from relay_tune.transform.language.unfolding import Unfolding, recursive_functions
from relay_tune.typing.infer import infer_types


@dataclass(frozen=True)
class PartialEvaluate:
    """Evaluates what is known.

    Fields:
        maximum_unfoldings: how many calls are unfolded for each function of the module.
        maximum_depth: how deep unfolded calls may be nested.
    """

    name: ClassVar[str] = "partial_evaluate"
    maximum_unfoldings: int = 1000
    maximum_depth: int = 100

    def __call__(self, module: Module) -> Module:
        """The typed module; BuildError where it cannot be specialised."""
        plain = ToANormalForm()(Specialize()(module))
        recursive = recursive_functions(plain)
        functions: dict[str, Function] = {}
        for name, function in plain.functions.items():
            unfolding = Unfolding(recursive, self.maximum_unfoldings, self.maximum_depth)
            functions[name] = run(PartialEvaluator(plain, unfolding).whole(function))
        return EliminateDeadCode()(infer_types(replace(plain, functions=functions)))
