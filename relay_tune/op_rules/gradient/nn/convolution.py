"""Adjoints of convolutions, which are convolutions.

That of the data is a transposed convolution of the adjoint with the same weight. That of the weight
is a convolution of the data with the adjoint as its window, in which samples and channels change
sides: strides become distances between taps, and the other way round. With groups it is derived
from the computation, as no convolution exchanges samples and channels within groups.

    y[n, o, i] = sum(c, k) x[n, c, s i + d k] w[o, c, k]
    w'[o, c, k] = sum(n, i) x[n, c, s i + d k] y'[n, o, i]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.gradient.derived import derived_adjoints
from relay_tune.op_rules.gradient.nn.matmul import of_one_type
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of, static_shape
from relay_tune.op_rules.typed import call, slice_of
from relay_tune.typing.relations.support import as_tuple
from relay_tune.typing.windows import pad_pairs

SPATIAL = "DHW"


def _sizes(shape: Sequence[int], layout: str) -> dict[str, int]:
    return dict(zip(layout, shape, strict=True))


def _renamed(layout: str, names: dict[str, str]) -> str:
    return "".join(names.get(letter, letter) for letter in layout)


def _is_plain(*layouts: str) -> bool:
    """Whether no axis is in blocks."""
    return all(layout.isalpha() and layout.isupper() for layout in layouts)


def _out_layout(attributes: Any) -> str:
    return str(attributes.out_layout or attributes.data_layout)


class _Geometry:
    """Strides, dilation and padding of a convolution, a number for each spatial axis."""

    def __init__(self, attributes: Any) -> None:
        self.axes = [letter for letter in SPATIAL if letter in attributes.data_layout]
        rank = len(self.axes)
        self.strides = as_tuple(attributes.strides, rank, "strides")
        self.dilation = as_tuple(attributes.dilation, rank, "dilation")
        self.pads = pad_pairs(attributes.padding, rank)

    @property
    def padding(self) -> tuple[int, ...]:
        """All befores, then all afters."""
        return tuple(pad[0] for pad in self.pads) + tuple(pad[1] for pad in self.pads)


def data_adjoint(convolution: Call, adjoint: Expr) -> Expr | None:
    """The adjoint of a convolution's data: a transposed convolution.

    With strides of 1 it is a convolution with the taps in the other order.
    """
    data, weight = convolution.arguments
    attributes = attributes_of(convolution)
    shape, kernel = static_shape(data), static_shape(weight)
    result = static_shape(adjoint)
    if shape is None or kernel is None or result is None:
        return None
    geometry, layout = _Geometry(attributes), attributes.data_layout
    sizes, window = _sizes(shape, layout), _sizes(kernel, attributes.kernel_layout)
    spans = [
        (window[axis] - 1) * step
        for axis, step in zip(geometry.axes, geometry.dilation, strict=True)
    ]
    turned = {
        "dilation": geometry.dilation,
        "groups": attributes.groups,
        "data_layout": _out_layout(attributes),
        "kernel_layout": _renamed(attributes.kernel_layout, {"O": "I", "I": "O"}),
        "out_layout": layout,
    }
    padding = [
        (span - pad[0], span - pad[1]) for span, pad in zip(spans, geometry.pads, strict=True)
    ]
    is_dense = all(stride == 1 for stride in geometry.strides) and attributes.groups == 1
    if is_dense and all(width >= 0 for pad in padding for width in pad):
        for axis in geometry.axes:
            weight = _reversed(weight, attributes.kernel_layout.index(axis))
        turned["padding"] = (*(pad[0] for pad in padding), *(pad[1] for pad in padding))
        return call(f"nn.conv{len(geometry.axes)}d", adjoint, weight, **turned)
    counts = _sizes(result, _out_layout(attributes))
    extra = tuple(
        sizes[axis] + sum(pad) - (counts[axis] - 1) * stride - span - 1
        for axis, stride, span, pad in zip(
            geometry.axes, geometry.strides, spans, geometry.pads, strict=True
        )
    )
    return call(
        f"nn.conv{len(geometry.axes)}d_transpose",
        adjoint,
        weight,
        strides=geometry.strides,
        padding=geometry.padding,
        output_padding=extra,
        **turned,
    )


def _reversed(weight: Expr, axis: int) -> Expr:
    shape = static_shape(weight)
    return weight if shape is not None and shape[axis] == 1 else call("reverse", weight, axis=axis)


def weight_adjoint(convolution: Call, data: Expr, adjoint: Expr) -> Expr | None:
    """The adjoint of the weight of a convolution of `data` whose result has this adjoint.

    Elements behind the last window are cut off first. Channels stand last: for each tap and pixel,
    a column of data is multiplied with a row of the adjoint.
    """
    attributes = attributes_of(convolution)
    shape, result = static_shape(data), static_shape(adjoint)
    kernel = static_shape(convolution.arguments[1])
    if shape is None or result is None or kernel is None:
        return None
    if attributes.groups > 1:
        return _grouped_weight_adjoint(convolution, data, adjoint)
    geometry, layout = _Geometry(attributes), attributes.data_layout
    sizes, window = _sizes(shape, layout), _sizes(kernel, attributes.kernel_layout)
    counts = _sizes(result, _out_layout(attributes))
    before = tuple(pad[0] for pad in geometry.pads)
    after = tuple(
        (counts[axis] - 1) * stride + (window[axis] - 1) * step + 1 - sizes[axis] - pad[0]
        for axis, stride, step, pad in zip(
            geometry.axes, geometry.strides, geometry.dilation, geometry.pads, strict=True
        )
    )
    ends = [
        sizes[letter] + min(0, dict(zip(geometry.axes, after, strict=True)).get(letter, 0))
        for letter in layout
    ]
    if ends != list(shape):
        data = slice_of(data, [0] * len(shape), ends)
    data, layout = _channels_last(data, layout)
    adjoint, result_layout = _channels_last(adjoint, _out_layout(attributes))
    swapped = _renamed(layout, {"N": "C", "C": "N"})
    last = "".join((*geometry.axes, "IO"))
    found = call(
        f"nn.conv{len(geometry.axes)}d",
        data,
        adjoint,
        strides=geometry.dilation,
        padding=(*before, *(max(0, width) for width in after)),
        dilation=geometry.strides,
        data_layout=swapped,
        kernel_layout=_renamed(result_layout, {"N": "I", "C": "O"}),
        out_layout=_renamed(last, {"O": "C", "I": "N"}),
    )
    return _permuted(found, last, attributes.kernel_layout)


def _channels_last(value: Expr, layout: str) -> tuple[Expr, str]:
    """An image with its channels last, so that those of one pixel are read together."""
    last = "N" + "".join(letter for letter in layout if letter in SPATIAL) + "C"
    return _permuted(value, layout, last), last


def _permuted(value: Expr, given: str, wanted: str) -> Expr:
    """A tensor with its axes in another order."""
    if given == wanted:
        return value
    return call("transpose", value, axes=tuple(given.index(letter) for letter in wanted))


def _grouped_weight_adjoint(convolution: Call, data: Expr, adjoint: Expr) -> Expr:
    """The same where channels are in groups: derived, from the convolution with channels last."""
    attributes = attributes_of(convolution)
    data, layout = _channels_last(data, attributes.data_layout)
    adjoint, _ = _channels_last(adjoint, _out_layout(attributes))
    geometry = _Geometry(attributes)
    last = "".join((*geometry.axes, "IO"))
    again = call(
        f"nn.conv{len(geometry.axes)}d",
        data,
        _permuted(convolution.arguments[1], attributes.kernel_layout, last),
        strides=geometry.strides,
        padding=geometry.padding,
        dilation=geometry.dilation,
        groups=attributes.groups,
        data_layout=layout,
        kernel_layout=last,
    )
    found = derived_adjoints(Differentiated(again, again, adjoint))[1]
    assert isinstance(found, Expr)
    return _permuted(found, last, attributes.kernel_layout)


def _convolution(known: Differentiated) -> tuple[Adjoint, Adjoint] | None:
    attributes = attributes_of(known.call)
    plain = _is_plain(attributes.data_layout, attributes.kernel_layout, _out_layout(attributes))
    if not plain or not of_one_type(known):
        return None
    first = data_adjoint(known.call, known.tensor)
    second = weight_adjoint(known.call, known.call.arguments[0], known.tensor)
    return None if first is None or second is None else (first, second)


def _transposed(known: Differentiated) -> tuple[Adjoint, Adjoint] | None:
    """y = transposed(x, w) is x = convolution(y, w) turned round, and so are its adjoints."""
    attributes = attributes_of(known.call)
    plain = _is_plain(attributes.data_layout, attributes.kernel_layout, _out_layout(attributes))
    if not plain or not of_one_type(known) or static_shape(known.tensor) is None:
        return None
    data, weight = known.call.arguments
    geometry = _Geometry(attributes)
    back = call(
        f"nn.conv{len(geometry.axes)}d",
        known.tensor,
        weight,
        strides=geometry.strides,
        padding=geometry.padding,
        dilation=geometry.dilation,
        groups=attributes.groups,
        data_layout=_out_layout(attributes),
        kernel_layout=_renamed(attributes.kernel_layout, {"O": "I", "I": "O"}),
        out_layout=attributes.data_layout,
    )
    second = weight_adjoint(back, known.tensor, data)
    return None if second is None else (back, second)


RULES: GradientRules = {
    f"nn.conv{rank}d{kind}": GradientRule(rule)
    for rank in (1, 2, 3)
    for kind, rule in (("", _convolution), ("_transpose", _transposed))
}
