"""Products of rows with a weight that others read, too: the weight in panels, which all read.

    before:  nn.dense(%x, %w)                                       %x: [16, 512], %w: [2048, 512]
    after:   %p = transpose(reshape(%w, [32, 64, 512]), axes=[0, 2, 1])
             %y = nn.batch_matmul(reshape(%x, [1, 16, 512]), %p, transpose_b=False)
             reshape(transpose(%y, axes=[1, 0, 2]), [16, 2048])

A kernel reads a panel of 64 columns in a line. Constants are packed so when a program is built.
"""

from __future__ import annotations

from math import prod

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.op_rules.fold.layers import layer_of_argument
from relay_tune.op_rules.matching import static_shape, tensor_type
from relay_tune.op_rules.typed import call, recall, reshape
from relay_tune.quick_dataclass import dataclass

WIDTH = 64
"""Columns of a panel: register tiles are as wide, or as a part of it."""


@dataclass(frozen=True, slots=True)
class SharedProduct:
    """A product of rows with a matrix that is no constant.

    Attributes:
        product: the call; its first argument are the rows, its second one the matrix.
        output_axis: the axis of the matrix along which the columns of the result lie.
        steps: how many elements of a row are multiplied.
        columns: of the result, a multiple of `WIDTH`.
    """

    product: Call
    output_axis: int
    steps: int
    columns: int

    @property
    def weight(self) -> Expr:
        """The matrix."""
        return self.product.arguments[1]

    def on(self, rows: Expr, weight: Expr) -> Call:
        """The product with other operands of the same types."""
        return recall(self.product, (rows, weight))

    def panels(self, weight: Expr) -> Call:
        """A matrix like the weight as [columns // 64, steps, 64]."""
        count = self.columns // WIDTH
        if self.output_axis == 0:
            return call("transpose", reshape(weight, (count, WIDTH, self.steps)), axes=(0, 2, 1))
        return call("transpose", reshape(weight, (self.steps, count, WIDTH)), axes=(1, 0, 2))

    def with_panels(self, rows: Expr, panels: Expr) -> Call:
        """The product of rows with the panels, in the shape of the result."""
        shape = static_shape(self.product) or ()
        count = prod(shape[:-1])
        data = reshape(rows, (1, count, self.steps))
        product = call("nn.batch_matmul", data, panels, transpose_b=False)
        return reshape(call("transpose", product, axes=(1, 0, 2)), shape)


def shared_product(node: Expr) -> SharedProduct | None:
    """A node as a product of rows with a matrix in float32, or None."""
    layer = layer_of_argument(node)
    if layer is None or isinstance(layer.layer.arguments[0], Constant):
        return None
    product, weight = layer.layer, static_shape(layer.layer.arguments[1])
    types = [tensor_type(each) for each in (*product.arguments, product)]
    if any(type_ is None or type_.dtype != "float32" for type_ in types):
        return None
    if weight is None or len(weight) != 2 or static_shape(product) is None:
        return None
    steps, columns = weight[1 - layer.output_axis], weight[layer.output_axis]
    if columns % WIDTH or not prod(static_shape(product) or ()) or not steps:
        return None
    return SharedProduct(product, layer.output_axis, steps, columns)
