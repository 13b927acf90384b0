"""Which stages of a program are products that matrix registers can compute."""

from __future__ import annotations

from collections.abc import Container
from math import prod

from relay_tune.schedule.rewrites.matrix_products.form import Form
from relay_tune.schedule.rewrites.products import Product, match_product
from relay_tune.tensor.expression import Tensor

LEAST_STEPS = 16
"""Shorter sums leave half of a register empty."""


def match_matrix_product(stage: Tensor, constants: Container[Tensor], form: Form) -> Product | None:
    """The product that a stage computes, or None if it is none that fills registers."""
    product = match_product(stage, constants, form.types)
    if product is None or product.stage.shape[-1] < form.columns:
        return None
    if prod(axis.extent for axis in product.steps) < LEAST_STEPS:
        return None
    return product


def whole_columns(product: Product, form: Form) -> int:
    """The columns that fill registers."""
    return product.stage.shape[-1] // form.columns * form.columns
