import numpy as np
import pytest

from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.schedule.loops.loop_shapes import parallel_loop
from relay_tune.tensor.expression import Axis, Scalar, literal
from relay_tune.tensor.loops import Kernel, Statement, Store
from tests.codegen.running import NATIVE, argument, check, loop

EXTENT = 97


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 16, 83, 1 << 40])
@pytest.mark.parametrize("factor, shift", [(3, 0), (3, 5), (5, -200), (-3, 10), (1 << 33, 1)])
def test_quotients_are_floored_whatever_the_range(divisor, factor, shift):
    i = Axis("i", EXTENT)
    value: Scalar = i * factor + shift
    quotients, remainders = (argument(name, EXTENT, "int64") for name in "qr")
    zeros = np.zeros(EXTENT, np.int64)
    body = loop(
        i,
        Store(quotients, (i,), value // divisor + value // divisor // 3 * 1000),
        Store(remainders, (i,), value % divisor + value // divisor % 5 * 1000),
    )
    found = check(body, {quotients: zeros, remainders: zeros})
    first = (np.arange(EXTENT) * factor + shift) // divisor
    np.testing.assert_array_equal(found[quotients], first + first // 3 * 1000)


def tile_numbers() -> tuple[Statement, Kernel]:
    """out[a, b, c] = 1 in one parallel loop over three numbers."""
    axes = [Axis("a", 5), Axis("b", 6), Axis("c", 7)]
    out = argument("out", (5, 6, 7))
    body = parallel_loop(axes, Store(out, tuple(axes), literal(1.0, "float32")))
    return body, Kernel("kernel", (out,), (out,), body)


def test_numbers_of_fused_loops_are_found_without_signs():
    body, kernel = tile_numbers()
    text = module_text([kernel], NATIVE)
    assert "udiv i32" in text and "sdiv" not in text and "srem" not in text
    (out,) = kernel.parameters
    found = check(body, {out: np.zeros((5, 6, 7), np.float32)}, threads=3)
    assert found[out].all()


def test_an_index_that_may_be_negative_keeps_its_sign():
    i, out = Axis("i", EXTENT), argument("out", EXTENT, "int64")
    body = loop(i, Store(out, (i,), (i * 3 - 1) // 7))
    assert "sdiv" in module_text([Kernel("kernel", (out,), (out,), body)], NATIVE)
