"""Fold multiplications by a constant for each channel into constant weights.

before: multiply(add(nn.conv2d(%x, W), b), s)          s and b: one number a channel
after:  add(nn.conv2d(%x, W * s), b * s)

before: nn.dense(multiply(%x, %s), %w)                 %x: much larger than %w
after:  nn.dense(%x, multiply(%w, %s))

A scale moves up to the layer through additions of constants, bias_add, and, where it is positive,
relu (`relay_tune.op_rules.fold.links`). A scale of the data moves down into the layer that reads
it. Weights that arrive at run time take a scale of the data if they are smaller than these; a scale
of the result stays, as the layer's kernel multiplies its results for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from relay_tune.ir.expr import Call, Constant, Expr, Function
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import rewrite_with_original, use_counts
from relay_tune.op_rules.fold.layers import layer_of_argument, weighted_layer
from relay_tune.op_rules.fold.links import FACTORS, LINKS, Scaled
from relay_tune.op_rules.fold.weighted import channel_vector, fits_channels
from relay_tune.op_rules.matching import attribute, is_opaque_function, rank, static_shape
from relay_tune.op_rules.typed import call, recall, reshape
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import map_functions, with_body

SMALLER = 2
"""How many times larger data have to be than the weights that are scaled in their place."""

MAXIMUM_CHAIN = 8
"""How many calls may stand between the layer and its scale."""


@dataclass(frozen=True)
class FoldScaleAxis:
    """Folds scales into weights; only where nobody else reads the unscaled value."""

    name: ClassVar[str] = "fold_scale_axis"

    def __call__(self, module: Module) -> Module:
        """The module with fewer multiplications."""
        return map_functions(module, _fold)


def _fold(function: Function) -> Function:
    uses = use_counts(function.body)

    def visit(original: Expr, node: Expr) -> Expr:
        # A rebuilt node is new, but has as many readers as the original: count it under both.
        folded = _folded(node, uses) if isinstance(node, Call) else node
        uses[folded] = uses.get(original, 1)
        return folded

    body = rewrite_with_original(
        function.body, visit, enter=lambda node: not is_opaque_function(node)
    )
    return with_body(function, body)


def _folded(node: Call, uses: dict[Expr, int]) -> Expr:
    factors = FACTORS.rule_of(node)
    if factors is not None:
        return _folded_output_scale(node, factors(node), uses) or node
    return _folded_input_scale(node, uses) or _scaled_argument(node, uses) or node


def _folded_output_scale(
    node: Call, factors: Sequence[tuple[Expr, Expr]], uses: dict[Expr, int]
) -> Expr | None:
    """multiply(chain(layer), constant): the chain with the scale inside its layer."""
    for data, scale in factors:
        if not isinstance(scale, Constant) or data.type != node.type:
            continue
        chain = _chain_to_layer(data, uses)
        folded = None if chain is None else _scale_chain(chain, scale)
        if folded is not None:
            return folded
    return None


def _chain_to_layer(top: Expr, uses: dict[Expr, int]) -> list[Call] | None:
    """The calls from `top` down to a layer with constant weights, each read once."""
    chain: list[Call] = []
    current = top
    while isinstance(current, Call) and len(chain) < MAXIMUM_CHAIN:
        if uses.get(current, 1) > 1:
            return None
        chain.append(current)
        if weighted_layer(current) is not None:
            return chain
        if LINKS.rule_of(current) is None:
            return None
        current = current.arguments[0]
    return None


def _scale_chain(chain: list[Call], scale: Constant) -> Expr | None:
    """Rebuild a chain (top first) around its layer, multiplied by `scale`."""
    layer = weighted_layer(chain[-1])
    dims = rank(chain[-1])
    if layer is None or dims is None:
        return None
    vector = channel_vector(scale, layer.channel_axis, dims)
    if vector is None or not fits_channels(vector, layer):
        return None
    result: Expr | None = layer.with_scaled_outputs(vector)
    for link in reversed(chain[:-1]):
        rule = LINKS.rule_of(link)
        if rule is None or result is None:
            return None
        result = rule(link, Scaled(result, vector, layer.channel_axis, dims))
    return result


def _folded_input_scale(node: Call, uses: dict[Expr, int]) -> Expr | None:
    """layer(multiply(x, constant)): padding with zeros does not mind, so padded layers do too."""
    layer = weighted_layer(node)
    product = node.arguments[0] if layer is not None else None
    factors = None if product is None else FACTORS.rule_of(product)
    if layer is None or factors is None or not isinstance(product, Call):
        return None
    dims = rank(product)
    if dims is None or uses.get(product, 1) > 1:
        return None
    for data, scale in factors(product):
        vector = channel_vector(scale, layer.data_channel_axis, dims)
        if vector is not None and data.type == product.type:
            return layer.with_scaled_inputs(vector, data)
    return None


def _scaled_argument(node: Call, uses: dict[Expr, int]) -> Expr | None:
    """layer(multiply(x, s), %w): the weight that arrives at run time is scaled, being smaller.

    Not where the kernel that computes the data multiplies them for nothing, nor with padding, whose
    zeros an infinite scale would turn to NaN.
    """
    layer = layer_of_argument(node)
    product = node.arguments[0] if layer is not None else None
    factors = None if product is None else FACTORS.rule_of(product)
    if layer is None or layer.input_axis is None or factors is None:
        return None
    if not isinstance(product, Call) or uses.get(product, 1) > 1 or _is_padded(node):
        return None
    elements, weight = prod(static_shape(product) or ()), layer.weight.data
    if elements < SMALLER * weight.size:
        return None
    for data, scale in factors(product):
        is_computed = isinstance(data, Call) and uses.get(data, 1) == 1
        vector = None if is_computed else _vector(scale, product, layer.data_channel_axis)
        if vector is None or data.type != product.type:
            continue
        shape = [1] * weight.ndim
        shape[layer.input_axis] = -1
        scaled = call("multiply", node.arguments[1], reshape(vector, shape))
        return recall(node, (data, scaled))
    return None


def _vector(scale: Expr, product: Expr, axis: int) -> Expr | None:
    """A scale that has one element for each channel of a product, or None."""
    shape, whole = static_shape(scale), static_shape(product)
    if shape is None or whole is None or scale.type == product.type:
        return None
    position = axis - len(whole) + len(shape)
    others = [size for n, size in enumerate(shape) if n != position]
    return (
        scale if position >= 0 and set(others) <= {1} and shape[position] == whole[axis] else None
    )


def _is_padded(node: Call) -> bool:
    padding = attribute(node, "padding", 0)
    return padding not in (0, ()) and set(padding) != {0}
