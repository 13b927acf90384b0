"""Every operator, once: attributes, type relation, computation, reference.

Importing this package registers all operators.
"""

from relay_tune.op import (
    nn_activation,
    nn_adaptive_pool,
    nn_bias,
    nn_conv,
    nn_conv_transpose,
    nn_global_pool,
    nn_matmul,
    nn_pool,
    nn_softmax,
)

__all__ = [
    "nn_activation",
    "nn_adaptive_pool",
    "nn_bias",
    "nn_conv",
    "nn_conv_transpose",
    "nn_global_pool",
    "nn_matmul",
    "nn_pool",
    "nn_softmax",
]
