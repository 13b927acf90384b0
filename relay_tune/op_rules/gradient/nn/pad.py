"""Adjoints of padding with a number, and of zeros between elements: the data's part is cut out."""

from __future__ import annotations

from relay_tune.ir.dim_arithmetic import add
from relay_tune.ir.expr import Expr
from relay_tune.op_rules.gradient.expressions import minus, shaped_like
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of, tensor_type
from relay_tune.op_rules.typed import call, slice_of


def _pad(known: Differentiated) -> tuple[Adjoint, Adjoint] | None:
    data, value = known.call.arguments
    attributes, type_ = attributes_of(known.call), tensor_type(data)
    widths = attributes.pad_width
    if type_ is None or attributes.pad_mode != "constant":
        return None
    if any(width < 0 for pair in widths for width in pair):
        return None
    begins = [before for before, _ in widths]
    ends = [add(size, before) for size, before in zip(type_.shape, begins, strict=True)]
    inside = slice_of(known.tensor, begins, ends)
    border = minus(_total(known.tensor), _total(inside))
    return inside, shaped_like(border, value)


def _total(value: Expr) -> Expr:
    return call("sum", value, axis=None)


def _dilate(known: Differentiated) -> tuple[Adjoint]:
    strides = tuple(attributes_of(known.call).strides)
    rank = len(strides)
    cut = call(
        "strided_slice",
        known.tensor,
        begin=(0,) * rank,
        end=(None,) * rank,
        strides=strides,
    )
    return (cut,)


RULES: GradientRules = {
    "nn.pad": GradientRule(_pad),
    "nn.dilate": GradientRule(_dilate),
}
