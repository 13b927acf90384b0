"""Which products have weights that are integers with a scale for each block of steps.

y[i, o] = sum(k) x[i, k] * ((float(q[o, k]) - z[o, k // 32]) * s[o, k // 32])
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.rewrites.weight_panels.match import StoredProduct, stored_product
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import (
    Axis,
    Binary,
    Cast,
    Literal,
    Load,
    Reduce,
    Scalar,
    Tensor,
    cast,
    literal,
)
from relay_tune.tensor.tensor import Computed, compute
from relay_tune.tensor.walk import axes_of, loads, replace_nodes, substitute, transform

BLOCKS = (32, 16, 8)
"""Steps that share a scale of data: few lose fewer digits, many take fewer multiplications."""


@dataclass(frozen=True, eq=False, slots=True)
class StoredWords:
    """Words of int32 with several numbers, the first in the lowest bits.

    Attributes:
        word: the word of a step, the same for all that lie in it.
        bits: of a number.
    """

    word: Scalar
    bits: int

    @property
    def numbers(self) -> int:
        """How many lie in a word."""
        return 32 // self.bits


@dataclass(frozen=True, eq=False, slots=True)
class BlockProduct:
    """A product of data by (number - zero point) * scale, all at its own axes.

    Attributes:
        product: the stage.
        number: an int32 expression.
        bounds: the least and the greatest of the numbers.
        zero: the zero point, as int32.
        scale: as float32.
        block: steps within which zero point and scale are the same.
    """

    product: StoredProduct
    number: Scalar
    bounds: tuple[int, int]
    zero: Scalar
    scale: Scalar
    block: int

    @property
    def words(self) -> StoredWords | None:
        """The words of int32 that numbers with signs lie in; None where they lie in bytes."""
        match self.number:
            case Binary(
                operation="shr",
                right=Literal(value=down),
                left=Binary(operation="shl", left=word),
            ) if word.dtype == "int32":
                return StoredWords(word, 32 - int(down))
        return None

    @property
    def step(self) -> Axis:
        """The summed axis."""
        return self.product.steps[0]

    @property
    def blocks(self) -> int:
        """How many blocks a sum has."""
        return self.step.extent // self.block


def block_product(stage: Tensor, constants: Collection[Tensor]) -> BlockProduct | None:
    """How a stage multiplies by such weights; None if it does not."""
    product = stored_product(stage, constants)
    if product is None or len(product.steps) != 1:
        return None
    total = product.stage.body
    assert isinstance(total, Reduce)
    weight = _expanded(product.weights, constants)
    if total.axes != product.steps or not isinstance(weight, Binary) or weight.operation != "mul":
        return None
    for side, scale in ((weight.left, weight.right), (weight.right, weight.left)):
        found = _number(side)
        if found is None or scale.dtype != "float32":
            continue
        number, bounds, zero = found
        for block in BLOCKS:
            if _is_shared(product.steps[0], block, scale, zero):
                return BlockProduct(product, number, bounds, zero, scale, block)
    return None


def _expanded(weights: Load, constants: Collection[Tensor]) -> Scalar:
    """What a converted weight is, down to what is stored."""

    def visit(node: Scalar) -> Scalar:
        if not isinstance(node, Load) or node.tensor in constants:
            return node
        source = node.tensor
        if not isinstance(source, Computed):
            return node
        body = substitute(source.body, dict(zip(source.axes, node.indices, strict=True)))
        return transform(body, visit)

    return transform(weights, visit)


def _number(side: Scalar) -> tuple[Scalar, tuple[int, int], Scalar] | None:
    """The number, its bounds and its zero point, where that is what a factor is."""
    zero: Scalar = literal(0, "int32")
    if isinstance(side, Binary) and side.operation == "sub":
        taken = side.right
        if isinstance(taken, Literal) and float(taken.value).is_integer():
            zero = literal(int(taken.value), "int32")
        elif isinstance(taken, Cast) and _is_integer(taken.operand):
            zero = _widened(taken.operand)
        else:
            return None
        side = side.left
    if not isinstance(side, Cast) or side.dtype != "float32" or not _is_integer(side.operand):
        return None
    bounds = number_bounds(side.operand)
    return None if bounds is None else (_widened(side.operand), bounds, zero)


def _is_integer(node: Scalar) -> bool:
    return node.dtype in ("int8", "uint8", "int32")


def _widened(node: Scalar) -> Scalar:
    if isinstance(node, Literal):
        return literal(int(node.value), "int32")
    return cast(node, "int32")


def number_bounds(node: Scalar) -> tuple[int, int] | None:
    """The least and the greatest value of a stored integer, where these are known to be few."""
    match node:
        case Cast(operand=operand) if _is_integer(operand) and node.dtype == "int32":
            return number_bounds(operand)
        case Binary(operation="and", right=Literal(value=mask)) if mask >= 0:
            return 0, int(mask)
        case Binary(
            operation="shr", dtype="int32", right=Literal(value=down), left=Binary(operation="shl")
        ):
            half = 1 << (31 - int(down))
            return -half, half - 1
        case _ if node.dtype in ("int8", "uint8"):
            limits = np.iinfo(node.dtype)
            return int(limits.min), int(limits.max)
    return None


def _is_shared(step: Axis, block: int, *shared: Scalar) -> bool:
    """Whether expressions are the same for all steps of a block, by what they load."""
    if step.extent % block:
        return False
    found = [load for each in shared for load in loads(each)]
    without: dict[Scalar, Scalar] = {load: literal(0, load.dtype) for load in found}
    if step in axes_of(*(replace_nodes(each, without) for each in shared)):
        return False
    moving = [index for load in found for index in load.indices if step in axes_of(index)]
    return all(axes_of(index) == (step,) and _is_level(index, step, block) for index in moving)


def _is_level(index: Scalar, step: Axis, block: int) -> bool:
    """Whether an index of a single axis is the same within each block."""
    every = compute("every", (step.extent,), lambda k: substitute(cast(index, "int32"), {step: k}))
    values = evaluate([every], {})[0].reshape(-1, block)
    return bool((values == values[:, :1]).all())
