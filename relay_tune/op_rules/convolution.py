"""Everything that passes know of a convolution, entered at once.

A new convolution runs in channels-last layouts, takes scales into its weights, leaves its padding
to what computes its data, sums bytes in int32, and shares kernels with poolings and pointwise
convolutions when it is named here, whether it is one of ours or is registered from outside.
"""

from __future__ import annotations

from relay_tune.ir.operator import Operator
from relay_tune.op_rules.fold import layers as fold
from relay_tune.op_rules.fold.layers import LAYERS
from relay_tune.op_rules.fusion import convolution as fusion
from relay_tune.op_rules.fusion.table import FUSION
from relay_tune.op_rules.layout import convolution as layout
from relay_tune.op_rules.layout.table import LAYOUT
from relay_tune.op_rules.padding import PADDING, convolution_padding
from relay_tune.op_rules.quantize.layers import integer_layer, integer_transposed_layer
from relay_tune.op_rules.quantize.table import AFFINE
from relay_tune.op_rules.simplify.nn.convolution import elements_over_padding
from relay_tune.op_rules.simplify.table import SIMPLIFY


def add_convolution(*operators: Operator | str) -> None:
    """Enter convolutions: arguments and attributes mean what those of nn.conv2d mean.

    Raises InputError if one is not registered or is entered already.
    """
    LAYOUT.add(layout.CONVOLUTION, *operators)
    LAYERS.add(fold.CONVOLUTION, *operators)
    FUSION.add(fusion.CONVOLUTION, *operators)
    PADDING.add(convolution_padding, *operators)
    AFFINE.add(integer_layer, *operators)
    SIMPLIFY.add((elements_over_padding,), *operators)


def add_transposed_convolution(*operators: Operator | str) -> None:
    """Enter transposed convolutions, with the attributes of nn.conv2d_transpose.

    Raises InputError if one is not registered or is entered already.
    """
    LAYOUT.add(layout.TRANSPOSED_CONVOLUTION, *operators)
    LAYERS.add(fold.TRANSPOSED_CONVOLUTION, *operators)
    AFFINE.add(integer_transposed_layer, *operators)
    FUSION.add(fusion.TRANSPOSED_CONVOLUTION, *operators)


add_convolution("nn.conv1d", "nn.conv2d", "nn.conv3d")
add_transposed_convolution("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose")
