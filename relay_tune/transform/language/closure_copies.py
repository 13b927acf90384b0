"""Copy functions that take closures for each choice of closures that calls give them.

before:
    def @twice(%f: fn (float32) -> float32, %x: float32) { %f(%f(%x)) }

    def @main(%x: float32) {
      %0 = fn (%a: float32) { tanh(%a) };
      %1 = @twice(%0, %x);
      %2 = fn (%b: float32) { exp(%b) };
      @twice(%2, %1)
    }

after:
    def @twice(%f: fn (float32) -> float32, %x: float32) { %f(%f(%x)) }

    def @twice_1(%f: fn (float32) -> float32, %x: float32) { %f(%f(%x)) }

    def @main(%x: float32) {
      ..
      %1 = @twice(%0, %x);
      ..
      @twice_1(%2, %1)
    }

Afterwards `ClosureFlow`, which looks at each function once, tells apart what calls of the same
function reach. Functions that call each other are copied together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace

from relay_tune.ir.expr import Call, Expr, Function, GlobalVar
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order, rewrite_with_original
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.transform.language.closure_flow import ClosureFlow
from relay_tune.transform.language.fresh_copy import fresh_copy
from relay_tune.transform.language.polymorphism import contains_function
from relay_tune.transform.module_pass import with_body
from relay_tune.typing.call_graph import recursive_groups
from relay_tune.typing.infer import infer_types

MAXIMUM_FUNCTIONS = 1000
"""So many functions a module may have for more copies to be made."""

Choice = tuple[str, tuple[frozenset[Expr], ...]]
"""A function and the closures, or what may hold some, that it is given."""


def with_copies(module: Module, entry: str) -> Module:
    """The typed module, in A-normal form, with copies for all choices: those of functions that a
    copy calls may differ in turn."""
    while len(module.functions) <= MAXIMUM_FUNCTIONS:
        copied = _copied(module, ClosureFlow(module, entry))
        if copied is module:
            return module
        module = infer_types(copied)
    return module


def _copied(module: Module, flow: ClosureFlow) -> Module:
    """The module with a copy for each choice of the calls that there are; itself if each function
    has one."""
    callees: dict[Expr, str] = {}
    copies: dict[str, dict[str, str]] = {}
    taken = set(module.functions)
    for group in recursive_groups(module):
        calls: dict[Choice, list[Call]] = {}
        for call in _calls_from_outside(module, group):
            calls.setdefault(_choice(module, flow, call), []).append(call)
        for several in list(calls.values())[1:]:
            names = {name: _free(name, taken) for name in group}
            copies.update((new, names) for new in names.values())
            callees.update((call, names[_callee(call)]) for call in several)
    if not callees:
        return module
    functions = {name: _renamed(each, callees, {}) for name, each in module.functions.items()}
    originals = {new: old for names in copies.values() for old, new in names.items()}
    for new, names in copies.items():
        copy = fresh_copy(_renamed(functions[originals[new]], {}, names))
        assert isinstance(copy, Function)
        functions[new] = copy
    return replace(module, functions=functions)


def _calls_from_outside(module: Module, group: tuple[str, ...]) -> Iterator[Call]:
    """The calls of functions that take closures by others than those of their group."""
    wanted = {name for name in group if any(map(_holds_closures, module[name].params))}
    for name, function in module.functions.items():
        if not wanted or name in group:
            continue
        for node in post_order(function.body, enter=lambda node: not is_opaque_function(node)):
            if isinstance(node, Call) and _callee(node) in wanted:
                yield node


def _choice(module: Module, flow: ClosureFlow, call: Call) -> Choice:
    name = _callee(call)
    given = zip(module[name].params, call.arguments, strict=True)
    return name, tuple(flow.values(each) for param, each in given if _holds_closures(param))


def _renamed(function: Function, callees: Mapping[Expr, str], names: Mapping[str, str]) -> Function:
    """A function that calls others: by the calls, or by their names."""

    def visit(original: Expr, node: Expr) -> Expr:
        if not isinstance(node, Call) or not isinstance(node.callee, GlobalVar):
            return node
        old = node.callee.name
        new = callees.get(original, names.get(old, old))
        return node if new == old else replace(node, callee=replace(node.callee, name=new))

    if function.is_primitive:
        return function
    body = rewrite_with_original(
        function.body, visit, enter=lambda node: not is_opaque_function(node)
    )
    return with_body(function, body)


def _holds_closures(param: Expr) -> bool:
    return param.type is not None and contains_function(param.type)


def _callee(call: Call) -> str:
    return call.callee.name if isinstance(call.callee, GlobalVar) else ""


def _free(name: str, taken: set[str]) -> str:
    """A name that is not taken; it is afterwards."""
    numbered = (f"{name}_{number}" for number in itertools.count(1))
    new = next(each for each in numbered if each not in taken)
    taken.add(new)
    return new
