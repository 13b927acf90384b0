"""Quantized networks in integers: what is computed, and where float32 stays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.codegen.target import parse_target
from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Constant
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.compute_in_integers import ComputeInIntegers
from relay_tune.typing.infer import infer_types

IN_INTEGERS = ComputeInIntegers("always")
STORE = 'qnn.quantize({}, 0.75f, {}, out_dtype="uint8")'


def quantized(text: str, **constants: Any) -> Module:
    """`%x`, of bytes; parameters that are given become constants."""
    module = infer_types(parse(f'#[version = "0.0.5"]\ndef @main({text}'))
    return infer_types(BindParameters(constants)(module))


def random_bytes(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Bytes of the whole range, both ends included."""
    limits = np.iinfo(dtype)
    values = np.random.default_rng(seed).integers(
        limits.min, limits.max, shape, dtype, endpoint=True
    )
    values.flat[:2] = limits.min, limits.max
    return values


def assert_same_bytes(module: Module, *inputs: np.ndarray, is_built: bool = False) -> Module:
    """The module in integers, which stores the same bytes but where a half is near."""
    after = infer_types(IN_INTEGERS(module))
    assert after.main.type == module.main.type
    expected = interpret(module, *inputs).astype(int)
    ways = [interpret(after, *inputs)]
    if is_built:
        ways.append(build(after, threads=1)(*inputs))
    for found in ways:
        difference = np.abs(found.astype(int) - expected)
        assert difference.max(initial=0) <= 1
        assert (difference > 0).mean() <= 0.01
    return after


@pytest.mark.parametrize("dtype, zero", [("uint8", 0), ("uint8", 131), ("int8", -7), ("int8", 127)])
@pytest.mark.parametrize("depth", [1, 37, 64])
def test_a_dense_layer(dtype: str, zero: int, depth: int) -> None:
    letter = "u8" if dtype == "uint8" else "i8"
    module = quantized(
        f"""%x: Tensor[(5, {depth}), {dtype}], %w: Tensor[(9, {depth}), int8],
            %s: Tensor[(9), float32], %z: Tensor[(9), int8], %b: Tensor[(9), int32],
            %t: Tensor[(9), float32], %n: Tensor[(9), int32]) {{
          %0 = qnn.dequantize(%x, 0.5f, {zero}{letter});
          %1 = nn.dense(%0, qnn.dequantize(%w, %s, %z, axis=0));
          %2 = nn.bias_add(%1, qnn.dequantize(%b, %t, %n, axis=0));
          {STORE.format("nn.relu(%2)", "3u8")}
        }}""",
        w=random_bytes((9, depth), "int8", 1),
        s=(scale := np.linspace(0.001, 0.01, 9, dtype=np.float32)),
        z=np.zeros(9, np.int8),
        b=np.arange(-4, 5, dtype=np.int32) * 900,
        t=np.float32(0.5) * scale,
        n=np.zeros(9, np.int32),
    )
    after = assert_same_bytes(module, random_bytes((5, depth), dtype), is_built=depth == 37)
    assert "dequantize" not in after.astext()


@pytest.mark.parametrize(
    "weight, attributes",
    [
        ((6, 4, 3, 3), "padding=[1, 1]"),
        ((6, 2, 3, 2), "groups=2, padding=[0, 1, 2, 1], strides=[2, 1]"),
        ((4, 1, 3, 3), "groups=4, padding=[2, 2], dilation=[2, 2]"),
        ((6, 4, 1, 1), ""),
    ],
)
@pytest.mark.parametrize("zero", [0, 200])
def test_a_convolution(weight: tuple[int, ...], attributes: str, zero: int) -> None:
    """The padding is with the zero point; weights may have zero points, too."""
    module = quantized(
        f"""%x: Tensor[(2, 4, 9, 8), uint8], %w: Tensor[{weight}, uint8]) {{
          %0 = qnn.dequantize(%x, 0.5f, {zero}u8);
          %1 = nn.conv2d(%0, qnn.dequantize(%w, 0.01f, 128u8), {attributes});
          {STORE.format("%1", "120u8")}
        }}""",
        w=random_bytes(weight, "uint8", 1),
    )
    is_built = zero > 0 and "groups=2" in attributes
    after = assert_same_bytes(module, random_bytes((2, 4, 9, 8), "uint8"), is_built=is_built)
    assert "dequantize" not in after.astext()


