"""The program of a task as the description that a tuning log keeps of it, and back.

Constants that are no scalars are weights: only their shapes count, and they become parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from relay_tune.errors import RelayError
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Constant, Expr, Function, Var
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import rewrite
from relay_tune.ir.types import TensorType
from relay_tune.op.primitive_key import primitive_key
from relay_tune.typing.infer import infer_types

PROGRAM, WEIGHTS = "program", "weights"
"""The fields of a description."""


def program_fields(function: Function) -> dict[str, Any]:
    """The text of a primitive function, and the names of the parameters that are weights."""
    taken = {param.name for param in function.params}
    weights: dict[Expr, Var] = {}

    def named(node: Expr) -> Expr:
        if not isinstance(node, Constant) or node.data.ndim == 0:
            return node
        if node not in weights:
            names = (f"weight{n}" for n in range(len(weights), len(weights) + len(taken) + 1))
            name = next(name for name in names if name not in taken)
            taken.add(name)
            weights[node] = Var(name, TensorType(node.data.shape, node.data.dtype.name))
        return weights[node]

    body = rewrite(function.body, named)
    params = (*function.params, *weights.values())
    program = Module.from_function(Function(params, body, attributes=function.attributes))
    return {PROGRAM: program.astext(), WEIGHTS: [weight.name for weight in weights.values()]}


def logged_function(description: Mapping[str, Any], digest: str) -> Function | None:
    """The primitive function that a description tells of, typed, its weights all zero.

    None where it does not tell, or of another one than that with the `digest`.
    """
    text, weights = description.get(PROGRAM), description.get(WEIGHTS)
    if not isinstance(text, str) or not isinstance(weights, list):
        return None
    try:
        main = parse(text).main
        zeros: dict[Expr, Expr] = {
            param: _zeros(param) for param in main.params if param.name in weights
        }
        body = rewrite(main.body, lambda node: zeros.get(node, node))
        params = tuple(param for param in main.params if param not in zeros)
        function = infer_types(
            Module.from_function(Function(params, body, attributes=main.attributes))
        ).main
    except (RelayError, KeyError, ValueError):  # a type or a size that no array has
        return None
    return function if primitive_key(function).digest == digest else None


def _zeros(param: Var) -> Expr:
    """A constant of a parameter's type, which takes no memory."""
    match param.annotation:
        case TensorType(shape=shape, dtype=dtype):
            sizes = [size for size in shape if isinstance(size, int)]
            if len(sizes) == len(shape):
                return Constant(np.broadcast_to(np.zeros((), DTYPES[dtype]), sizes))
    return param
