"""What one odd element of a sample does to the others, under each level of accuracy."""

from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.transform.bind_parameters import BindParameters

pytestmark = pytest.mark.builds_apart

ODD = [1e4, 1e6, 1e30, np.inf, -np.inf, np.nan]
RNG = np.random.default_rng(20)


def numbers(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def model(
    body: str,
    accuracy: str,
    constants: dict[str, np.ndarray] | None = None,
    **types: tuple[int, ...],
) -> rt.Model:
    parameters = ", ".join(f"%{n}: Tensor[{t}, float32]" for n, t in types.items())
    text = f'#[version = "0.0.5"]\ndef @main({parameters}) {{ {body} }}'
    module = BindParameters(constants or {})(rt.parse(text))
    return rt.build(module, threads=1, accuracy=accuracy)


@pytest.fixture(scope="module", params=["exact", "fast"])
def product(request: pytest.FixtureRequest) -> rt.Model:
    return model("nn.matmul(%x, %w)", request.param, x=(64, 512), w=(512, 512))


@pytest.mark.parametrize("odd", ODD)
def test_rows_of_a_product_do_not_meet(product: rt.Model, odd: float) -> None:
    x, w = numbers(64, 512), numbers(512, 512)
    before = product(x, w)
    x[3, 77] = odd
    after = product(x, w)
    others = np.arange(64) != 3
    np.testing.assert_array_equal(after[others], before[others])
    with np.errstate(all="ignore"):
        direct = x[3].astype("float64") @ w.astype("float64")
    np.testing.assert_allclose(after[3], direct, 0, 1e-5 * np.abs(direct).max())


@pytest.mark.parametrize("odd", ODD)
def test_columns_of_a_product_do_not_meet(product: rt.Model, odd: float) -> None:
    x, w = numbers(64, 512), numbers(512, 512)
    before = product(x, w)
    w[77, 300] = odd
    after = product(x, w)
    others = np.arange(512) != 300
    np.testing.assert_array_equal(after[:, others], before[:, others])


CONVOLUTIONS = {"3x3": (1, 1), "stride 2": (2, 1), "dilation": (1, 2)}
"""Stride and dilation."""


def touched(stride: int, dilation: int, index: int, size: int, tile: int) -> np.ndarray:
    """Which of `size` outputs along one axis read an index, or share a tile with one that does.

    With a dilation, a tile is the outputs of one phase in a period.
    """
    outputs = np.arange(size)
    reads = [stride * outputs + dilation * (tap - 1) == index for tap in range(3)]
    distances = np.abs(outputs[:, None] - outputs[np.any(reads, axis=0)])
    shared = (distances < tile * dilation) & (distances % dilation == 0)
    return np.asarray(shared.any(axis=1))


@pytest.mark.parametrize(("accuracy", "tile"), [("exact", 1), ("fast", 4)])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_samples_of_a_convolution_do_not_meet(case: str, accuracy: str, tile: int) -> None:
    stride, dilation = CONVOLUTIONS[case]
    x, w = numbers(3, 32, 13, 13), numbers(32, 32, 3, 3)
    options = f"padding={[dilation] * 4}, strides={[stride] * 2}, dilation={[dilation] * 2}"
    built = model(f"nn.conv2d(%x, %w, {options})", accuracy, {"w": w}, x=x.shape, w=w.shape)
    before = built(x)
    size = before.shape[-1]
    own = np.zeros(before.shape, bool)
    rows, columns = (touched(stride, dilation, index, size, tile) for index in (6, 7))
    own[1] = rows[:, None] & columns
    for odd in ODD:
        changed = x.copy()
        changed[1, 5, 6, 7] = odd
        after = built(changed)
        assert (after != before).any()
        np.testing.assert_array_equal(after[~own], before[~own])


def test_levels_are_named() -> None:
    with pytest.raises(rt.InputError, match="relaxed"):
        model("nn.relu(%x)", "sloppy", x=(3,))
