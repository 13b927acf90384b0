"""Random numbers that differ from step to step, as functions of a seed and the step's number.

before:  nn.dropout(%x, rate=0.3)
after:   where(random.uniform(arange, 123 + %number * 2^32) >= 0.3, %x / 0.7, 0)

The low half of a key chooses the numbers of an operator, the high half those of a step: the same
step draws the same numbers again, whatever ran before it and however many threads there are.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from itertools import count

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Constant, Expr, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import rewrite
from relay_tune.op_rules.matching import attributes_of
from relay_tune.op_rules.table import OperatorTable
from relay_tune.op_rules.typed import call, constant_of
from relay_tune.transform.module_pass import with_body
from relay_tune.transform.simplify_inference import expanded

DROPPING: OperatorTable[str] = OperatorTable({"nn.dropout": "training"})
"""The operators that drop elements in training, and the attribute that says so."""

KEYS: OperatorTable[int] = OperatorTable({"random.uniform": 1, "random.normal": 1})
"""The operators that draw random numbers, and the index of their key among the arguments."""

STREAM = 1 << 32
"""What the number of a step is multiplied by in keys."""


def with_numbered_keys(module: Module, number: Var, seed: int | None) -> Module:
    """The typed module whose @main draws other numbers in each step.

    Args:
        module: a typed network.
        number: that of the step, int64; it becomes the last parameter of @main, if it is needed.
        seed: another one gives other numbers; without one dropout is as the network has it.

    Raises InputError where a seed is given, but nothing is random.
    """
    seeds = count(1)

    def dropping(node: Expr) -> Expr:
        training = DROPPING.rule_of(node)
        if training is None or not isinstance(node, Call):
            return node
        attributes = attributes_of(node)
        if seed is not None and not getattr(attributes, training):
            attributes = replace(attributes, **{training: True}, seed=next(seeds))
        return expanded(replace(node, attributes=attributes))

    def numbered(node: Expr) -> Expr:
        position = KEYS.rule_of(node)
        if position is None or not isinstance(node, Call):
            return node
        key = node.arguments[position]
        if not isinstance(key, Constant):
            return node
        arguments = list(node.arguments)
        arguments[position] = _of_step(key, number, seed)
        return replace(node, arguments=tuple(arguments))

    drawing = rewrite(module.main.body, dropping)
    body = rewrite(drawing, numbered)
    if body is drawing and seed is not None:
        raise InputError(
            "A seed is given, but the network draws no random numbers.",
            remedy="Omit the seed; or export the network for training, with its dropout.",
        )
    if body is drawing:
        return module.with_function("main", with_body(module.main, body))
    main = replace(module.main, params=(*module.main.params, number), body=body, type=None)
    return module.with_function("main", main)


def without_dropout(module: Module) -> Module:
    """The module whose @main keeps all elements."""

    def visit(node: Expr) -> Expr:
        training = DROPPING.rule_of(node)
        if training is None or not isinstance(node, Call):
            return node
        return replace(node, attributes=replace(attributes_of(node), **{training: False}))

    return module.with_function("main", with_body(module.main, rewrite(module.main.body, visit)))


def _of_step(key: Constant, number: Var, seed: int | None) -> Expr:
    """The key of an operator in a step: its low half is mixed with the seed, if there is one."""
    own = int(key.data)
    if seed is not None:
        own = zlib.crc32(f"{seed} {own}".encode())
    stream = call("multiply", number, constant_of(np.asarray(STREAM, np.int64)))
    return call("add", stream, constant_of(np.asarray(own, np.int64)))
