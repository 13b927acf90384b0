"""Stores of lanes that lie apart: where sizes are known at run time only, and side by side."""

import re

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.codegen.kernels.kernel_writer import write_kernel
from relay_tune.ir.dim import Symbol
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.loops import Kernel, LoopKind, Statement, Store
from relay_tune.tensor.size import symbolic_size
from relay_tune.transform.bind_parameters import BindParameters
from tests.codegen.running import argument, check, loop

WIDTH = symbolic_size(Symbol("w"), 64)
CHANNELS = 8


def tile_of_an_image(rows: int, columns: int) -> Kernel:
    """A tile of an image, channels apart, of data with the channels beside each other."""
    row, column, channel = Axis("row", rows), Axis("column", columns), Axis("channel", CHANNELS)
    x = argument("x", rows * columns * CHANNELS)
    y = argument("y", (CHANNELS * rows * WIDTH,))
    read = x[(row * columns + column) * CHANNELS + channel]
    body = Store(y, ((channel * rows + row) * WIDTH + column,), read)
    body = loop(channel, body, kind=LoopKind.VECTOR)
    for axis in (column, row):
        body = loop(axis, body, kind=LoopKind.UNROLLED)
    return Kernel("kernel", (x, y), (x, y), body, sizes=("w",))


@pytest.mark.parametrize(("columns", "sizes"), [(4, {4}), (6, {4, 2}), (8, {8}), (3, {2, 0})])
def test_rows_of_open_width_are_stored_in_pieces(columns: int, sizes: set[int]) -> None:
    text = write_kernel(tile_of_an_image(2, columns)).text
    stored = set(re.findall(r"store (<\d+ x float>|float) ", text))
    assert stored == {f"<{size} x float>" if size else "float" for size in sizes}


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (4, 8), (9, 7), (13, 16)])
@pytest.mark.parametrize("channels", [16, 24])
def test_channels_first_results_of_dynamic_images(shape: tuple[int, int], channels: int) -> None:
    module = rt.parse(f"""
    def @main(%x: Tensor[(1, h, w, 16), float32], %k: Tensor[(3, 3, 16, {channels}), float32]) {{
      let %y = nn.conv2d(%x, %k, padding=[1, 1, 1, 1], channels={channels}, kernel_size=[3, 3],
                         data_layout="NHWC", kernel_layout="HWIO");
      transpose(nn.relu(%y), axes=[0, 3, 1, 2])
    }}
    """)
    rng = np.random.default_rng(0)
    kernel = rng.standard_normal((3, 3, 16, channels)).astype("float32")
    x = rng.standard_normal((1, *shape, 16)).astype("float32")
    bound = BindParameters({"k": kernel})(module)
    found = rt.build(bound, threads=2)(x)
    np.testing.assert_allclose(found, rt.interpret(bound, x), rtol=0, atol=2e-4)


@pytest.mark.parametrize(("dtype", "group", "lanes"), [("uint16", 2, 16), ("uint8", 4, 16)])
def test_vectors_side_by_side_are_stored_as_one(dtype: str, group: int, lanes: int) -> None:
    lane, number = Axis("lane", lanes), Axis("number", group)
    x, y = argument("x", lanes * group, dtype), argument("y", lanes * group, dtype)
    body: Statement = Store(y, (lane * group + number,), x[number * lanes + lane])
    body = loop(lane, body, kind=LoopKind.VECTOR)
    body = loop(number, body, kind=LoopKind.UNROLLED)
    kernel = Kernel("kernel", (x, y), (x, y), body)
    stored = re.findall(r"store <(\d+) x i\d+>", write_kernel(kernel).text)
    assert stored == [str(lanes * group)]
    values = np.arange(lanes * group, dtype=dtype)
    found = check(body, {x: values, y: np.zeros_like(values)})[y]
    np.testing.assert_array_equal(found, values.reshape(group, lanes).T.ravel())
