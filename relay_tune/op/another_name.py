"""Operators that are others under another name, as programs of other systems have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from relay_tune.ir.expr import Attributes, Call, Expr
from relay_tune.ir.operator import AttributesClass, Operator, register
from relay_tune.ir.types import Type


def another_name(
    operator: Operator,
    name: str,
    documentation: str,
    attributes: AttributesClass | None = None,
) -> Operator:
    """Register `operator` under another name; its composition calls it.

    `attributes` are a class of the operator's attributes with other defaults; None: its own.
    """

    def composition(given: Attributes, arguments: Sequence[Expr], types: Sequence[Type]) -> Call:
        values = {field.name: getattr(given, field.name) for field in fields(given)}
        return operator(*arguments, **values)

    other = replace(
        operator,
        name=name,
        compute=None,
        composition=composition,
        attributes=attributes or operator.attributes,
        documentation=documentation,
    )
    return register(other)
