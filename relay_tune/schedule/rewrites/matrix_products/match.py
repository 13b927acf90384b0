"""Which stages of a program are products that matrix registers can compute."""

from __future__ import annotations

from collections.abc import Container
from math import prod

from relay_tune.schedule.rewrites.matrix_products.form import Form
from relay_tune.schedule.rewrites.products import FactorTypes, Product, as_stored, match_product
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.size import is_symbolic, nominal

LEAST_STEPS = 16
"""Shorter sums leave half of a register empty."""


def match_matrix_product(stage: Tensor, constants: Container[Tensor], form: Form) -> Product | None:
    """The product that a stage computes, or None if it is none that fills registers."""
    found = (
        match_product(stage, constants, types, open_sizes=True) for types in _stored_types(form)
    )
    product = next((each for each in found if each is not None), None)
    if product is None or nominal(product.stage.shape[-1]) < form.columns:
        return None
    if nominal(prod(axis.extent for axis in product.steps)) < LEAST_STEPS:
        return None
    return None if form.rounds and _is_narrow(product, form) else product


def _is_narrow(product: Product, form: Form) -> bool:
    """Whether there is nothing to round."""
    stored = (as_stored(each).dtype for each in (product.data, product.weight))
    return not any(map(form.splits, stored))


def _stored_types(form: Form) -> list[FactorTypes]:
    """The types that factors may be stored as: of a single part one may be so already."""
    types, pattern = form.types, form.pattern
    if form.parts > 1 or not form.rounds:
        return [types]
    return [
        FactorTypes(pattern.left, types.weight, types.sums),
        FactorTypes(types.data, pattern.right, types.sums),
        types,
    ]


def whole_columns(product: Product, form: Form) -> int:
    """The columns that fill registers; all of an open number, the last beside zeros."""
    columns = product.stage.shape[-1]
    return columns if is_symbolic(columns) else columns // form.columns * form.columns
