"""Give every use of a polymorphic function a copy of its own, in which all types are concrete.

before:
    def @identity[A](%x: A) -> A {
      %x
    }

    def @main(%a: float32, %b: bool) {
      %0 = @identity(%a);
      %1 = @identity(%b);
      (%0, %1)
    }

after:
    def @identity(%x: float32) -> float32 {
      %x
    }

    def @identity_1(%x: bool) -> bool {
      %x
    }

    def @main(%a: float32, %b: bool) {
      %0 = @identity(%a);
      %1 = @identity_1(%b);
      (%0, %1)
    }

This is monomorphisation. Functions that are used at the same types share a copy; those that are
not used disappear. Data types keep their parameters: what they stand for is in the types of values.
"""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import replace
from typing import ClassVar

from relay_tune.errors import BuildError
from relay_tune.ir.expr import Expr, Function, GlobalVar
from relay_tune.ir.module import Module
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.effects import closure_makers, effectful_nodes, module_has_effects
from relay_tune.transform.language.instances import Instance, InstanceCopy
from relay_tune.transform.language.polymorphism import is_polymorphic
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_terms import is_larger


@dataclass(frozen=True)
class Specialize:
    """Makes every function monomorphic.

    Fields:
        maximum_instances: how many copies of one function there may be.
        maximum_nodes: how many parts the types may have at which a function is used.
        maximum_depth: how deep these may be nested. A function that calls itself at ever larger
            types would need endlessly many copies.
    """

    name: ClassVar[str] = "specialize"
    maximum_instances: int = 1000
    maximum_nodes: int = 10_000
    maximum_depth: int = 100

    def __call__(self, module: Module) -> Module:
        """The typed module without type parameters of functions.

        Raises BuildError where `main` is polymorphic, or a value is used at several types in a
        way that no copies can express.
        """
        if "main" in module.functions and module.main.type_params:
            raise BuildError(
                "@main is polymorphic: the types of its inputs are not known.",
                where=module.main.span,
                remedy="Annotate its parameters with concrete types.",
            )
        instances = _Instances(module, self)
        return infer_types(replace(module, functions=instances.all()))


class _Instances:
    """The copies that are needed, found from the functions that are not polymorphic."""

    def __init__(self, module: Module, limits: Specialize) -> None:
        self._module = module
        self._limits = limits
        self._names: dict[str, dict[Instance, str]] = {name: {} for name in module.functions}
        self._has_effects = module_has_effects(module)
        self._harmless = closure_makers(module)
        self._pending: deque[tuple[str, Instance]] = deque()

    def all(self) -> dict[str, Function]:
        """The functions of the specialised module by name, copies of one beside each other."""
        for name, function in self._module.functions.items():
            if not is_polymorphic(function.type):
                self._names[name][Instance()] = name
                self._pending.append((name, Instance()))
        made: dict[tuple[str, Instance], Function] = {}
        while self._pending:
            name, instance = key = self._pending.popleft()
            made[key] = InstanceCopy(self.use, self._has_effect).function(
                self._module[name], instance
            )
        return {
            copy: made[name, instance]
            for name, copies in self._names.items()
            for instance, copy in copies.items()
        }

    def _has_effect(self, value: Expr) -> bool:
        return self._has_effects and value in effectful_nodes(value, self._harmless)

    def use(self, var: GlobalVar, instance: Instance) -> GlobalVar:
        """The name of the copy of a function for these types."""
        if self._is_too_large(instance):
            raise _without_end(f"@{var.name} is used at ever larger types.", var)
        copies = self._names[var.name]
        if instance not in copies:
            if len(copies) >= self._limits.maximum_instances:
                most = self._limits.maximum_instances
                raise _without_end(f"@{var.name} is used at more than {most} types.", var)
            copies[instance] = self._free_name(var.name, len(copies))
            self._pending.append((var.name, instance))
        return GlobalVar(copies[instance], span=var.span)

    def _is_too_large(self, instance: Instance) -> bool:
        nodes, depth = self._limits.maximum_nodes, self._limits.maximum_depth
        result = () if instance.result is None else (instance.result,)
        return any(is_larger(type_, nodes, depth) for type_ in (*instance.arguments, *result))

    def _free_name(self, name: str, count: int) -> str:
        if count == 0:
            return name
        taken = {copy for copies in self._names.values() for copy in copies.values()}
        taken.update(self._module.functions)
        return next(
            candidate
            for number in itertools.count(count)
            if (candidate := f"{name}_{number}") not in taken
        )


def _without_end(message: str, var: GlobalVar) -> BuildError:
    return BuildError(
        message,
        where=var.span,
        notes=("A function that calls itself at ever larger types has no last copy.",),
        remedy="Write the recursion so that it calls itself at one type, or run the program with "
        "rt.interpret, which makes no copies.",
    )