@pytest.mark.parametrize("layer", ["dense", "conv2d", "conv2d_transpose"])
def test_weights_of_nine_bits_are_bytes_and_a_number(layer: str) -> None:
    """Windows are summed for it; of a transposed convolution those that a result reads."""
    shape, zero, attributes = {
        "dense": ((5, 37), 200, ""),
        "conv2d": ((2, 4, 6, 5), 200, "padding=[1, 2]"),
        "conv2d_transpose": ((2, 4, 6, 5), 0, "padding=[1, 0], strides=[2, 1]"),
    }[layer]
    weight = {"dense": (6, 37), "conv2d": (6, 4, 3, 3)}.get(layer, (4, 6, 3, 3))
    axis = 1 if layer == "conv2d_transpose" else 0
    module = quantized(
        f"""%x: Tensor[{shape}, uint8], %w: Tensor[{weight}, uint8],
            %s: Tensor[(6), float32], %z: Tensor[(6), uint8]) {{
          %0 = qnn.dequantize(%x, 0.5f, {zero}u8);
          %1 = nn.{layer}(%0, qnn.dequantize(%w, %s, %z, axis={axis}), {attributes});
          {STORE.format("%1", "120u8")}
        }}""",
        w=random_bytes(weight, "uint8", 1),
        s=np.linspace(0.001, 0.01, 6, dtype=np.float32),
        z=np.array([0, 3, 127, 128, 129, 255], np.uint8),
    )
    after = assert_same_bytes(module, random_bytes(shape, "uint8"), is_built=layer == "conv2d")
    assert "dequantize" not in after.astext()


@pytest.mark.parametrize(
    "window, attributes",
    [
        ((2, 2), "strides=[2, 2]"),
        ((3, 4), "strides=[2, 2], padding=[1, 1], output_padding=[1, 0]"),
        ((3, 2), "strides=[1, 3], dilation=[2, 1]"),
    ],
)
@pytest.mark.parametrize("zero", [0, 9])
def test_a_transposed_convolution(window: tuple[int, int], attributes: str, zero: int) -> None:
    """At the border fewer taps are summed, so that another zero point stays in float32."""
    module = quantized(
        f"""%x: Tensor[(2, 4, 5, 6), uint8], %w: Tensor[(4, 6, {window[0]}, {window[1]}), int8],
            %s: Tensor[(6), float32], %z: Tensor[(6), int8]) {{
          %0 = qnn.dequantize(%x, 0.5f, {zero}u8);
          %1 = nn.conv2d_transpose(%0, qnn.dequantize(%w, %s, %z, axis=1), {attributes});
          {STORE.format("%1", "120u8")}
        }}""",
        w=random_bytes((4, 6, *window), "int8", 1),
        s=np.linspace(0.001, 0.01, 6, dtype=np.float32),
        z=np.zeros(6, np.int8),
    )
    after = assert_same_bytes(module, random_bytes((2, 4, 5, 6), "uint8"), is_built=True)
    assert ('out_dtype="int32"' in after.astext()) == (zero == 0)


def test_the_padding_of_images_of_any_height() -> None:
    module = quantized(
        f"""%x: Tensor[(1, 4, ?, 8), uint8], %w: Tensor[(6, 4, 3, 3), int8]) {{
          %0 = nn.conv2d(qnn.dequantize(%x, 0.5f, 200u8), qnn.dequantize(%w, 0.01f, 0i8),
                         padding=[1, 1]);
          {STORE.format("%0", "120u8")}
        }}""",
        w=random_bytes((6, 4, 3, 3), "int8", 1),
    )
    after = assert_same_bytes(module, random_bytes((1, 4, 9, 8), "uint8"))
    assert 'out_dtype="int32"' in after.astext()


