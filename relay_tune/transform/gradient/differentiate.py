"""Make functions of the program of its derivatives.

before:
    def @square(%x: float32) -> float32 {
      multiply(%x, %x)
    }

    def @main(%x: float32) {
      %0 = grad(@square);
      %0(%x)
    }

after:
    def @square_gradient(%x: float32) {
      let %result = multiply(%x, %x);
      ..
      (%result, (%d_x,))
    }

    def @main(%x: float32) {
      @square_gradient(%x)
    }

Functions that are values become data first (`defunctionalize`). Where functions whose derivatives
are asked for ask for derivatives themselves, these come first: what a derivative is made of is an
ordinary program.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from relay_tune.errors import BuildError, RelayError, Span
from relay_tune.ir.expr import Expr, Function, GlobalVar
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.gradient.requests import DERIVATIVE
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.calls import SMALL, differentiated_with, inlined, reachable
from relay_tune.transform.gradient.level import differentiated
from relay_tune.transform.gradient.names import Names
from relay_tune.transform.gradient.requests import has_requests, with_derivatives
from relay_tune.transform.gradient.stand_ins_written import (
    stand_ins,
    stood_for,
    with_operators,
    without_stand_ins,
)
from relay_tune.transform.language.defunctionalize import Defunctionalize
from relay_tune.transform.language.inline_local import InlineLocal
from relay_tune.transform.language.operands import rewrite_operands
from relay_tune.transform.language.polymorphism import contains_function, is_polymorphic
from relay_tune.transform.language.specialize import Specialize
from relay_tune.typing.infer import infer_types

SMALL_WITH_BACKWARD = 4 * SMALL
"""Nodes of the functions that compute small ones again and their adjoints, which are written in
place of each of several calls as those are: backward code has two to three nodes for one."""


@dataclass(frozen=True)
class Differentiate:
    """Leaves no call of grad, vjp or jvp.

    Fields:
        keep_rules: whether functions keep rules of their own and checkpoints, for derivatives of
            what it makes.
    """

    name: ClassVar[str] = "differentiate"
    keep_rules: bool = False

    def __call__(self, module: Module) -> Module:
        """The typed module in which derivatives are ordinary functions.

        Raises BuildError, with the location, where something has no derivative.
        """
        if not has_requests(module):
            return module
        try:
            return _differentiated(module, self.keep_rules)
        except RelayError as error:
            if error.source_text is None and isinstance(error.where, Span):
                error.source_text = module.sources.get(error.where.source)
            raise


def _differentiated(module: Module, keep_rules: bool) -> Module:
    if any(is_polymorphic(function.type) for function in module.functions.values()):
        module = Specialize()(module)
    module = with_derivatives(module, Names.of(module))
    if _has_function_values(module):
        module = _first_order(_still_used(module))
    module = _inlined(module)
    made: list[str] = []
    recomputing: set[str] = set()
    while pending := _ready(module):
        module, again = differentiated(module, pending)
        module = infer_types(module)
        made += pending
        recomputing |= again
    standing, small = stand_ins(module), stood_for(module)
    if standing and keep_rules:
        module = infer_types(with_operators(module))
    elif standing:
        module = infer_types(without_stand_ins(module))
        small.update(standing)
    module = _still_used(module)
    module = _still_used(inlined(module, [*made, *standing], list(module.functions), most=0))
    if not standing:
        return module
    module = _still_used(inlined(module, small, list(module.functions)))
    return _still_used(
        inlined(module, recomputing, list(module.functions), most=SMALL_WITH_BACKWARD)
    )


def _first_order(module: Module) -> Module:
    """The module with data in place of closures. Where derivatives would be part of what they are
    derivatives of, functions are written in place of calls or copied: some only seem to be, as a
    function that calls the closures that it is given reaches those of other calls, too."""
    made = Defunctionalize()(module)
    if any(name in differentiated_with(made, name) for name in _requests(made)):
        return Defunctionalize(copies=True)(InlineLocal()(module))
    return made


def _requests(module: Module) -> list[str]:
    """The functions that stand for derivatives."""
    return [
        name
        for name, function in module.functions.items()
        if any(DERIVATIVE.rule_of(node) for node in post_order(function.body))
    ]


def _ready(module: Module) -> list[str]:
    """Those that need no other ones first."""
    open_ = _requests(module)
    ready = [name for name in open_ if not differentiated_with(module, name) & set(open_)]
    if open_ and not ready:
        raise BuildError(
            f"The derivative @{open_[0]} is part of the function that it is the derivative of.",
            where=module[open_[0]].span,
            notes=(
                "A closure counts as called wherever one of several is called, of which it may be "
                "one.",
            ),
            remedy="Differentiate a function that does not ask for its own derivative; give "
            "closures that ask for derivatives to functions of the module, or call them directly.",
        )
    return ready


def _has_function_values(module: Module) -> bool:
    """Whether functions are values in what is differentiated."""
    names = {used for name in _requests(module) for used in {name} | reachable(module, name)}
    return any(_uses_function_values(module[name]) for name in names)


def _uses_function_values(function: Function) -> bool:
    found: list[Expr] = []

    def note(node: Expr) -> Expr:
        if isinstance(node, GlobalVar):
            found.append(node)
        return node

    rewrite_operands(function, note)
    types = [param.type for param in function.params]
    closures = post_order(function.body, enter=lambda node: not is_opaque_function(node))
    return (
        bool(found)
        or any(type_ is not None and contains_function(type_) for type_ in types)
        or any(isinstance(n, Function) and not n.is_primitive for n in closures)
    )


def _inlined(module: Module) -> Module:
    """The module in which what is differentiated calls no function that can be written there."""
    requests = _requests(module)
    names = {used for name in requests for used in {name} | reachable(module, name)}
    names -= set(requests)
    return inlined(module, names, names)


def _still_used(module: Module) -> Module:
    """Without functions that `main`, if there is one, does not use."""
    if "main" not in module.functions:
        return module
    used = {"main"} | reachable(module, "main")
    functions = {name: each for name, each in module.functions.items() if name in used}
    return replace(module, functions=functions)
