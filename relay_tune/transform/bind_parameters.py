"""Turn inputs of the program into constants.

before: fn (%x, %weight) { nn.dense(%x, %weight) }
after:  fn (%x) { nn.dense(%x, meta[Constant][0]) }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.expr import Expr, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import rewrite
from relay_tune.op_rules.typed import constant_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.type_text import type_text


@dataclass(frozen=True)
class BindParameters:
    """Replaces parameters of `function` by `values`, given by name."""

    values: Mapping[str, np.ndarray]
    function: str = "main"
    name: ClassVar[str] = "bind_parameters"

    def __call__(self, module: Module) -> Module:
        """The module with fewer inputs; InputError where a name or a type does not fit."""
        function = module[self.function]
        by_name = {var.name: var for var in function.params}
        unknown = [name for name in self.values if name not in by_name]
        if unknown:
            known = ", ".join(by_name)
            raise InputError(
                f"@{self.function} has no parameter {', '.join(unknown)}.",
                notes=(f"Its parameters are: {known}.",),
                remedy="Use one of these names.",
            )
        constants = {by_name[name]: _fitting(by_name[name], v) for name, v in self.values.items()}

        def visit(node: Expr) -> Expr:
            return constants.get(node, node) if isinstance(node, Var) else node

        bound = replace(
            function,
            params=tuple(var for var in function.params if var not in constants),
            body=rewrite(function.body, visit),
            type=None,
        )
        return module.with_function(self.function, bound)


def _fitting(var: Var, value: np.ndarray) -> Expr:
    bound = constant_of(value)
    wanted = var.annotation
    if wanted is not None and wanted != bound.type and bound.type is not None:
        raise InputError(
            f"The value of %{var.name} is {type_text(bound.type)}, not {type_text(wanted)}.",
            remedy="Give an array of the declared shape and type.",
        )
    return bound
