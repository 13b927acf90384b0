"""nn.dropout: at inference the data; in training some of its elements, chosen by random numbers.

N. Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", 2014;
what is kept grows, so that inference needs no factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from relay_tune.errors import BuildError
from relay_tune.ir.expr import Attributes, Expr, constant
from relay_tune.ir.operator import FusionKind, define
from relay_tune.ir.types import TensorType, Type
from relay_tune.op.arithmetic import multiply
from relay_tune.op.comparison import greater_equal
from relay_tune.op.creation import arange
from relay_tune.op.elements import Array
from relay_tune.op.random import RandomAttributes, uniform
from relay_tune.op.selection import where
from relay_tune.op.shape import reshape
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.typing.relations.elementwise import identity


@dataclass(frozen=True)
class DropoutAttributes(Attributes):
    """Attributes of nn.dropout.

    Attributes:
        rate: the share of elements that training sets to zero; inference keeps all.
        training: whether elements are set to zero.
        seed: the key of the random numbers; the same one chooses the same elements.
    """

    rate: float = 0.5
    training: bool = False
    seed: int = 0


def dropped(data: Expr, type_: TensorType, rate: float, key: Expr) -> Expr:
    """The data with a share of elements set to zero, and the others divided by what is kept.

    `key`, a scalar of int64, and the number of an element decide on it; see random.uniform.
    """
    sizes = tuple(size for size in type_.shape if isinstance(size, int))
    if len(sizes) != len(type_.shape):
        raise BuildError(
            "Dropout in training needs sizes that are known, but they are dynamic.",
            remedy="Give the inputs of the network fixed sizes.",
        )
    count: Expr = arange(start=0, stop=prod(sizes), step=1, dtype="int64")
    work = "float64" if type_.dtype == "float64" else "float32"
    share = np.asarray(rate, numpy_dtype(work))
    counters = count if len(sizes) == 1 else reshape(count, newshape=sizes)
    kept = greater_equal(uniform(counters, key, dtype=work), constant(share))
    factor = np.divide(1, 1 - share, dtype=share.dtype, where=share < 1, out=np.zeros_like(share))
    grown = multiply(data, constant(factor.astype(numpy_dtype(type_.dtype))))
    return where(kept, grown, constant(np.zeros((), numpy_dtype(type_.dtype))))


def _composition(
    attributes: DropoutAttributes, arguments: Sequence[Expr], types: Sequence[Type]
) -> Expr:
    (data,), (type_,) = arguments, types
    assert isinstance(type_, TensorType)
    if not attributes.training:
        return data
    key = constant(np.asarray(attributes.seed, np.int64))
    return dropped(data, type_, attributes.rate, key)


def _reference(attributes: DropoutAttributes, data: Array) -> Array:
    if not attributes.training:
        return data
    work = np.float64 if data.dtype == np.float64 else np.float32
    counters = np.arange(data.size, dtype=np.int64).reshape(data.shape)
    record = RandomAttributes(dtype=np.dtype(work).name)
    drawn = uniform.reference(record, counters, np.asarray(attributes.seed, np.int64))
    share = work(attributes.rate)
    kept = drawn >= share
    factor = 1 / (1 - share) if share < 1 else work(0)
    grown = data * np.asarray(factor).astype(data.dtype)
    return np.asarray(np.where(kept, grown, data.dtype.type(0)))


dropout = define(
    name="nn.dropout",
    arguments=("data",),
    relation=identity,
    kind=FusionKind.ELEMENTWISE,
    attributes=DropoutAttributes,
    reference=_reference,
    composition=_composition,
    documentation=(
        "The data: at inference nothing is dropped. In training a share `rate` of the elements "
        "is zero, and the others are divided by 1 - rate (Srivastava et al., 2014)."
    ),
)
