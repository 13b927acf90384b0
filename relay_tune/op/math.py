"""Elementary functions of floats: exponentials, logarithms, roots, trigonometry, erf."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relay_tune.ir.operator import Operator
from relay_tune.op.another_name import another_name
from relay_tune.op.elements import in_wide
from relay_tune.op.unary import unary_operator
from relay_tune.tensor.expression import unary
from relay_tune.tensor.scalar_semantics import erf as numpy_erf
from relay_tune.tensor.scalar_semantics import rsqrt as numpy_rsqrt
from relay_tune.tensor.scalar_semantics import sigmoid as numpy_sigmoid


def _function(
    name: str, operation: str, reference: Callable[..., Any], documentation: str
) -> Operator:
    return unary_operator(name, lambda x: unary(operation, x), reference, documentation)


exp = _function("exp", "exp", np.exp, "e to the power of the element.")
log = _function("log", "log", np.log, "The natural logarithm; NaN below zero.")
log2 = _function("log2", "log2", np.log2, "The logarithm to base 2.")
log10 = unary_operator(
    "log10",
    in_wide(lambda x: unary("log", x) * (1 / math.log(10))),
    np.log10,
    "The logarithm to base 10.",
)
log1p = _function("log1p", "log1p", np.log1p, "log(1 + x), exact for small x.")
sqrt = _function("sqrt", "sqrt", np.sqrt, "The square root; NaN below zero.")
rsqrt = _function("rsqrt", "rsqrt", numpy_rsqrt, "1 / sqrt(x).")
sigmoid = _function("sigmoid", "sigmoid", numpy_sigmoid, "1 / (1 + exp(-x)).")
tanh = _function("tanh", "tanh", np.tanh, "The hyperbolic tangent.")
erf = _function("erf", "erf", numpy_erf, "The error function, 2/sqrt(pi) * int_0^x exp(-t*t) dt.")
sin = _function("sin", "sin", np.sin, "The sine of radians.")
cos = _function("cos", "cos", np.cos, "The cosine of radians.")
tan = _function("tan", "tan", np.tan, "The tangent of radians.")
asin = _function("asin", "asin", np.arcsin, "The inverse sine; NaN outside of [-1, 1].")
acos = _function("acos", "acos", np.arccos, "The inverse cosine; NaN outside of [-1, 1].")
atan = _function("atan", "atan", np.arctan, "The inverse tangent.")
sinh = _function("sinh", "sinh", np.sinh, "The hyperbolic sine.")
cosh = _function("cosh", "cosh", np.cosh, "The hyperbolic cosine.")
asinh = _function("asinh", "asinh", np.arcsinh, "The inverse hyperbolic sine.")
acosh = _function("acosh", "acosh", np.arccosh, "The inverse hyperbolic cosine; NaN below 1.")
atanh = _function("atanh", "atanh", np.arctanh, "The inverse hyperbolic tangent.")
fast_exp = another_name(exp, "fast_exp", "exp where a larger error is acceptable.")
fast_tanh = another_name(tanh, "fast_tanh", "tanh where a larger error is acceptable.")
fast_erf = another_name(erf, "fast_erf", "erf where a larger error is acceptable.")
