"""nn.cross_entropy, nn.cross_entropy_with_logits, nn.nll_loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import Compute, FusionKind, Operator, Reference, define
from relay_tune.op.elements import Array, index_inside, number, wide_dtype
from relay_tune.op.index_check import is_index
from relay_tune.op.layout_indices import ReductionAxes, cast_tensor, compute_elements
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, cast, index_value, reduce, select, unary
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.typing.relations import nn as relations_nn

REDUCTIONS = ("mean", "sum", "none")


@dataclass(frozen=True)
class NLLLossAttributes(Attributes):
    """Attributes of nn.nll_loss.

    Attributes:
        reduction: "none", or the "sum" or weighted "mean" of all losses.
        ignore_index: the target that has no loss, whether it is a class or not.
    """

    reduction: str = "mean"
    ignore_index: int = -100


def _sum_all(name: str, shape: Sequence[int], term: Callable[..., Scalar]) -> Tensor:
    """The scalar sum of `term(*indices)` over all indices of `shape`."""

    def element() -> Scalar:
        reduction = ReductionAxes()
        positions = [reduction.add(f"k{n}", extent) for n, extent in enumerate(shape)]
        return reduce("sum", reduction.axes, term(*positions))

    return compute_elements(name, (), element)


def _entropy(attributes: Any, inputs: Sequence[Any], logarithm: bool) -> list[Tensor]:
    predictions, targets = inputs
    dtype = wide_dtype(predictions.dtype)

    def term(*positions: Scalar) -> Scalar:
        value = cast(predictions[positions], dtype)
        return (unary("log", value) if logarithm else value) * cast(targets[positions], dtype)

    total = _sum_all("cross_entropy_sum", predictions.shape, term)
    rows = cast(index_value(predictions.shape[0]), dtype)
    result = compute_elements("cross_entropy", (), lambda: -total[()] / rows)
    return [cast_tensor(result, predictions.dtype)]


def _cross_entropy(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    return _entropy(attributes, inputs, logarithm=True)


def _cross_entropy_with_logits(
    attributes: Any, inputs: Sequence[Any], types: Sequence[Any]
) -> list[Tensor]:
    return _entropy(attributes, inputs, logarithm=False)


def _cross_entropy_reference(attributes: Attributes, predictions: Array, targets: Array) -> Array:
    return _cross_entropy_with_logits_reference(
        attributes, np.log(predictions.astype("float64")), targets
    ).astype(predictions.dtype)


def _cross_entropy_with_logits_reference(
    attributes: Attributes, predictions: Array, targets: Array
) -> Array:
    total = (predictions.astype("float64") * targets).sum()
    return np.asarray(-total / len(predictions)).astype(predictions.dtype)


def _nll_loss(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    """The losses, their sum, and for the mean the sum of the weights."""
    predictions, targets, weights = inputs
    dtype = wide_dtype(predictions.dtype)
    classes = predictions.shape[1]

    def counted(positions: Sequence[Scalar], value: Scalar) -> Scalar:
        return select(is_index(targets[positions], attributes.ignore_index), value, 0.0)

    def class_weight(*positions: Scalar) -> Scalar:
        return cast(weights[index_inside(targets[positions], weights.shape[0])], dtype)

    def loss(*positions: Scalar) -> Scalar:
        if 0 in predictions.shape:
            return number(0, dtype)  # nothing is read where there is nothing
        chosen = index_inside(targets[positions], classes)
        value = cast(predictions[(positions[0], chosen, *positions[1:])], dtype)
        return counted(positions, -(value * class_weight(*positions)))

    def weight(*positions: Scalar) -> Scalar:
        if 0 in weights.shape:
            return number(0, dtype)
        return counted(positions, class_weight(*positions))

    if attributes.reduction == "none":
        losses = compute_elements("losses", targets.shape, loss)
        return [cast_tensor(losses, predictions.dtype)]
    total = _sum_all("losses_sum", targets.shape, loss)
    if _checked_reduction(attributes) == "mean":
        divisor = _sum_all("weights_sum", targets.shape, weight)
        mean = compute_elements("losses_mean", (), lambda: total[()] / divisor[()])
        return [cast_tensor(mean, predictions.dtype)]
    return [cast_tensor(total, predictions.dtype)]


def _checked_reduction(attributes: NLLLossAttributes) -> str:
    if attributes.reduction not in REDUCTIONS:
        raise InputError(
            f'Reduction "{attributes.reduction}" is unknown.',
            remedy=f"Use one of {', '.join(REDUCTIONS)}.",
        )
    return attributes.reduction


def _nll_loss_reference(
    attributes: NLLLossAttributes, predictions: Array, targets: Array, weights: Array
) -> Array:
    wide = numpy_dtype(wide_dtype(predictions.dtype.name))
    counted = targets != attributes.ignore_index
    positions = np.where(counted, targets, 0)[:, None]
    chosen = np.take_along_axis(predictions.astype(wide), positions, axis=1)[:, 0]
    weight = np.where(counted, weights.astype(wide)[positions[:, 0]], 0)
    losses = np.where(counted, -chosen, 0) * weight
    match _checked_reduction(attributes):
        case "sum":
            losses = losses.sum()
        case "mean":
            losses = losses.sum() / weight.sum()
    return np.asarray(losses).astype(predictions.dtype)


def _register_entropy(
    name: str, compute: Compute, reference: Reference, documentation: str
) -> Operator:
    return define(
        name=name,
        arguments=("predictions", "targets"),
        relation=relations_nn.cross_entropy,
        kind=FusionKind.OUTPUT_FUSABLE,
        compute=compute,
        reference=reference,
        documentation=documentation,
    )


cross_entropy = _register_entropy(
    "nn.cross_entropy",
    _cross_entropy,
    _cross_entropy_reference,
    "-sum(log(predictions) * targets) / number of samples",
)
cross_entropy_with_logits = _register_entropy(
    "nn.cross_entropy_with_logits",
    _cross_entropy_with_logits,
    _cross_entropy_with_logits_reference,
    "-sum(predictions * targets) / number of samples, for predictions that are logarithms",
)
nll_loss = define(
    name="nn.nll_loss",
    arguments=("predictions", "targets", "weights"),
    relation=relations_nn.nll_loss,
    kind=FusionKind.OUTPUT_FUSABLE,
    attributes=NLLLossAttributes,
    compute=_nll_loss,
    reference=_nll_loss_reference,
    documentation=(
        "The negative log likelihood of the target classes, weighted by class. Negative "
        "targets count from the end; others that are no class are errors."
    ),
)
