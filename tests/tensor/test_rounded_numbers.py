import numpy as np
import pytest

from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Unary, binary, cast, unary
from relay_tune.tensor.rounded_numbers import UNIT, with_rounded_numbers
from relay_tune.tensor.tensor import compute, input_tensor
from relay_tune.tensor.walk import sub_expressions

HALVES = np.array([-0.5, 0.5, 1.5, 2.5, -1.5, 254.5, 255.5, -0.0, 0.49999997], np.float32)
FAR = np.array([-np.inf, np.inf, np.nan, 3e38, -3e38, 2.0**24 + 2, -(2.0**31)], np.float32)


def values():
    near = np.random.default_rng(0).uniform(-400, 400, 4000).astype(np.float32)
    return np.concatenate([HALVES, FAR, near, np.rint(near) + np.float32(0.5)])


def stored(y, zero, dtype):
    """What qnn.quantize is composed of."""
    lowest = np.iinfo(dtype).min
    shifted = unary("round", y) + float(zero - lowest)
    byte = cast(binary("min", binary("max", shifted, 0.0), 255.0), "uint8")
    return byte if not lowest else cast(byte, dtype) + lowest


def both_ways(data, body):
    """The results of body(element) as it is, and with its rounded numbers rewritten."""
    source = input_tensor("x", data.shape, str(data.dtype))
    plain = compute("plain", data.shape, lambda i: body(source[i]))
    found = compute("found", data.shape, lambda i: with_rounded_numbers(body(source[i])))
    return evaluate([plain, found], {source: data}), found.body


def rounds(body):
    return any(isinstance(n, Unary) and n.operation == "round" for n in sub_expressions(body))


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("zero", [0, 3, 127, 128])
@pytest.mark.parametrize("scale", [1.0, 0.7, -3.25])
def test_stored_numbers_are_the_same(dtype, zero, scale):
    zero = zero if dtype == "uint8" else zero - 128
    (plain, found), body = both_ways(values(), lambda x: stored(x * scale, zero, dtype))
    np.testing.assert_array_equal(found, plain)
    assert not rounds(body)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_numbers_that_become_real_again_have_the_same_bits(dtype):
    zero = -5 if dtype == "int8" else 11

    def body(x):
        return cast(cast(stored(x, zero, dtype), "int32") - zero, "float32") * 0.3

    (plain, found), new = both_ways(values(), body)
    np.testing.assert_array_equal(found.view(np.int32), plain.view(np.int32))
    assert not any(node.dtype in ("int8", "uint8") for node in sub_expressions(new))


def test_sums_are_scaled_and_moved_in_one_step():
    sums = np.random.default_rng(1).integers(-(2**20), 2**20, 5000).astype(np.int32)
    (plain, found), new = both_ways(
        sums, lambda x: cast(stored(cast(x, "float32") * 2.0**-12, 7, "uint8"), "int32")
    )
    np.testing.assert_array_equal(found, plain)
    products = [node for node in sub_expressions(new) if getattr(node, "operation", "") == "add"]
    assert any(getattr(node.left, "operation", "") == "mul" for node in products)


def test_products_of_floats_are_limited_before_anything_is_added():
    _, new = both_ways(values(), lambda x: stored(x * 0.7, 0, "uint8"))
    added = [
        node
        for node in sub_expressions(new)
        if getattr(node, "operation", "") == "add" and getattr(node.right, "value", 0) == UNIT
    ]
    assert [node.left.operation for node in added] == ["min"]


@pytest.mark.parametrize(
    "body",
    [
        lambda x: cast(binary("min", binary("max", unary("round", x), 1.0), 9.0), "uint8"),
        lambda x: cast(binary("min", binary("max", unary("floor", x), 0.0), 9.0), "uint8"),
        lambda x: cast(binary("min", binary("max", unary("round", x) + 0.5, 0.0), 9.0), "uint8"),
        lambda x: cast(binary("max", unary("round", x), 0.0), "int32"),
        lambda x: cast(binary("min", binary("max", unary("round", x), 0.0), 2.0**22), "int32"),
    ],
)
def test_other_conversions_stay(body):
    source = input_tensor("x", (4,), "float32")
    plain = compute("plain", (4,), lambda i: body(source[i])).body
    new = with_rounded_numbers(plain)
    assert [type(node) for node in sub_expressions(new)] == [
        type(node) for node in sub_expressions(plain)
    ]


def test_numbers_that_wrapped_around_stay_integers():
    def body(x):
        return cast(cast(stored(x, 0, "uint8"), "int8"), "float32")

    (plain, found), _ = both_ways(values(), body)
    np.testing.assert_array_equal(found, plain)
