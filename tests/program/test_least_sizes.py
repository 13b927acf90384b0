"""Sizes that are no smaller than the windows which move along them."""

from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.errors import RelayError
from relay_tune.ir.types import FuncType, TensorType
from relay_tune.program.least_sizes import least_sizes
from relay_tune.program.open_primitive import open_primitive
from relay_tune.typing.infer import infer_types

TAPS = "%w: Tensor[(3, 3, 16, 16), float32]"
LAYOUT = 'channels=16, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO"'


def convolution(size: str, attributes: str) -> str:
    data = f"%x: Tensor[(1, {size}, 9, 16), float32]"
    return f"def @main({data}, {TAPS}) {{ nn.conv2d(%x, %w, {LAYOUT}, {attributes}) }}"


@pytest.mark.parametrize(
    ("size", "attributes", "least", "result"),
    [
        ("h", "padding=[0, 0]", 3, "s0"),
        ("h", "padding=[0, 0], dilation=[2, 2]", 5, "s0"),
        ("2 * h", "padding=[0, 0]", 2, "2 * s0"),
        ("h", "padding=[1, 1]", None, "s0"),
        ("?", "padding=[0, 0]", 3, "s0"),
    ],
)
def test_a_window_fits(size: str, attributes: str, least: int | None, result: str) -> None:
    main = infer_types(rt.parse(convolution(size, attributes))).main
    named = open_primitive(main)
    assert isinstance(named.function.type, FuncType)
    shape = named.function.type.result
    assert isinstance(shape, TensorType)
    assert str(shape.shape[1]) == result
    assert least_sizes(named.function) == {}
    source = named.symbols["s0"]
    assert source.offset == (0 if least is None else (least - 1) * source.divisor)


@pytest.mark.parametrize("size", ["h", "?"])
def test_windows_that_do_not_fit_are_refused_with_the_size_that_they_need(size: str) -> None:
    model = rt.build(rt.parse(convolution(size, "padding=[0, 0]")))
    taps = np.ones((3, 3, 16, 16), np.float32)
    for rows in (3, 4, 11):
        data = np.ones((1, rows, 9, 16), np.float32)
        expected = np.full((1, rows - 2, 7, 16), 144.0)
        np.testing.assert_allclose(model(data, taps), expected, rtol=1e-5)
    for rows in (1, 2):
        with pytest.raises(RelayError, match="it needs a size of at least 3"):
            model(np.ones((1, rows, 9, 16), np.float32), taps)
