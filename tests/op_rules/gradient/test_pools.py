"""Gradients of pools: sums of few points are written out where elements read them."""

from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.building.program_form import fused_module, kernel_functions
from relay_tune.op.lower import lower_function
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.derivative import gather
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.program import TensorProgram

POOLS = [
    ("nn.max_pool2d", "(1, 9, 9, 2)", "pool_size=(3, 3), padding=(1, 1, 1, 1)", 2),
    ("nn.max_pool2d", "(1, 10, 7, 2)", "pool_size=(2, 3), padding=(0, 1, 1, 0)", 2),
    ("nn.max_pool2d", "(1, 10, 10, 2)", "pool_size=(3, 3)", 2),  # the last row has no window
    ("nn.avg_pool2d", "(1, 9, 9, 2)", "pool_size=(3, 3), padding=(1, 1, 1, 1)", 2),
]


def _gradient(operator: str, shape: str, attributes: str, stride: int) -> TensorProgram:
    call = f'{operator}(%x, {attributes}, strides=({stride}, {stride}), layout="NHWC")'
    module = rt.parse(f"def @main(%x: Tensor[{shape}, float32]) {{ {call} }}")
    (kernel,) = kernel_functions(fused_module(rt.infer_types(rt.vjp(module))))[-1:]
    return lower_function(kernel)


def _value(program: TensorProgram) -> np.ndarray:
    random = np.random.default_rng(0)
    arrays = [random.integers(-3, 3, each.shape).astype(each.dtype) for each in program.inputs]
    return evaluate(program.outputs, dict(zip(program.inputs, arrays, strict=True)))[-1]


@pytest.mark.parametrize("pool", POOLS)
def test_no_sum_of_a_phase_is_stored(
    pool: tuple[str, str, str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = _gradient(*pool)
    names = [tensor.name for tensor in tensors_in_order(program.outputs)]
    assert not any(name.endswith(("_sum", "_padded")) for name in names)
    monkeypatch.setattr(gather, "MOST_TERMS", 0)
    stored = _gradient(*pool)
    assert len(names) < len(tensors_in_order(stored.outputs))
    np.testing.assert_array_equal(_value(program), _value(stored))


def test_windows_of_many_points_are_stored() -> None:
    program = _gradient("nn.max_pool2d", "(1, 15, 15, 2)", "pool_size=(5, 5)", 2)
    names = [tensor.name for tensor in tensors_in_order(program.outputs)]
    assert sum(name.endswith("_sum") for name in names) == 4