@pytest.mark.parametrize(
    "body",
    [
        "nn.max_pool2d(%0, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])",
        "nn.max_pool2d(%0, pool_size=[2, 2], strides=[2, 2], ceil_mode=True)",
        "nn.relu(%0)",
        "transpose(%0, axes=[0, 2, 3, 1])",
        "reshape(%0, newshape=[2, -1])",
        "strided_slice(%0, begin=[1], end=[4], strides=[2], axes=[2])",
        "concatenate((%0, nn.relu(%0)), axis=1)",
    ],
)
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_bytes_are_kept(body: str, dtype: str) -> None:
    """No float is made where the result has the scale of the argument."""
    letter = "u8" if dtype == "uint8" else "i8"
    module = quantized(
        f"""%x: Tensor[(2, 3, 5, 7), {dtype}]) {{
          %0 = qnn.dequantize(%x, 0.75f, 9{letter});
          qnn.quantize({body}, 0.75f, 9{letter}, out_dtype="{dtype}")
        }}"""
    )
    after = assert_same_bytes(module, random_bytes((2, 3, 5, 7), dtype))
    types = {str(node.type) for node in post_order(after.main) if isinstance(node, Call)}
    assert not any("float" in type_ for type_ in types)


@pytest.mark.parametrize(
    "body",
    [
        "mean(%0, axis=[2, 3])",
        "mean(%0, axis=[1], exclude=True, keepdims=True)",
        "add(%0, multiply(%0, sigmoid(%0)))",
        "concatenate((%0, sigmoid(%0)), axis=1)",
        "nn.avg_pool2d(%0, pool_size=[2, 2], padding=[1, 1])",
        "nn.softmax(reshape(%0, newshape=[6, 35]))",
    ],
)
def test_what_else_is_computed_between_bytes(body: str) -> None:
    module = quantized(
        f"""%x: Tensor[(2, 3, 5, 7), uint8]) {{
          %0 = qnn.dequantize(%x, 0.03f, 9u8);
          qnn.quantize({body}, 0.04f, 2u8, out_dtype="uint8")
        }}"""
    )
    assert_same_bytes(module, random_bytes((2, 3, 5, 7), "uint8"))


@pytest.mark.parametrize(
    "pool, is_in_integers",
    [
        ("nn.avg_pool2d(%0, pool_size=[2, 2], strides=[2, 2])", True),
        ("nn.avg_pool2d(%0, pool_size=[2, 3], dilation=[2, 1])", True),
        ('nn.avg_pool2d(%0, pool_size=[2, 2], layout="NHWC")', True),
        ("nn.avg_pool2d(%0, pool_size=[3, 3], padding=[1, 1], count_include_pad=True)", True),
        ("nn.avg_pool2d(%0, pool_size=[3, 3], padding=[1, 1])", False),  # fewer at the border
        ("nn.avg_pool2d(%0, pool_size=[2, 2], strides=[2, 2], ceil_mode=True)", False),
        ("nn.avg_pool1d(reshape(%0, newshape=[2, 3, 35]), pool_size=[5])", True),
    ],
)
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_averages_over_windows_of_one_size_are_sums_of_bytes(
    pool: str, is_in_integers: bool, dtype: str
) -> None:
    letter = "u8" if dtype == "uint8" else "i8"
    module = quantized(
        f"""%x: Tensor[(2, 3, 5, 7), {dtype}]) {{
          %0 = qnn.dequantize(%x, 0.03f, 9{letter});
          qnn.quantize({pool}, 0.0307f, 2u8, out_dtype="uint8")
        }}"""
    )
    after = assert_same_bytes(module, random_bytes((2, 3, 5, 7), dtype), is_built=dtype == "int8")
    assert ('out_dtype="int32"' in after.astext()) == is_in_integers


