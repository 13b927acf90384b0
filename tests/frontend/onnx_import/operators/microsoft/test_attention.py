from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
import pytest

from relay_tune.building.build import build
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

Check = Callable[..., None]
NodeModel = Callable[..., onnx.ModelProto]

BATCH, LENGTH, HEADS, SIZE = 2, 5, 4, 16
WIDTH = HEADS * SIZE


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32) * 0.5


PADDED = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)


@pytest.mark.parametrize("mask", [None, PADDED, np.array([3, 5], np.int32)])
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_attention(check_microsoft: Check, mask: np.ndarray | None, unidirectional: int) -> None:
    weights = {1: floats(12, 3 * WIDTH), 2: floats(3 * WIDTH)}
    inputs = (floats(BATCH, LENGTH, 12), None, None, mask)
    check_microsoft(
        "Attention", *inputs, constants=weights, num_heads=HEADS, unidirectional=unidirectional
    )


def test_attention_with_a_past_and_other_sizes(check_microsoft: Check) -> None:
    weights = {1: floats(12, 3 * WIDTH), 2: floats(3 * WIDTH)}
    past = floats(2, BATCH, HEADS, 3, SIZE)
    inputs = (floats(BATCH, LENGTH, 12), None, None, None, past)
    check_microsoft(
        "Attention", *inputs, constants=weights, num_heads=HEADS, unidirectional=1, outputs=2
    )
    sizes = [16, 16, 24]
    weights = {1: floats(12, 56), 2: floats(56)}
    inputs = (floats(BATCH, LENGTH, 12),)
    check_microsoft(
        "Attention", *inputs, constants=weights, num_heads=HEADS, qkv_hidden_sizes=sizes
    )


def test_multi_head_attention(check_microsoft: Check) -> None:
    query = floats(BATCH, LENGTH, WIDTH)
    key, value = floats(BATCH, 7, WIDTH), floats(BATCH, 7, HEADS * 6)
    bias = floats(2 * WIDTH + HEADS * 6)
    check_microsoft("MultiHeadAttention", query, key, value, num_heads=HEADS)
    check_microsoft("MultiHeadAttention", query, key, value, bias, num_heads=HEADS, scale=0.3)
    mask = (np.arange(14).reshape(2, 7) % 5 > 0).astype(np.int32)
    extra = floats(1, HEADS, LENGTH, 7)
    check_microsoft("MultiHeadAttention", query, key, value, None, mask, extra, num_heads=HEADS)


def test_multi_head_attention_of_heads(check_microsoft: Check) -> None:
    heads = floats(BATCH, HEADS, 6, SIZE), floats(BATCH, HEADS, 6, SIZE) + 1
    check_microsoft("MultiHeadAttention", floats(BATCH, LENGTH, WIDTH), *heads, num_heads=HEADS)


def test_multi_head_attention_of_packed_heads(node_model: NodeModel) -> None:
    def attended(*inputs: np.ndarray) -> np.ndarray:
        model = node_model("MultiHeadAttention", inputs, domain="com.microsoft", num_heads=HEADS)
        return build(from_onnx(model))(*inputs)

    packed = floats(BATCH, LENGTH, HEADS, 3, SIZE)
    query, key, value = (
        packed[:, :, :, position].reshape(BATCH, LENGTH, -1) for position in range(3)
    )
    wanted = attended(query, key, value)
    np.testing.assert_allclose(attended(packed), wanted, rtol=1e-4, atol=1e-5)
    actual = attended(query, np.ascontiguousarray(packed[:, :, :, 1:]))
    np.testing.assert_allclose(actual, wanted, rtol=1e-4, atol=1e-5)


