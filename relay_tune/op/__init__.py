"""Every operator, once: attributes, type relation, computation, reference.

Importing this package registers all operators.
"""

from relay_tune.op import (
    nn_activation,
    nn_adaptive_pool,
    nn_batch_norm,
    nn_bias,
    nn_conv,
    nn_conv_transpose,
    nn_global_pool,
    nn_local_norm,
    nn_matmul,
    nn_normalization,
    nn_pool,
    nn_softmax,
)

__all__ = [
    "nn_activation",
    "nn_adaptive_pool",
    "nn_batch_norm",
    "nn_bias",
    "nn_conv",
    "nn_conv_transpose",
    "nn_global_pool",
    "nn_local_norm",
    "nn_matmul",
    "nn_normalization",
    "nn_pool",
    "nn_softmax",
]
