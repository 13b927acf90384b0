"""Structural equality and hash: programs as such, whatever their variables are called.

Two programs are equal if they are the same up to the names of bound variables and type parameters.
Constants count by type, shape and bits; operators, constructors and global functions by name;
attributes by value, where those not given count as their defaults. Spans and inferred types do not
count, nor does the order of the definitions of a module. Sharing does not count either: a node
that is used twice equals two equal nodes (`f(%0, %0)` and `f(g(x), g(x))` are equal). Everything
here is near-linear in the number of distinct nodes and uses no recursion along data flow.
"""

from __future__ import annotations

from collections.abc import Iterable

from relay_tune.ir.expr import Expr
from relay_tune.ir.module import Module
from relay_tune.ir.structural_compare import Comparison, key_difference
from relay_tune.ir.structural_hash import expression_hash, text_hash
from relay_tune.ir.structural_keys import mapping_key, type_data_key, type_key
from relay_tune.ir.types import Type

Node = Module | Expr | Type


def structural_equal(left: Node, right: Node, map_free_vars: bool = False) -> bool:
    """Whether two modules, expressions or types are equal up to renaming.

    Free variables equal themselves only; with `map_free_vars`, they may correspond one to one.
    """
    return first_difference(left, right, map_free_vars) is None


def first_difference(left: Node, right: Node, map_free_vars: bool = False) -> str | None:
    """Where and how two programs differ first, such as `@main.body.callee: operator: add and
    subtract`; None if they are equal."""
    if isinstance(left, Module) and isinstance(right, Module):
        return _module_difference(left, right, map_free_vars)
    if isinstance(left, Expr) and isinstance(right, Expr):
        return Comparison(map_free_vars).difference(left, right)
    if isinstance(left, Type) and isinstance(right, Type):
        left_key, right_key = _closed_type_key(left), _closed_type_key(right)
        return None if left_key == right_key else f"type: {left_key} and {right_key}"
    return f"node: {left.__class__.__name__} and {right.__class__.__name__}"


def structural_hash(node: Node) -> str:
    """32 hexadecimal digits; equal for all that is structurally equal (with free variables
    mapped), and the same in every process and on every machine."""
    if isinstance(node, Module):
        return _module_hash(node)
    if isinstance(node, Expr):
        return expression_hash(node)
    return text_hash(type_key(node, lambda _: "#free"))


def _closed_type_key(type_: Type) -> str:
    return type_key(type_, lambda variable: f"#free{id(variable)}")


def _module_difference(left: Module, right: Module, map_free_vars: bool) -> str | None:
    left_attributes, right_attributes = mapping_key(left.attributes), mapping_key(right.attributes)
    if left_attributes != right_attributes:
        return f"attributes: {left_attributes} and {right_attributes}"
    difference = _names_difference("types", left.types, right.types)
    if difference is not None:
        return difference
    for name, data in left.types.items():
        found = key_difference(type_data_key(data), type_data_key(right.types[name]))
        if found is not None:
            return f"{name}.{found}"
    return _functions_difference(left, right, map_free_vars)


def _functions_difference(left: Module, right: Module, map_free_vars: bool) -> str | None:
    difference = _names_difference("functions", left.functions, right.functions)
    if difference is not None:
        return difference
    for name, function in left.functions.items():
        found = Comparison(map_free_vars).difference(function, right.functions[name])
        if found is not None:
            return f"@{name}.{found}"
    return None


def _names_difference(what: str, left: Iterable[str], right: Iterable[str]) -> str | None:
    left_names, right_names = sorted(left), sorted(right)
    if left_names == right_names:
        return None
    return f"{what}: {', '.join(left_names)} and {', '.join(right_names)}"


def _module_hash(module: Module) -> str:
    parts = [repr(mapping_key(module.attributes))]
    for name, data in sorted(module.types.items()):
        parts += [name, repr(type_data_key(data))]
    for name, function in sorted(module.functions.items()):
        parts += [name, expression_hash(function)]
    return text_hash(*parts)