def test_multi_head_attention_with_a_past(check_microsoft: Check) -> None:
    query, key = floats(BATCH, 2, WIDTH), floats(BATCH, 2, WIDTH) + 0.1
    past = floats(BATCH, HEADS, 3, SIZE)
    inputs = (query, key, key * 2, None, None, None, past, past + 1)
    check_microsoft("MultiHeadAttention", *inputs, num_heads=HEADS, unidirectional=1, outputs=3)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding(check_microsoft: Check, interleaved: int) -> None:
    tables = {2: floats(16, SIZE // 2), 3: floats(16, SIZE // 2) + 1}
    positions = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
    for data in (floats(BATCH, LENGTH, WIDTH), floats(BATCH, HEADS, LENGTH, SIZE)):
        check_microsoft(
            "RotaryEmbedding", data, positions, constants=tables, interleaved=interleaved
        )
    first = np.array([2])
    check_microsoft(
        "RotaryEmbedding", floats(BATCH, LENGTH, WIDTH), first, constants=tables, interleaved=0
    )


def test_rotary_embedding_of_a_part_of_each_head(check_microsoft: Check) -> None:
    tables = {2: floats(16, 2), 3: floats(16, 2) + 1}
    options = {"rotary_embedding_dim": 4, "num_heads": HEADS}
    check_microsoft(
        "RotaryEmbedding", floats(1, 3, WIDTH), np.array([[0, 1, 2]]), constants=tables, **options
    )


def grouped(past: int, new: int, room: int, **options: object) -> tuple[tuple, dict]:
    """Inputs of GroupQueryAttention, and its attributes."""
    rows = 1 if past else BATCH
    query = floats(rows, new, WIDTH)
    key, value = floats(rows, new, 2 * SIZE), floats(rows, new, 2 * SIZE) + 0.2
    cache = floats(rows, 2, room, SIZE)
    lengths = np.full(rows, past + new - 1, np.int32)
    total = np.array(past + new, np.int32)
    inputs = (query, key, value, cache, cache * 0.5, lengths, total)
    return inputs, {"num_heads": HEADS, "kv_num_heads": 2, "outputs": 3, **options}


def test_grouped_attention(check_microsoft: Check) -> None:
    for past, new, room in ((0, 5, 0), (4, 1, 4)):
        inputs, options = grouped(past, new, room)
        check_microsoft("GroupQueryAttention", *inputs, **options)


def test_grouped_attention_turns_by_position_and_looks_back_so_far(check_microsoft: Check) -> None:
    tables = {7: floats(16, SIZE // 2), 8: floats(16, SIZE // 2) + 1}
    for past, new, room in ((0, 5, 0), (4, 1, 4)):
        inputs, options = grouped(past, new, room, do_rotary=1, local_window_size=3)
        check_microsoft("GroupQueryAttention", *inputs, constants=tables, **options)


def test_grouped_attention_with_a_bias(check_microsoft: Check) -> None:
    inputs, options = grouped(4, 1, 4)
    bias = floats(len(inputs[0]), HEADS, 1, 5)
    check_microsoft("GroupQueryAttention", *inputs, None, None, None, bias, **options)


def test_grouped_attention_of_packed_projections(check_microsoft: Check) -> None:
    (_, _, _, past, old, lengths, total), options = grouped(3, 1, 3)
    packed = floats(1, 1, WIDTH + 4 * SIZE)
    check_microsoft("GroupQueryAttention", packed, None, None, past, old, lengths, total, **options)


def test_one_program_serves_prompts_and_caches_of_any_size(node_model: NodeModel) -> None:
    inputs, options = grouped(3, 1, 3)
    model = node_model("GroupQueryAttention", inputs, domain="com.microsoft", **options)
    for value, dims in zip(
        model.graph.input,
        (("b", "s"), ("b", "s"), ("b", "s"), ("b", 0, "p"), ("b", 0, "p"), ("b",)),
        strict=False,
    ):
        for axis, name in enumerate(dims):
            if name:
                value.type.tensor_type.shape.dim[axis].dim_param = name
    program = build(from_onnx(model))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for past, new, room in ((0, 5, 0), (4, 1, 4), (4, 3, 9)):
        inputs, _ = grouped(past, new, room)
        feeds = {f"x{position}": each for position, each in enumerate(inputs)}
        actual, wanted = program.run(feeds), session.run(None, feeds)
        np.testing.assert_allclose(actual[0], wanted[0], rtol=1e-4, atol=1e-5)
        for found, each in zip(actual[1:], wanted[1:], strict=True):
            assert found.shape == each.shape
            held = slice(past + new)  # what is behind is not defined
            np.testing.assert_array_equal(found[:, :, held], each[:, :, held])


def test_grouped_attention_beside_a_sink(check_node: Check) -> None:
    inputs, options = grouped(4, 1, 4, local_window_size=3, domain="com.microsoft")
    nothing = (None,) * 4
    sink = {11: floats(HEADS) * 4}
    for constants, smooth in ((sink, 0), ({}, 1)):
        check_node(
            "GroupQueryAttention",
            *inputs,
            *(*nothing, None)[: 5 * len(constants)],
            against="onnxruntime",
            constants=constants,
            smooth_softmax=smooth,
            **options,
        )


def test_grouped_attention_of_normed_heads(node_model: NodeModel) -> None:
    """As nodes before it norm them: onnxruntime itself norms on other processors only."""
    inputs, options = grouped(4, 1, 4, domain="com.microsoft", do_rotary=1)
    query, key, *others = inputs
    tables = {7: floats(16, SIZE // 2), 8: floats(16, SIZE // 2) + 1}
    scales = {14: floats(SIZE), 15: floats(SIZE) + 1}
    whole = node_model(
        "GroupQueryAttention",
        inputs,
        constants={**tables, **scales},
        qk_norm_epsilon=0.01,
        k_norm_epsilon=0.1,
        **options,
    )

    def normed(data: np.ndarray, scale: np.ndarray, epsilon: float) -> np.ndarray:
        heads = data.reshape(*data.shape[:2], -1, SIZE)
        root = np.sqrt((heads**2).mean(-1, keepdims=True) + epsilon)
        return (heads / root * scale).reshape(data.shape).astype(np.float32)

    before = (normed(query, scales[14], 0.01), normed(key, scales[15], 0.1), *others)
    plain = node_model("GroupQueryAttention", before, constants=tables, **options)
    session = onnxruntime.InferenceSession(plain.SerializeToString())
    wanted = session.run(None, {f"x{n}": each for n, each in enumerate(before)})
    actual = build(from_onnx(whole)).run({f"x{n}": each for n, each in enumerate(inputs)})
    for found, each in zip(actual, wanted, strict=True):
        np.testing.assert_allclose(found, each, rtol=1e-4, atol=1e-5)
