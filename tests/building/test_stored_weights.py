"""Weights of narrow types stay as they are stored, and kernels convert them as they read them."""

import ml_dtypes
import numpy as np
import pytest

import relay_tune as rt
from relay_tune.codegen.target import native_target
from relay_tune.op.block_quantization import packed_numbers, unpacked_numbers
from relay_tune.transform.bind_parameters import BindParameters

RANDOM = np.random.default_rng(5)
HASWELL = "x86_64-linux-gnu:haswell"
TARGETS = ["native", *([HASWELL] if "+avx2" in native_target().features.split(",") else [])]


def blocks(bits, rows, size, block):
    """Weights of few bits as parameters of a program, its text for them, and what they are."""
    shape = (rows, -(-size // block))
    numbers = RANDOM.integers(0, 2**bits, (rows, size)).astype(np.uint8)
    scale = (RANDOM.random(shape) * 0.1).astype(np.float16)
    zero = RANDOM.integers(0, 2**bits, shape).astype(np.uint8)
    spread = (np.repeat(each, block, 1)[:, :size].astype(np.float32) for each in (scale, zero))
    factor, point = spread
    data = packed_numbers(numbers, bits)
    call = f"qnn.dequantize_blocks(%w, %s, %z, bits={bits}, block={block}, size={size})"
    return {"w": data, "s": scale, "z": zero}, call, (numbers - point) * factor


def middles(bits, rows, size, block):
    """The same with zero points in the middle, as most files have them."""
    values, call, _ = blocks(bits, rows, size, block)
    values["z"] = np.full_like(values["z"], 2 ** (bits - 1))
    spread = np.repeat(values["s"], block, 1)[:, :size].astype(np.float32)
    numbers = unpacked_numbers(values["w"], bits, size).astype(np.float32)
    return values, call, (numbers - 2 ** (bits - 1)) * spread


def floats(dtype, rows, size):
    weights = RANDOM.standard_normal((rows, size)).astype(dtype)
    return {"w": weights}, 'cast(%w, dtype="float32")', weights.astype(np.float32)


def module(values, head, body):
    """A program whose parameters `values` are constants."""
    types = {name: f"Tensor[{each.shape}, {each.dtype.name}]" for name, each in values.items()}
    params = ", ".join([head, *(f"%{name}: {type_}" for name, type_ in types.items())])
    typed = rt.infer_types(rt.parse(f"def @main({params}) {{ {body} }}"))
    return BindParameters(values)(typed)


WEIGHTS = {
    "8 bits": lambda: blocks(8, 40, 64, 32),
    "4 bits": lambda: blocks(4, 40, 64, 32),
    "4 bits, odd": lambda: blocks(4, 33, 77, 16),
    "4 bits, zero in the middle": lambda: middles(4, 50, 96, 32),
    "8 bits, zero in the middle": lambda: middles(8, 20, 45, 16),
    "2 bits, zero in the middle": lambda: middles(2, 40, 99, 64),
    "2 bits": lambda: blocks(2, 17, 96, 32),
    "one block": lambda: blocks(4, 24, 30, 64),
    "bfloat16": lambda: floats(ml_dtypes.bfloat16, 40, 51),
    "float16": lambda: floats(np.float16, 19, 64),
}


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize("target", TARGETS)
def test_products(name, rows, target):
    values, weights, expected = WEIGHTS[name]()
    size = expected.shape[1]
    head = f"%x: Tensor[({rows}, {size}), float32]"
    typed = module(values, head, f"nn.relu(nn.dense(%x, {weights}))")
    model = rt.build(typed, threads=1, target=target)
    data = RANDOM.standard_normal((rows, size)).astype(np.float32)
    wanted = np.maximum(data @ expected.T, 0)
    np.testing.assert_allclose(model(data), wanted, rtol=1e-4, atol=1e-4)
    assert [len(region.steps) for region in model.compiled().regions] == [1]


def test_a_lookup_and_a_product_read_the_same_table():
    values, weights, expected = blocks(4, 50, 64, 32)
    body = f"let %t = {weights}; nn.dense(take(%t, %i, axis=0), %t)"
    typed = module(values, "%i: Tensor[(2,), int64]", body)
    model = rt.build(typed, threads=1)
    chosen = np.array([3, 49])
    wanted = expected[chosen] @ expected.T
    np.testing.assert_allclose(model(chosen), wanted, rtol=1e-4, atol=1e-4)


def test_weights_take_as_many_bytes_as_they_are_stored_in(tmp_path):
    sizes = {}
    for bits in (4, 8, 32):
        values, weights, expected = blocks(min(bits, 8), 512, 512, 32)
        if bits == 32:
            values, weights = {"w": expected}, "%w"
        typed = module(values, "%x: Tensor[(1, 512), float32]", f"nn.dense(%x, {weights})")
        library = rt.build(typed, threads=1).export(tmp_path / f"w{bits}.so")
        sizes[bits] = (
            library.stat().st_size if library else (tmp_path / f"w{bits}.so").stat().st_size
        )
    assert sizes[8] - sizes[4] == pytest.approx(512 * 256, rel=0.1)
    assert sizes[32] - sizes[8] > 2.7 * 512 * 512


def test_convolutions_read_floats():
    weights = RANDOM.standard_normal((4, 3, 3, 3)).astype(np.float16)
    body = 'nn.conv2d(%x, cast(%w, dtype="float32"), kernel_size=[3, 3], channels=4)'
    model = rt.build(module({"w": weights}, "%x: Tensor[(1, 3, 8, 8), float32]", body), threads=1)
    data = RANDOM.standard_normal((1, 3, 8, 8)).astype(np.float32)
    plain = module(
        {"w": weights.astype(np.float32)},
        "%x: Tensor[(1, 3, 8, 8), float32]",
        "nn.conv2d(%x, %w, kernel_size=[3, 3], channels=4)",
    )
    floats = rt.build(plain, threads=1)
    np.testing.assert_array_equal(model(data), floats(data))
    assert model.compiled().constants.size == floats.compiled().constants.size


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("target", TARGETS)
def test_any_number_of_rows(bits, target):
    """Of which few and many have code of their own."""
    values, weights, expected = middles(bits, 96, 256, 32)
    typed = module(values, "%x: Tensor[(?, 256), float32]", f"nn.relu(nn.dense(%x, {weights}))")
    model = rt.build(typed, threads=1, target=target)
    for rows in (1, 3, 9, 16, 17, 100):
        data = RANDOM.standard_normal((rows, 256)).astype(np.float32)
        wanted = np.maximum(data @ expected.T, 0)
        np.testing.assert_allclose(model(data), wanted, rtol=1e-4, atol=1e-3)