def _dense(depth: int, scale: str = "0.5f", weight: str = "int8") -> Callable[..., Module]:
    text = f"""%x: Tensor[(2, {depth}), uint8], %w: Tensor[(3, {depth}), {weight}]) {{
          %0 = qnn.dequantize(%x, {scale}, 0u8);
          nn.dense(%0, qnn.dequantize(%w, 0.01f, 0i8))
        }}"""
    return lambda **constants: quantized(text, **constants)


@pytest.mark.parametrize(
    "module",
    [
        _dense(66400)(w=np.full((3, 66400), 127, np.int8)),  # sums beyond int32
        _dense(8, weight="int16")(w=np.array([[300, -300] * 4] * 3, np.int16)),
        _dense(8, scale="-0.5f")(w=np.ones((3, 8), np.int8)),
        _dense(8, scale="0f")(w=np.ones((3, 8), np.int8)),
    ],
    ids=["sums", "words", "negative", "zero"],
)
def test_what_is_no_product_of_bytes_stays_in_float32(module: Module) -> None:
    assert 'out_dtype="int32"' not in IN_INTEGERS(module).astext()


@pytest.mark.parametrize("dtype, wanted", [("uint16", "uint16"), ("int16", "uint8")])
def test_words_of_another_scale_are_rounded_as_they_were(dtype: str, wanted: str) -> None:
    module = quantized(
        f"""%x: Tensor[(4, 50), {dtype}], %z: {dtype}, %n: {wanted}) {{
          %0 = qnn.dequantize(%x, 0.0003f, %z);
          qnn.quantize(divide(%0, 3f), 0.0007f, %n, out_dtype="{wanted}")
        }}""",
        z=np.array(300, dtype),
        n=np.array(40, wanted),
    )
    words = random_bytes((4, 50), dtype)
    after = infer_types(IN_INTEGERS(module))
    assert np.array_equal(interpret(after, words), interpret(module, words))


def test_sums_up_to_the_bound_are_exact() -> None:
    depth = (2**31 - 1) // (255 * 127)
    module = _dense(depth, scale="1f")(w=np.full((3, depth), 127, np.int8))
    after = IN_INTEGERS(module)
    assert 'out_dtype="int32"' in after.astext()
    found = interpret(after, np.full((2, depth), 255, np.uint8))
    np.testing.assert_allclose(found, depth * 255 * 127 * 0.01, rtol=1e-6)


def test_one_channel_that_is_broadcast_by_a_sum() -> None:
    module = quantized(
        """%x: Tensor[(2, 8), uint8], %w: Tensor[(1, 8), int8], %b: Tensor[(5), int32]) {
          %0 = nn.dense(qnn.dequantize(%x, 0.5f, 4u8), qnn.dequantize(%w, 0.01f, 0i8));
          qnn.quantize(add(%0, qnn.dequantize(%b, 0.005f, 0)), 0.1f, 0i8, out_dtype="int8")
        }""",
        w=random_bytes((1, 8), "int8"),
        b=np.arange(5, dtype=np.int32) * 300,
    )
    assert_same_bytes(module, random_bytes((2, 8), "uint8"))


def test_weights_that_are_moved_stay_constants() -> None:
    module = quantized(
        """%x: Tensor[(2, 8), uint8], %w: Tensor[(8, 3), int8], %s: Tensor[(3), float32],
           %z: Tensor[(3), int8]) {
          %0 = transpose(qnn.dequantize(%w, %s, %z, axis=1));
          qnn.quantize(nn.dense(qnn.dequantize(%x, 0.5f, 4u8), %0), 1f, 0i8, out_dtype="int8")
        }""",
        w=random_bytes((8, 3), "int8"),
        s=np.array([0.01, 0.02, 0.03], np.float32),
        z=np.zeros(3, np.int8),
    )
    after = assert_same_bytes(module, random_bytes((2, 8), "uint8"))
    weights = [node for node in post_order(after.main) if isinstance(node, Constant)]
    assert any(each.data.shape == (3, 8) and each.data.dtype == np.int8 for each in weights)


