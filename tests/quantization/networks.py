"""Small float networks and samples for quantization."""

from __future__ import annotations

import numpy as np

import relay_tune as rt
from relay_tune.ir.module import Module
from relay_tune.transform.bind_parameters import BindParameters

IMAGES = """
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(8, 3, 3, 3), float32],
          %g: Tensor[(8), float32], %b: Tensor[(8), float32], %m: Tensor[(8), float32],
          %v: Tensor[(8), float32], %d: Tensor[(8, 1, 3, 3), float32],
          %p: Tensor[(12, 8, 1, 1), float32], %c: Tensor[(12), float32],
          %l: Tensor[(5, 12), float32]) {
  %0 = nn.conv2d(%x, %w, padding=(1, 1));
  %1 = nn.batch_norm(%0, %g, %b, %m, %v).0;
  %2 = nn.max_pool2d(nn.relu(%1), pool_size=(2, 2), strides=(2, 2));
  %3 = nn.conv2d(%2, %d, padding=(1, 1), groups=8);
  %4 = nn.bias_add(nn.conv2d(nn.relu(%3), %p), %c);
  %5 = mean(nn.relu(%4), axis=(2, 3));
  nn.dense(%5, %l)
}"""
"""A convolution with batch normalization, a depthwise and a pointwise one, a dense layer."""


def bound(text: str, seed: int = 0, free: tuple[str, ...] = ("x",)) -> Module:
    """A program of which all inputs but some are random constants."""
    module = rt.infer_types(rt.parse(text))
    random = np.random.default_rng(seed)
    values = {}
    for param in module.main.params:
        if param.name not in free:
            shape = param.annotation.shape
            values[param.name] = np.abs(random.standard_normal(shape)).astype("float32") + 0.1
            if param.name != "v":
                values[param.name] *= random.choice([-1, 1], shape).astype("float32")
    return rt.infer_types(BindParameters(values)(module))


def images(count: int = 12, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, 1, 3, 8, 8)).astype("float32")
