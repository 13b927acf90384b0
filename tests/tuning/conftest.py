"""Small networks to tune."""

from __future__ import annotations

import numpy as np
import pytest

from relay_tune.codegen.target import Target, native_target
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.module import Module
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.tuning.tasks import Task, extract_tasks

TWO_LAYERS = """
#[version = "0.0.5"]
def @main(%x: Tensor[(32, 48), float32], %w: Tensor[(64, 48), float32],
          %v: Tensor[(24, 64), float32]) {
  %0 = nn.dense(%x, %w);
  %1 = nn.relu(%0);
  nn.dense(%1, %v)
}
"""

CONVOLUTION = """
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 10, 10, 32), float32], %w: Tensor[(3, 3, 32, 32), float32]) {
  nn.conv2d(%x, %w, padding=(1, 1), channels=32, kernel_size=(3, 3), data_layout="NHWC",
    kernel_layout="HWIO")
}
"""


@pytest.fixture
def target() -> Target:
    return native_target()


@pytest.fixture
def module() -> Module:
    return parse(TWO_LAYERS)


@pytest.fixture
def tasks(module: Module) -> list[Task]:
    return extract_tasks(default_pipeline()(module))


@pytest.fixture
def convolution_task() -> Task:
    """A convolution with known weights, which several algorithms can compute."""
    weights = np.random.default_rng(0).standard_normal((3, 3, 32, 32)).astype("float32")
    bound = BindParameters({"w": weights})(parse(CONVOLUTION))
    return extract_tasks(default_pipeline()(bound))[0]
