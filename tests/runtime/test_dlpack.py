"""Tensors of torch as inputs and as room for results, without copies."""

from __future__ import annotations

import gc
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import relay_tune as rt
from relay_tune.runtime.dlpack import array_of_tensor

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    "name", ["float32", "float64", "float16", "int8", "int64", "uint8", "bool", "bfloat16",
             "float8_e4m3fn", "float8_e5m2"],
)  # fmt: skip
def test_a_tensor_is_read_where_it_is(name: str) -> None:
    tensor = torch.ones((3, 4), dtype=torch.float32).to(getattr(torch, name))
    array = array_of_tensor(tensor)
    assert array.ctypes.data == tensor.data_ptr()
    assert array.dtype == np.dtype(getattr(ml_dtypes, name, name))
    assert array.shape == (3, 4)
    assert (array.astype(np.float32) == 1.0).all()


def test_a_strided_bfloat16_tensor_keeps_its_strides_and_its_memory() -> None:
    tensor = torch.arange(24, dtype=torch.float32).reshape(4, 6).to(torch.bfloat16).t()[1:, ::2]
    array = array_of_tensor(tensor)
    expected = tensor.to(torch.float32).numpy().copy()
    del tensor
    gc.collect()
    torch.zeros(1000)
    np.testing.assert_array_equal(array.astype(np.float32), expected)


@pytest.mark.parametrize("shape", [(), (0, 3)])
def test_scalars_and_empty_tensors(shape: tuple[int, ...]) -> None:
    tensor: Any = torch.ones(shape, dtype=torch.bfloat16)
    assert array_of_tensor(tensor).shape == shape


def test_a_model_takes_tensors_and_fills_tensors() -> None:
    model = rt.build(rt.parse("def @main(%x: Tensor[(4, 8), float32]) { nn.relu(%x) }"))
    x, room = torch.linspace(-1, 1, 32).reshape(4, 8), torch.empty(4, 8)
    model(x, out=room)
    assert torch.equal(room, x.clamp(min=0))
    strided = torch.empty(8, 4).t()
    model(x, out=strided)
    assert torch.equal(strided, room)


def test_bfloat16_goes_through_a_model() -> None:
    model = rt.build(rt.parse("def @main(%x: Tensor[(4, 8), bfloat16]) { nn.relu(%x) }"))
    x = torch.linspace(-1, 1, 32).reshape(4, 8).to(torch.bfloat16)
    room = torch.empty(4, 8, dtype=torch.bfloat16)
    model(x, out=room)
    assert torch.equal(room, x.clamp(min=0))


def test_a_tensor_with_a_gradient_is_refused_with_the_way_out() -> None:
    model = rt.build(rt.parse("def @main(%x: Tensor[(4), float32]) { nn.relu(%x) }"))
    with pytest.raises(rt.InputError, match="gradient") as caught:
        model(torch.ones(4, requires_grad=True))
    assert "detach" in caught.value.message
    with pytest.raises(rt.InputError, match="cannot be written into this Tensor"):
        model(torch.ones(4), out=torch.ones(4, requires_grad=True))
