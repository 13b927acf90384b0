"""The ten tasks whose schedules are measured as tables, none of which the cost model learns from.

Convolutions 3x3 of large and of small images, 1x1, depthwise, the first one of a network and a
transposed one; two matrix products; softmax, and attention.
"""

from __future__ import annotations

import numpy as np

from relay_tune.frontend.relay_text import parse
from relay_tune.ir.expr import Var
from relay_tune.ir.types import TensorType
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.tuning.tasks import Task, extract_tasks

NETWORKS = {
    "conv3x3_128x28": """def @main(%x: Tensor[(1, 28, 28, 128), float32],
        %w: Tensor[(3, 3, 128, 128), float32]) {
      nn.relu(nn.conv2d(%x, %w, padding=(1, 1), channels=128, kernel_size=(3, 3),
        data_layout="NHWC", kernel_layout="HWIO"))
    }""",
    "conv1x1_256x56": """def @main(%x: Tensor[(1, 56, 56, 64), float32],
        %w: Tensor[(1, 1, 64, 256), float32]) {
      nn.relu(nn.conv2d(%x, %w, channels=256, kernel_size=(1, 1), data_layout="NHWC",
        kernel_layout="HWIO"))
    }""",
    "depthwise_144x56": """def @main(%x: Tensor[(1, 58, 58, 144), float32],
        %w: Tensor[(3, 3, 1, 144), float32]) {
      nn.relu(nn.conv2d(%x, %w, groups=144, channels=144, kernel_size=(3, 3),
        data_layout="NHWC", kernel_layout="HWIO"))
    }""",
    "matmul_512": """def @main(%x: Tensor[(512, 512), float32],
        %w: Tensor[(512, 512), float32]) { nn.dense(%x, %w) }""",
    "matmul_128x768x3072": """def @main(%x: Tensor[(128, 768), float32],
        %w: Tensor[(3072, 768), float32]) { nn.dense(%x, %w) }""",
    "softmax_1536x128": """def @main(%x: Tensor[(1536, 128), float32]) {
      nn.softmax(%x) }""",
    "conv3x3_512x7": """def @main(%x: Tensor[(1, 7, 7, 512), float32],
        %w: Tensor[(3, 3, 512, 512), float32]) {
      nn.relu(nn.conv2d(%x, %w, padding=(1, 1), channels=512, kernel_size=(3, 3),
        data_layout="NHWC", kernel_layout="HWIO"))
    }""",
    "stem7x7_3x224": """def @main(%x: Tensor[(1, 3, 224, 224), float32],
        %w: Tensor[(64, 3, 7, 7), float32]) {
      nn.relu(nn.conv2d(%x, %w, strides=(2, 2), padding=(3, 3), channels=64, kernel_size=(7, 7)))
    }""",
    "transposed4x4_256x16": """def @main(%x: Tensor[(1, 256, 16, 16), float32],
        %w: Tensor[(256, 128, 4, 4), float32]) {
      nn.conv2d_transpose(%x, %w, strides=(2, 2), padding=(1, 1), channels=128, kernel_size=(4, 4))
    }""",
    "attention_12x128x64": """def @main(%q: Tensor[(12, 128, 64), float32],
        %k: Tensor[(12, 128, 64), float32], %v: Tensor[(12, 128, 64), float32]) {
      nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k, transpose_b=True)), %v,
        transpose_b=False)
    }""",
}


def largest_task(name: str, seed: int) -> Task:
    """The task with the most arithmetic of a network, its weights bound to random constants."""
    module = parse(NETWORKS[name])
    values = {var.name: _weight(var, seed) for var in module.main.params if var.name == "w"}
    fused = default_pipeline()(BindParameters(values)(module))
    return extract_tasks(fused)[0]


def _weight(var: Var, seed: int) -> np.ndarray:
    assert isinstance(var.annotation, TensorType)
    shape = tuple(int(str(dim)) for dim in var.annotation.shape)
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")
