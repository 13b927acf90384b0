"""Titles of kernels show shapes as the user's program has them, whatever lies in memory."""

from __future__ import annotations

import pytest

import relay_tune as rt
from relay_tune.building.program_form import fused_module, kernel_functions, program_module
from relay_tune.codegen.target import parse_target
from relay_tune.ir.expr import Call, Function
from relay_tune.ir.types import TensorType, TupleType
from relay_tune.op.logical_shape import logical_shape, result_shape
from relay_tune.typing.infer import infer_types

INPUTS = "%x: Tensor[(1, 4, 9, 10), float32], %w: Tensor[(16, 4, 3, 3), float32]"
CONVOLUTION = "nn.conv2d(%x, %w, padding=[1, 1])"


def shapes(body: str, inputs: str = INPUTS) -> list[tuple[object, ...] | None]:
    """The shape in the title of each kernel, in order."""
    text = f'#[version = "0.0.5"]\ndef @main({inputs}) {{ {body} }}'
    module = infer_types(rt.parse(text, source_name="a.relay"))
    fused = fused_module(module, target=parse_target("x86_64-linux-gnu:skylake-avx512"))
    return [logical_shape(function) for function in kernel_functions(fused)]


@pytest.mark.parametrize(
    ("body", "last"),
    [
        (f"nn.relu({CONVOLUTION})", (1, 16, 9, 10)),
        (f"nn.max_pool2d({CONVOLUTION}, pool_size=[2, 2], strides=[2, 2])", (1, 16, 4, 5)),
        (f"nn.global_avg_pool2d({CONVOLUTION})", (1, 16, 1, 1)),
        (f"mean({CONVOLUTION}, axis=[2, 3])", (1, 16)),
        (f"sum({CONVOLUTION}, axis=[1])", (1, 9, 10)),
        ("transpose(%x, axes=[0, 2, 3, 1])", (1, 9, 10, 4)),
        ("nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]])", (1, 4, 11, 12)),
    ],
)
def test_the_last_kernel_has_the_shape_of_the_result(body: str, last: tuple[int, ...]) -> None:
    assert shapes(body)[-1] == last


def test_a_margin_for_the_next_convolution_is_not_shown() -> None:
    two = f"let %y = nn.relu({CONVOLUTION}); nn.conv2d(%y, %v, padding=[2, 2])"
    found = shapes(two, f"{INPUTS}, %v: Tensor[(8, 16, 5, 5), float32]")
    assert (1, 16, 9, 10) in found
    assert found[-1] == (1, 8, 9, 10)
    assert all(shape in {(1, 4, 9, 10), (1, 16, 9, 10), (1, 8, 9, 10)} for shape in found[-2:])


def test_models_that_are_channels_last_stay_so() -> None:
    body = 'nn.conv2d(%x, %w, padding=[1, 1], data_layout="NHWC", kernel_layout="HWIO")'
    inputs = "%x: Tensor[(1, 9, 10, 4), float32], %w: Tensor[(3, 3, 4, 16), float32]"
    assert shapes(f"nn.relu({body})", inputs)[-1] == (1, 9, 10, 16)


def test_names_of_sizes_are_shown() -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(n, 4), float32]) { nn.relu(%x) }'
    body = program_module(infer_types(rt.parse(text))).main.body
    assert isinstance(body, Call)
    assert isinstance(body.callee, Function)
    shape = logical_shape(body.callee)
    assert shape is not None
    assert [str(dim) for dim in shape] == ["n", "4"]


def test_the_first_tensor_of_a_tuple_counts() -> None:
    pair = TupleType((TupleType(()), TensorType((2, 3), "float32")))
    assert result_shape(pair) == (2, 3)
    assert result_shape(TupleType(())) is None
    assert result_shape(None) is None