@pytest.mark.parametrize(
    "target, window, is_in_integers",
    [
        ("x86_64-linux-gnu:haswell", 1, True),
        ("x86_64-linux-gnu:haswell", 3, True),  # both have Winograd's algorithm
        ("x86_64-linux-gnu:cascadelake", 3, True),
        ("aarch64-linux-gnu:neoverse-n1", 3, True),
        ("aarch64-linux-gnu:cortex-a53", 1, False),  # without dot products
    ],
)
def test_layers_that_cost_less_in_integers_are_summed_so(
    target: str, window: int, is_in_integers: bool
) -> None:
    weight = (64, 64, window, window)
    module = quantized(
        f"""%x: Tensor[(1, 64, 28, ?), uint8], %w: Tensor[{weight}, int8]) {{
          nn.conv2d(qnn.dequantize(%x, 0.5f, 4u8), qnn.dequantize(%w, 0.01f, 0i8))
        }}""",
        w=random_bytes(weight, "int8"),
    )
    after = ComputeInIntegers(machine=parse_target(target).machine)(module)
    assert ('out_dtype="int32"' in after.astext()) == is_in_integers


def test_it_can_be_switched_off() -> None:
    module = _dense(8)(w=np.ones((3, 8), np.int8))
    assert ComputeInIntegers("never")(module) is module
    with pytest.raises(InputError, match="always"):
        ComputeInIntegers("sometimes")


@pytest.mark.parametrize(
    "shapes, product",
    [
        (((2, 3, 5, 37), (2, 3, 37, 6)), "nn.batch_matmul(%0, %1, transpose_b=False)"),
        (((4, 5, 16), (1, 6, 16)), "nn.batch_matmul(%0, %1)"),
        (((3, 16, 5), (3, 16, 6)), "nn.batch_matmul(%0, %1, transpose_a=True, transpose_b=False)"),
        (((5, 9), (6, 9)), "nn.dense(%0, %1)"),
        (((2, 5, 9), (9, 6)), "nn.matmul(%0, %1)"),
    ],
)
@pytest.mark.parametrize("zeros", [("0u8", "0i8"), ("255u8", "-128i8"), ("7u8", "0i8")])
def test_products_of_two_inputs(
    shapes: tuple[tuple[int, ...], ...], product: str, zeros: tuple[str, str]
) -> None:
    left, right = shapes
    module = quantized(
        f"""%x: Tensor[{left}, uint8], %y: Tensor[{right}, int8]) {{
          %0 = qnn.dequantize(%x, 0.5f, {zeros[0]});
          %1 = qnn.dequantize(%y, 0.25f, {zeros[1]});
          {STORE.format(f"multiply({product}, 0.03125f)", "120u8")}
        }}"""
    )
    inputs = random_bytes(left, "uint8"), random_bytes(right, "int8", 1)
    after = assert_same_bytes(module, *inputs, is_built="7u8" in zeros and len(left) == 4)
    assert "dequantize" not in after.astext()


@pytest.mark.parametrize(("window", "channels", "bits"), [(3, 64, 26), (3, 2048, 30), (1, 64, 0)])
def test_layers_of_several_taps_say_how_many_bits_sums_have(
    window: int, channels: int, bits: int
) -> None:
    weight = (1, channels, window, window)
    module = quantized(
        f"""%x: Tensor[(1, {channels}, 4, 4), uint8], %w: Tensor[{weight}, int8]) {{
          nn.conv2d(qnn.dequantize(%x, 0.5f, 0u8), qnn.dequantize(%w, 0.01f, 0i8))
        }}""",
        w=np.full(weight, 64, np.int8),
    )
    after = ComputeInIntegers(integers="always")(module).astext()
    assert 'out_dtype="int32"' in after
    assert (f"sum_bits={bits}" in after) == bool(bits)
    assert ("sum_bits" in after) == bool(bits)
