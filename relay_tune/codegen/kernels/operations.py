"""Unary and binary operations of scalar expressions as LLVM instructions, of any element type."""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.kernels.dot_products import dot_product
from relay_tune.codegen.kernels.float_operations import float_binary, float_unary
from relay_tune.codegen.kernels.integer_operations import integer_binary, integer_unary
from relay_tune.codegen.llvm_types import is_float, is_signed
from relay_tune.tensor.expression import DOT_PRODUCTS

FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


def unary_operation(a: Arithmetic, operation: str, x: str) -> str:
    """The text of `operation(x)`; isnan, isinf and not give bools."""
    if is_float(a.dtype):
        return float_unary(a, operation, x)
    return integer_unary(a, operation, x)


def binary_operation(a: Arithmetic, operation: str, left: str, right: str) -> str:
    """The text of `left operation right`; comparisons give bools."""
    if operation in DOT_PRODUCTS:
        return dot_product(a, operation, left, right)
    if operation in FLOAT_PREDICATES:
        return a.compare(_predicate(a.dtype, operation), left, right)
    if is_float(a.dtype):
        return float_binary(a, operation, left, right)
    return integer_binary(a, operation, left, right)


def _predicate(dtype: str, operation: str) -> str:
    if is_float(dtype):
        return FLOAT_PREDICATES[operation]
    if operation in ("eq", "ne"):
        return operation
    return ("s" if is_signed(dtype) else "u") + operation
