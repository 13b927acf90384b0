"""Adjoints of operators that move or repeat elements: they are moved back, and summed."""

from __future__ import annotations

from math import prod

from relay_tune.op_rules.gradient.expressions import shaped_like, summed_to
from relay_tune.op_rules.gradient.reduction import repeated
from relay_tune.op_rules.gradient.rule import (
    Adjoint,
    AdjointRule,
    Differentiated,
    GradientRule,
    GradientRules,
)
from relay_tune.op_rules.matching import attributes_of, static_shape, tensor_type
from relay_tune.op_rules.typed import call, recall, reshape


def first_only(rule: AdjointRule) -> AdjointRule:
    """A rule for the first argument; the others have no adjoint."""

    def adjoints(known: Differentiated) -> tuple[Adjoint, ...] | None:
        found = rule(known)
        if found is None:
            return None
        return (found[0], *[None] * (len(known.call.arguments) - 1))

    return adjoints


def _reshaped(known: Differentiated) -> tuple[Adjoint]:
    return (shaped_like(known.tensor, known.call.arguments[0]),)


def _broadcast(known: Differentiated) -> tuple[Adjoint]:
    return (summed_to(known.tensor, known.call.arguments[0]),)


def _collapsed(known: Differentiated) -> tuple[Adjoint]:
    return (repeated(known.tensor, known.call.arguments[0]),)


def _transpose(known: Differentiated) -> tuple[Adjoint]:
    type_ = tensor_type(known.tensor)
    assert type_ is not None
    rank = len(type_.shape)
    axes = attributes_of(known.call).axes
    order = [axis % rank for axis in axes] if axes else list(reversed(range(rank)))
    back = tuple(order.index(axis) for axis in range(rank))
    return (call("transpose", known.tensor, axes=back),)


def _layout_transform(known: Differentiated) -> tuple[Adjoint] | None:
    """The layouts change sides; where blocks were filled up, the adjoint is derived."""
    (data,), layouts = known.call.arguments, attributes_of(known.call)
    back = recall(
        known.call,
        (known.tensor,),
        src_layout=layouts.dst_layout,
        dst_layout=layouts.src_layout,
    )
    return (back,) if back.type == data.type else None


def _reverse(known: Differentiated) -> tuple[Adjoint]:
    return (recall(known.call, (known.tensor,)),)


def _reverse_sequence(known: Differentiated) -> tuple[Adjoint, None]:
    return recall(known.call, (known.tensor, known.call.arguments[1])), None


def _tile(known: Differentiated) -> tuple[Adjoint] | None:
    """[r n] elements of an axis are a matrix of r rows, which are summed."""
    (data,), given = known.call.arguments, attributes_of(known.call).reps
    reps = given if isinstance(given, tuple) else (given,)
    shape = static_shape(data)
    if shape is None:
        return None
    rank = max(len(reps), len(shape))
    sizes = (1,) * (rank - len(shape)) + shape
    times = (1,) * (rank - len(reps)) + reps
    pairs = [part for pair in zip(times, sizes, strict=True) for part in pair]
    split = reshape(known.tensor, pairs)
    total = call("sum", split, axis=tuple(range(0, 2 * rank, 2)))
    return (shaped_like(total, data),)


def _repeat(known: Differentiated) -> tuple[Adjoint] | None:
    (data,), attributes = known.call.arguments, attributes_of(known.call)
    shape = static_shape(data)
    if shape is None:
        return None
    if attributes.axis is None:
        flat = reshape(known.tensor, (prod(shape), attributes.repeats))
        return (shaped_like(call("sum", flat, axis=(1,)), data),)
    axis = attributes.axis % len(shape)
    split = reshape(known.tensor, (*shape[: axis + 1], attributes.repeats, *shape[axis + 1 :]))
    return (call("sum", split, axis=(axis + 1,)),)


def _depth_to_space(known: Differentiated) -> tuple[Adjoint] | None:
    attributes = attributes_of(known.call)
    if attributes.mode != "DCR":
        return None
    options = {"block_size": attributes.block_size, "layout": attributes.layout}
    return (call("nn.space_to_depth", known.tensor, **options),)


def _space_to_depth(known: Differentiated) -> tuple[Adjoint]:
    attributes = attributes_of(known.call)
    options = {"block_size": attributes.block_size, "layout": attributes.layout}
    return (call("nn.depth_to_space", known.tensor, mode="DCR", **options),)


def _full(known: Differentiated) -> tuple[Adjoint, ...]:
    """The fill value is repeated everywhere."""
    return (call("sum", known.tensor, axis=None),)


def _full_like(known: Differentiated) -> tuple[Adjoint, ...]:
    return None, call("sum", known.tensor, axis=None)


_RESHAPED = GradientRule(first_only(_reshaped))
_BROADCAST = GradientRule(first_only(_broadcast))
_COLLAPSED = GradientRule(first_only(_collapsed))
_SHAPE_ONLY = GradientRule(constant="the result depends on the shape of the argument only")

RULES: GradientRules = {
    "reshape": _RESHAPED,
    "dyn.reshape": _RESHAPED,
    "reshape_like": _RESHAPED,
    "squeeze": _RESHAPED,
    "expand_dims": _RESHAPED,
    "nn.batch_flatten": _RESHAPED,
    "broadcast_to": _BROADCAST,
    "broadcast_to_like": _BROADCAST,
    "dyn.broadcast_to": _BROADCAST,
    "collapse_sum_to": _COLLAPSED,
    "collapse_sum_like": _COLLAPSED,
    "transpose": GradientRule(_transpose),
    "layout_transform": GradientRule(_layout_transform),
    "reverse": GradientRule(_reverse),
    "reverse_sequence": GradientRule(_reverse_sequence),
    "tile": GradientRule(_tile),
    "repeat": GradientRule(_repeat),
    "nn.depth_to_space": GradientRule(_depth_to_space),
    "nn.space_to_depth": GradientRule(_space_to_depth),
    "full": GradientRule(_full),
    "dyn.full": GradientRule(first_only(_full)),
    "full_like": GradientRule(_full_like),
    "ones_like": _SHAPE_ONLY,
    "zeros_like": _SHAPE_ONLY,
    "shape_of": _SHAPE_ONLY,
    "ndarray_size": _SHAPE_ONLY,
}
