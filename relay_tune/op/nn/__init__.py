"""The operators of neural networks: nn.*."""

from relay_tune.op.nn import (
    activation,
    adaptive_pool,
    batch_norm,
    bias,
    convolution,
    global_pool,
    local_norm,
    loss,
    matmul,
    normalization,
    pad,
    pool,
    softmax,
    space_batch,
    transposed_convolution,
    upsampling,
)

__all__ = [
    "activation",
    "adaptive_pool",
    "batch_norm",
    "bias",
    "convolution",
    "global_pool",
    "local_norm",
    "loss",
    "matmul",
    "normalization",
    "pad",
    "pool",
    "softmax",
    "space_batch",
    "transposed_convolution",
    "upsampling",
]
