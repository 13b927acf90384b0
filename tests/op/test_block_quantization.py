"""qnn.dequantize_blocks: numbers of few bits, odd sizes, zero points, odd scales."""

import ml_dtypes
import numpy as np
import pytest

import relay_tune as rt
from relay_tune.op.block_quantization import (
    dequantize_blocks,
    packed_numbers,
    signed_numbers,
    unpacked_numbers,
)


def plain(numbers, scale, zero, block):
    """(number - zero point) * scale, one by one."""
    found = np.empty(numbers.shape, np.float32)
    for row, at in np.ndindex(*numbers.shape):
        point = zero[row, at // block] if zero.ndim else zero
        difference = np.float32(numbers[row, at]) - np.float32(point)
        found[row, at] = difference * np.float32(scale[row, at // block])
    return found


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize(("size", "block"), [(32, 16), (37, 16), (7, 32), (65, 32), (1, 4)])
@pytest.mark.parametrize("points", ["none", "uint8", "float16"])
def test_numbers_are_unpacked(check_record, bits, size, block, points):
    random, blocks = np.random.default_rng(bits + size), -(-size // block)
    numbers = random.integers(0, 2**bits, (3, size)).astype(np.uint8)
    numbers[0, :2], numbers[-1, -1] = 0, 2**bits - 1
    scale = (random.random((3, blocks)) - 0.5).astype(np.float16)
    zero = np.asarray(
        random.integers(0, 2**bits, (3, blocks)), "uint8" if points == "none" else points
    )
    if points == "none":
        zero = np.uint8(2 ** (bits - 1)) * np.ones((), np.uint8)
    data = packed_numbers(numbers, bits)
    np.testing.assert_array_equal(unpacked_numbers(data, bits, size), numbers)
    attributes = {"bits": bits, "block": block, "size": size}
    found = check_record(dequantize_blocks, [data, scale, zero], attributes, 0.0)
    np.testing.assert_array_equal(found, plain(numbers, scale, zero, block))


@pytest.mark.parametrize("bits", [2, 4])
def test_words_have_numbers_with_signs(check_record, bits):
    random, size = np.random.default_rng(bits), 37
    numbers = random.integers(0, 2**bits, (3, size)).astype(np.uint8)
    scale = random.random((3, 3)).astype(np.float16)
    zero = random.integers(-4, 4, (3, 3)).astype(np.int8)
    words = signed_numbers(packed_numbers(numbers, bits), bits)
    assert (words.dtype, words.shape) == (np.int32, (3, -(-size * bits // 32)))
    attributes = {"bits": bits, "block": 16, "size": size}
    found = check_record(dequantize_blocks, [words, scale, zero], attributes, 0.0)
    middle = numbers.astype(np.int32) - 2 ** (bits - 1)
    np.testing.assert_array_equal(found, plain(middle, scale, zero, 16))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_scales_that_are_no_numbers_stay_in_their_block(check_record, dtype):
    data = np.arange(-6, 6, dtype=np.int8).reshape(1, 12)
    scale = np.array(
        [[np.nan, np.inf, 0.5]], dtype=ml_dtypes.bfloat16 if dtype[0] == "b" else dtype
    )
    found = check_record(dequantize_blocks, [data, scale, np.zeros((), np.int8)], {"block": 4})
    assert np.isnan(found[0, :4]).all()
    np.testing.assert_array_equal(found[0, 4:8], [-np.inf, -np.inf, np.nan, np.inf])
    np.testing.assert_array_equal(found[0, 8:], [1, 1.5, 2, 2.5])


@pytest.mark.parametrize(
    "call",
    [
        "qnn.dequantize_blocks(%x, %s, 0u8, bits=3, block=4)",
        "qnn.dequantize_blocks(%x, %s, 0u8, bits=4, block=4)",
        "qnn.dequantize_blocks(%x, %s, 0u8, bits=8, block=4, size=9)",
        "qnn.dequantize_blocks(%x, %s, 0u8, bits=8, block=0)",
        "qnn.dequantize_blocks(%x, %x, 0u8, bits=8, block=4)",
        "qnn.dequantize_blocks(%s, %s, 0u8, bits=8, block=4)",
        "qnn.dequantize_blocks(%i, %s, 0u8, bits=4, block=8)",
    ],
)
def test_other_types_are_refused(call):
    types = "%x: Tensor[(3, 8), uint8], %i: Tensor[(3, 8), int8], %s: Tensor[(3, 2), float32]"
    with pytest.raises(rt.RelayError):
        rt.infer_types(rt.parse(f"def @main({types}) {{ {call} }}"))
