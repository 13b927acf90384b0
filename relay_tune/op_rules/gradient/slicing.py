"""Adjoints of parts of a tensor: zeros around the adjoint, and between its elements.

Those of padding, and of zeros between elements, are parts of the adjoint.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.ir.dim_arithmetic import add
from relay_tune.ir.expr import Expr
from relay_tune.op.slicing import axis_slices
from relay_tune.op_rules.gradient.expressions import minus, number, shaped_like, zeros_of
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of, static_shape, tensor_type
from relay_tune.op_rules.typed import call, slice_of


def padded(value: Expr, widths: Sequence[tuple[int, int]]) -> Expr:
    """`value` between zeros, (before, after) for each axis."""
    if not any(before or after for before, after in widths):
        return value
    return call("nn.pad", value, number(0.0, value), pad_width=tuple(widths))


def spread(value: Expr, steps: Sequence[int]) -> Expr:
    """`value` with so many steps from element to element of each axis, zeros between them."""
    turned = tuple(axis for axis, step in enumerate(steps) if step < 0)
    for axis in turned:
        value = call("reverse", value, axis=axis)
    sizes = tuple(abs(step) for step in steps)
    return value if all(size == 1 for size in sizes) else call("nn.dilate", value, strides=sizes)


def _strided_slice(known: Differentiated) -> tuple[Adjoint] | None:
    (data,) = known.call.arguments
    type_ = tensor_type(data)
    assert type_ is not None
    steps: list[int] = []
    widths: list[tuple[int, int]] = []
    for cut, size in zip(
        axis_slices(attributes_of(known.call), len(type_.shape)), type_.shape, strict=True
    ):
        if cut == slice(None) or cut == slice(None, None, 1):
            steps.append(1)
            widths.append((0, 0))
            continue
        if not isinstance(size, int):
            return None
        taken = range(*cut.indices(size))
        if not taken:
            return (zeros_of(data),)
        steps.append(taken.step)
        widths.append((min(taken), size - 1 - max(taken)))
    return (padded(spread(known.tensor, steps), widths),)


def _slice_like(known: Differentiated) -> tuple[Adjoint, None] | None:
    whole, part = static_shape(known.call.arguments[0]), static_shape(known.tensor)
    if whole is None or part is None:
        return None
    widths = [(0, size - kept) for size, kept in zip(whole, part, strict=True)]
    return padded(known.tensor, widths), None


def _strided_set(known: Differentiated) -> tuple[Adjoint, Adjoint]:
    _, written = known.call.arguments
    attributes = attributes_of(known.call)
    cut = {"begin": attributes.begin, "end": attributes.end, "strides": attributes.strides}
    rest = call("strided_set", known.tensor, zeros_of(written), **cut)
    return rest, call("strided_slice", known.tensor, **cut)


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
    "strided_slice": GradientRule(_strided_slice),
    "slice_like": GradientRule(_slice_like),
    "strided_set": GradientRule(_strided_set),
    "nn.pad": GradientRule(_pad),
    "nn.dilate": GradientRule(_dilate),
}
