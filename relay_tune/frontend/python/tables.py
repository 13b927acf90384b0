"""Names in Relay of Python's operators, numpy's functions and methods of tensors."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType

from relay_tune.quick_dataclass import dataclass

BINARY: Mapping[type[ast.operator], str] = MappingProxyType(
    {
        ast.Add: "add",
        ast.Sub: "subtract",
        ast.Mult: "multiply",
        ast.FloorDiv: "floor_divide",
        ast.Mod: "floor_mod",
        ast.Pow: "power",
        ast.BitAnd: "bitwise_and",
        ast.BitOr: "bitwise_or",
        ast.BitXor: "bitwise_xor",
        ast.LShift: "left_shift",
        ast.RShift: "right_shift",
    }
)
"""`/` and `@` depend on types, see `relay_tune.frontend.python.deferred`."""

COMPARISON: Mapping[type[ast.cmpop], str] = MappingProxyType(
    {
        ast.Lt: "less",
        ast.LtE: "less_equal",
        ast.Gt: "greater",
        ast.GtE: "greater_equal",
        ast.Eq: "equal",
        ast.NotEq: "not_equal",
    }
)

UNARY: Mapping[type[ast.unaryop], str] = MappingProxyType(
    {ast.USub: "negative", ast.Not: "logical_not", ast.Invert: "bitwise_not"}
)


@dataclass(frozen=True, slots=True)
class NumpyForm:
    """How a function of numpy, or a method, is an operator.

    Attributes:
        operator: its name in Relay.
        attributes: the names of the positional arguments that follow the tensors.
        defaults: attributes that numpy has other defaults for than Relay.
    """

    operator: str
    attributes: tuple[str, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()


def _same(names: str, *attributes: str) -> dict[str, NumpyForm]:
    return {name: NumpyForm(name, attributes) for name in names.split()}


NUMPY: Mapping[str, NumpyForm] = MappingProxyType(
    {
        **_same(
            "abs add ceil cos cosh equal exp floor greater greater_equal less less_equal log log10 "
            "log1p log2 logical_and logical_not logical_or maximum minimum multiply negative "
            "not_equal power round sign sin sinh sqrt subtract tan tanh trunc where floor_divide "
            "zeros_like ones_like"
        ),
        **_same("sum prod max min mean any all argmax argmin expand_dims squeeze", "axis"),
        **_same("concatenate stack sort argsort", "axis"),
        **_same("split", "indices_or_sections", "axis"),
        **_same("zeros ones", "shape", "dtype"),
        **_same("clip", "a_min", "a_max"),
        "amax": NumpyForm("max", ("axis",)),
        "amin": NumpyForm("min", ("axis",)),
        "arccos": NumpyForm("acos"),
        "arcsin": NumpyForm("asin"),
        "arctan": NumpyForm("atan"),
        "absolute": NumpyForm("abs"),
        "reshape": NumpyForm("reshape", ("newshape",)),
        "transpose": NumpyForm("transpose", ("axes",)),
        "take": NumpyForm("take", ("axis",), (("mode", "raise"),)),
        "cumsum": NumpyForm("cumsum", ("axis",)),
    }
)

METHODS: Mapping[str, NumpyForm] = MappingProxyType(
    {
        **_same("sum prod max min mean any all argmax argmin squeeze cumsum", "axis"),
        "astype": NumpyForm("cast", ("dtype",)),
        "clip": NumpyForm("clip", ("a_min", "a_max")),
        "reshape": NumpyForm("reshape", ("newshape",)),
        "transpose": NumpyForm("transpose", ("axes",)),
        "take": NumpyForm("take", ("axis",), (("mode", "raise"),)),
    }
)
"""Methods of tensors; reshape and transpose also take their numbers one by one."""

BUILTINS: Mapping[str, str] = MappingProxyType(
    {"map": "map", "filter": "filter", "zip": "zip", "reversed": "rev", "abs": "abs"}
)
"""Python's own functions that are functions of the prelude, or operators."""
