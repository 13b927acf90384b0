"""Make data of closures, and functions that match on them of what calls them.

before:
    def @twice(%f: fn (float32) -> float32, %x: float32) -> float32 {
      %0 = %f(%x);
      %f(%0)
    }

    def @main(%x: float32, %y: float32) {
      %0 = fn (%a: float32) -> float32 {
        add(%a, %y)
      };
      @twice(%0, %x)
    }

after:
    type Function {
      Closure(float32),
    }

    def @twice(%f: Function, %x: float32) -> float32 {
      let %v = @apply(%f, %x);
      @apply(%f, %v)
    }

    def @main(%x: float32, %y: float32) {
      let %v = Closure(%y);
      @twice(%v, %x)
    }

    def @apply(%f: Function, %a: float32) -> float32 {
      match (%f) {
        Closure(%y) => {
          add(%a, %y)
        },
      }
    }

There is one data type for each type of function, a constructor for each closure of the program with
the variables that it captures, and one function that applies them. Where calls reach some of the
closures only (`closure_flow.py`), there is one for each such choice. See J. Reynolds, "Definitional
interpreters for higher-order programming languages", 1972. The program is specialised first, and
constructors and functions that are used as values are made closures.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from relay_tune.errors import BuildError
from relay_tune.ir.expr import Function
from relay_tune.ir.module import Module
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.language.a_normal_form import ToANormalForm
from relay_tune.transform.language.closure_copies import with_copies
from relay_tune.transform.language.closure_data import ClosureData
from relay_tune.transform.language.closure_flow import ClosureFlow
from relay_tune.transform.language.eta_expand import EtaExpand
from relay_tune.transform.language.polymorphism import contains_function, refuse_data_with_functions
from relay_tune.transform.language.specialize import Specialize
from relay_tune.typing.infer import infer_types


@dataclass(frozen=True)
class Defunctionalize:
    """Leaves no function that is a value.

    Fields:
        entry: the function that the program is called by.
        copies: whether functions that take closures are copied for each choice of closures, so
            that more calls reach fewer of them.
    """

    name: ClassVar[str] = "defunctionalize"
    entry: str = "main"
    copies: bool = False

    def __call__(self, module: Module) -> Module:
        """The typed first-order module.

        Raises BuildError where the entry takes or returns functions, a data type holds some, or
        the module cannot be specialised.
        """
        refuse_data_with_functions(module, "first-order form")
        if self.entry in module.functions:
            _require_first_order(self.entry, module[self.entry])
        special = Specialize()(EtaExpand()(module))
        plain = ToANormalForm()(EtaExpand(global_functions=True)(special))
        if self.copies:
            plain = with_copies(plain, self.entry)
        data = ClosureData(plain, ClosureFlow(plain, self.entry))
        functions = {name: data.function(function) for name, function in plain.functions.items()}
        types = {**plain.types, **data.definitions()}
        functions.update(data.applications())
        return infer_types(replace(plain, functions=functions, types=types))


def _require_first_order(name: str, function: Function) -> None:
    types = [param.type for param in function.params] + [function.body.type]
    if any(type_ is not None and contains_function(type_) for type_ in types):
        raise BuildError(
            f"@{name} takes or returns functions, which would be data afterwards.",
            where=function.span,
            remedy="Call it from an entry that takes and returns tensors, tuples and data.",
        )
