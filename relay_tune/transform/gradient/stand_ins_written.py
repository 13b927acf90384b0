"""What is left of functions that stand for others when derivatives are programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from relay_tune.ir.expr import Call, Function, GlobalVar
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.transform.gradient.checkpoints import Checkpoint
from relay_tune.transform.gradient.ruled import RuledFunction
from relay_tune.transform.gradient.stand_ins import is_checkpoint, is_stand_in, with_value_alone
from relay_tune.transform.module_pass import with_body


def stand_ins(module: Module) -> list[str]:
    """The functions that stand for others."""
    return [name for name, function in module.functions.items() if is_stand_in(function)]


def stood_for(module: Module) -> set[str]:
    """The functions that those call which stand for others."""
    return {
        node.callee.name
        for name in stand_ins(module)
        for node in post_order(module[name].body)
        if isinstance(node, Call) and isinstance(node.callee, GlobalVar)
    }


def without_stand_ins(module: Module) -> Module:
    """The module in which functions that stand for others call these, and nothing else."""
    return _with_each(module, lambda _, function: with_value_alone(function))


def with_operators(module: Module) -> Module:
    """The module in which functions that stand for others with a rule or a checkpoint say so, as
    users do."""
    return _with_each(module, _written)


def _written(name: str, function: Function) -> Function:
    if is_checkpoint(function):
        return with_body(function, Checkpoint.of(function).written())
    return with_body(function, RuledFunction.of(name, function).written())


def _with_each(module: Module, changed: Callable[[str, Function], Function]) -> Module:
    functions = {
        name: changed(name, function) if is_stand_in(function) else function
        for name, function in module.functions.items()
    }
    return replace(module, functions=functions)
