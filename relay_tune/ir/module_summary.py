"""A module in a line, for the prompt and for notebooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from html import escape

from relay_tune.ir.expr import Call, Constant, Expr, Function, Var
from relay_tune.ir.operator import Operator
from relay_tune.ir.printer.types import type_text
from relay_tune.ir.traversal import post_order

MOST_NAMED = 5
"""So many operators, the most frequent ones, are named."""


def module_summary(functions: Mapping[str, Function]) -> str:
    """The main function, operators and weights of a program.

    Such as `@main(%x: Tensor[(4, 8), float32]), 2 operators (1 nn.dense, 1 nn.relu)`.
    """
    nodes = [node for function in functions.values() for node in post_order(function)]
    parts = [_signature(name, functions) for name in functions][:MOST_NAMED] or ["no functions"]
    if len(functions) > MOST_NAMED:
        parts.append(f"{len(functions)} functions in all")
    names = Counter(_operators(nodes))
    if names:
        most = [f"{count} {name}" for name, count in names.most_common(MOST_NAMED)]
        more = [] if len(names) <= MOST_NAMED else ["..."]
        parts.append(f"{names.total()} operators ({', '.join([*most, *more])})")
    weights = [node.data for node in nodes if isinstance(node, Constant)]
    if weights:
        elements, size = sum(each.size for each in weights), sum(each.nbytes for each in weights)
        parts.append(f"{elements:,} weights ({size / 1e6:.3g} MB)")
    return ", ".join(parts)


def module_html(functions: Mapping[str, Function], text: str) -> str:
    """The summary, and the program's text behind it."""
    head = escape(module_summary(functions))
    return f"<details><summary><b>Module</b> {head}</summary><pre>{escape(text)}</pre></details>"


def _signature(name: str, functions: Mapping[str, Function]) -> str:
    """The name of a function; of `main` also what it takes."""
    if name != "main":
        return f"@{name}"
    return f"@main({', '.join(map(_parameter, functions[name].params))})"


def _parameter(param: Var) -> str:
    return (
        f"%{param.name}"
        if param.annotation is None
        else (f"%{param.name}: {type_text(param.annotation)}")
    )


def _operators(nodes: Iterable[Expr]) -> Iterator[str]:
    for node in nodes:
        match node:
            case Call(callee=Operator(name=name)):
                yield name
