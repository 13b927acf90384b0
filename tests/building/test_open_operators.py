"""Operators on tensors whose sizes are all `?`: one code for all sizes, beside the interpreter."""

from typing import Any

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.errors import InputError, NoNativeCodeError
from relay_tune.frontend.relay_text import parse
from relay_tune.runtime.interpreter.interpret import interpret
from tests.properties.programs.compare import assert_same_value

RNG = np.random.default_rng(3)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def below(bound: int, *shape: int) -> np.ndarray:
    return RNG.integers(0, bound, shape)


def check(body: str, types: list[str], *samples: tuple[Any, ...]) -> None:
    """`body` of inputs %a, %b, .. inside of a program that is no network, at several sizes."""
    params = ", ".join(f"%{n}: {t}" for n, t in zip("abcd", types, strict=False))
    module = parse(f"def @main({params}, %count: int32) {{ ({body}, %count + 1) }}")
    lines: list[str] = []
    model = build(module, threads=1, report=lines.append)
    assert not any("no code for all sizes" in line for line in lines)
    for sample in samples:
        inputs = (*sample, np.int32(2))
        assert_same_value(model(*inputs), interpret(module, *inputs))


MATRIX, VECTOR = "Tensor[(?, ?), float32]", "Tensor[(?), float32]"
INDICES = "Tensor[(?), int64]"
IMAGE = "Tensor[(?, ?, ?, ?), float32]"
MATRICES = [(floats(2, 3),), (floats(5, 1),), (floats(1, 7),)]
IMAGES = [(floats(1, 2, 8, 8),), (floats(2, 3, 5, 7),)]


@pytest.mark.parametrize(
    "body",
    [
        "(full_like(%a, 2f), zeros_like(%a), shape_of(%a), ndarray_size(%a))",
        "concatenate((%a, %a), axis=0)",
        "(reshape(%a, newshape=[-1]), reshape(%a, newshape=[0, -1, 1]), nn.batch_flatten(%a))",
        "(tile(%a, reps=[2, 1, 3]), repeat(%a, repeats=3, axis=-1), stack((%a, %a), axis=1))",
        "(expand_dims(%a, axis=1), transpose(%a), reverse(%a, axis=1))",
        "(nn.pad(%a, 0f, pad_width=[[1, 1], [2, 0]]), nn.dilate(%a, strides=[2, 3]))",
        "(nn.softmax(%a, axis=0), nn.leaky_relu(%a, alpha=0.1f), nn.l2_normalize(%a, eps=1e-5f))",
        "(sort(%a, axis=0), argsort(%a, axis=1), topk(%a, k=1, axis=1))",
        "(sum(%a, axis=[0]), argmax(%a, axis=[1], keepdims=True), mean(%a))",
        "(cumsum(%a, axis=0), trilu(%a, 1, upper=False))",
    ],
)
def test_matrices(body: str) -> None:
    check(body, [MATRIX], *MATRICES)


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize(
    "windows",
    [
        "pool_size=[2, 2], strides=[2, 2]",
        "pool_size=[3, 3], strides=[2, 2], padding=[1, 1]",
        "pool_size=[3, 3], strides=[2, 2], ceil_mode=True",
        "pool_size=[2, 2], strides=[3, 3], padding=[1, 1], ceil_mode=True",
    ],
)
def test_pools(kind: str, windows: str) -> None:
    check(f"nn.{kind}_pool2d(%a, {windows})", [IMAGE], *IMAGES)


def test_pools_over_whole_images() -> None:
    check("(nn.global_avg_pool2d(%a), nn.global_max_pool2d(%a))", [IMAGE], *IMAGES)
    pools = "nn.adaptive_avg_pool2d(%a, output_size=[2, 2]), "
    check(f"({pools} nn.adaptive_max_pool2d(%a, output_size=[3, 4]))", [IMAGE], *IMAGES)


def test_averages_with_padding_that_counts() -> None:
    body = "nn.avg_pool1d(%a, pool_size=[3], padding=[1], count_include_pad=True)"
    check(body, ["Tensor[(?, ?, ?), float32]"], (floats(2, 3, 5),), (floats(1, 1, 2),))


@pytest.mark.parametrize("method", ["nearest_neighbor", "linear", "cubic"])
def test_images_of_any_size_to_one_size(method: str) -> None:
    body = f'image.resize2d(%a, size=[6, 8], method="{method}")'
    check(body, [IMAGE], (floats(1, 2, 4, 4),), (floats(2, 1, 9, 16),), (floats(1, 1, 1, 8),))


def test_images_at_corners_and_enlarged() -> None:
    corners = 'image.resize2d(%a, size=[6, 8], coordinate_transformation_mode="align_corners")'
    enlarged = 'nn.upsampling(%a, scale_h=2f, scale_w=3f, method="bilinear", align_corners=True)'
    check(f"({corners}, {enlarged})", [IMAGE], (floats(1, 2, 4, 5),), (floats(1, 1, 1, 9),))


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("aligned", [True, False])
def test_images_at_places_of_a_grid(padding: str, aligned: bool) -> None:
    body = f'image.grid_sample(%a, %b, padding_mode="{padding}", align_corners={aligned})'
    types = [IMAGE, "Tensor[(?, 2, ?, ?), float32]"]
    check(
        body,
        types,
        (floats(1, 2, 4, 5), floats(1, 2, 3, 3)),
        (floats(2, 1, 1, 3), floats(2, 2, 6, 1)),
    )


def test_mirrored_ends() -> None:
    modes = ("SYMMETRIC", "REFLECT")
    body = ", ".join(f'nn.mirror_pad(%a, mode="{m}", pad_width=[[1, 1], [1, 0]])' for m in modes)
    check(f"({body})", [MATRIX], (floats(3, 4),), (floats(2, 6),))
    check('nn.pad(%a, 0f, pad_mode="edge", pad_width=[[1, 1], [2, 0]])', [MATRIX], *MATRICES)


def test_convolutions_of_images_of_any_size() -> None:
    types = ["Tensor[(?, 4, ?, ?), float32]", "Tensor[(6, 4, 3, 3), float32]"]
    samples = [(floats(1, 4, 8, 8), floats(6, 4, 3, 3)), (floats(2, 4, 5, 9), floats(6, 4, 3, 3))]
    check("nn.conv2d(%a, %b, strides=[2, 2], padding=[1, 1])", types, *samples)


@pytest.mark.parametrize(("stride", "padding"), [(2, 1), (3, 0), (1, 1)])
def test_transposed_convolutions_of_any_length(stride: int, padding: int) -> None:
    body = f"nn.conv1d_transpose(%a, %b, strides=[{stride}], padding=[{padding}])"
    types = ["Tensor[(?, 3, ?), float32]", "Tensor[(3, 5, 3), float32]"]
    check(body, types, *((floats(2, 3, n), floats(3, 5, 3)) for n in (1, 2, 9)))


def test_normalisation_by_any_number_of_channels() -> None:
    check("nn.lrn(%a)", [IMAGE], (floats(1, 1, 2, 2),), (floats(1, 9, 2, 2),))
    norm = "nn.batch_norm(%a, %b, %c, %b, %c * %c).0"
    check(norm, [IMAGE, VECTOR, VECTOR], (floats(2, 4, 3, 1), floats(4), floats(4)))


def test_losses_of_any_number_of_samples() -> None:
    body = "(nn.cross_entropy_with_logits(%a, %b), nn.cross_entropy(exp(%a), %b))"
    check(body, [MATRIX, MATRIX], (floats(2, 3), floats(2, 3)), (floats(9, 1), floats(9, 1)))


def test_elements_by_their_indices() -> None:
    check("take(%a, %b, axis=0)", [MATRIX, INDICES], (floats(4, 2), below(4, 3)))
    check(
        "adv_index((%a, %b, %c))",
        [MATRIX.replace("?, ?", "?, ?, ?"), INDICES, INDICES],
        (floats(3, 4, 2), below(3, 5), below(4, 5)),
        (floats(1, 4, 5), below(1, 2), below(4, 2)),
    )
    indices = "Tensor[(2, ?), int64]"
    check("gather_nd(%a, %b)", [MATRIX, indices], (floats(3, 3), below(3, 2, 5)))
    check(
        'scatter_nd(%a, %b, %c, mode="add")',
        [MATRIX, indices, VECTOR],
        (floats(3, 4), below(3, 2, 5), floats(5)),
    )
    check("one_hot(%a, 1f, 0f, depth=4, axis=0)", [INDICES], (below(4, 1),), (below(4, 6),))


@pytest.mark.parametrize(
    ("body", "types", "sample"),
    [
        ("nn.dense(%a, %b)", [MATRIX, MATRIX], (floats(3, 4), floats(5, 4))),
        (
            "nn.batch_matmul(%a, %b)",
            ["Tensor[(?, ?, ?), float32]"] * 2,
            (floats(2, 3, 4), floats(2, 5, 4)),
        ),
    ],
)
def test_sizes_that_need_not_be_equal(
    body: str, types: list[str], sample: tuple[np.ndarray, ...]
) -> None:
    check(body, types, sample)


@pytest.mark.parametrize("dtype", ["int64", "float32"])
@pytest.mark.parametrize(
    "attributes", ["", ", is_sorted=False", ", is_sorted=False, return_counts=True"]
)
def test_values_without_repetition(dtype: str, attributes: str) -> None:
    data = np.array([4, 1, 4, 2, 0, 2, 2], dtype)
    if dtype == "float32":
        data[3] = data[0] = np.nan
    check(f"unique(%a{attributes})", [f"Tensor[(?), {dtype}]"], (data,), (data[:1],), (data[:0],))


def test_a_call_names_the_operator_that_has_no_code_for_all_sizes() -> None:
    """Not one whose sizes only a run knows, which has code for all of them."""
    text = """def @main(%x: Tensor[(n, m), float32]) {
      %0 = reshape(argwhere(%x), newshape=[1, 1, -1, 2]);
      nn.upsampling(cast(%0, dtype="float32"), scale_h=1.5f, scale_w=2f)
    }"""
    program = build(parse(text), threads=1)
    with pytest.raises(NoNativeCodeError, match=r"nn\.upsampling does not follow"):
        program(np.ones((2, 3), np.float32))


COUNTS = {
    "tanh(reshape_like(%a, %b)) * %b": (
        [MATRIX, MATRIX],
        [((4, 3), (2, 6)), ((1, 3), (3, 1)), ((0, 3), (2, 0))],
        ((4, 3), (2, 5)),
    ),
    "reshape_like(%a + %c, %b) + %b": (
        [MATRIX, MATRIX, MATRIX],
        [((4, 3), (2, 6), (4, 3)), ((4, 3), (2, 6), (1, 3)), ((1, 3), (2, 6), (4, 3))],
        ((1, 3), (2, 6), (2, 3)),
    ),
    "reshape_like(tanh(%a), %b, lhs_begin=0, lhs_end=2)": (
        ["Tensor[(?, ?, 3), float32]", MATRIX],
        [((4, 6, 3), (3, 8)), ((2, 1, 3), (1, 2))],
        ((4, 6, 3), (2, 5)),
    ),
    "reshape(tanh(%a), newshape=[-1, 4])": ([MATRIX], [((8, 3),), ((4, 5),)], ((5, 3),)),
    "squeeze(tanh(%a), axis=[1])": ([MATRIX], [((5, 1),)], ((5, 2),)),
    "split(tanh(%a), indices_or_sections=3, axis=1)": ([MATRIX], [((2, 6),)], ((2, 5),)),
    "nn.space_to_depth(tanh(%a), block_size=2)": ([IMAGE], [((1, 3, 4, 6),)], ((1, 3, 4, 5),)),
    "nn.depth_to_space(tanh(%a), block_size=2)": ([IMAGE], [((1, 8, 2, 3),)], ((1, 6, 2, 3),)),
    'layout_transform(%a, src_layout="NCHW", dst_layout="NCHW4c")': (
        [IMAGE], [((1, 8, 2, 3),)], ((1, 6, 2, 3),)
    ),
    "nn.space_to_batch_nd(%a, block_shape=[2, 3], paddings=[[1, 0], [0, 1]])": (
        [IMAGE], [((2, 5, 5, 3),)], ((2, 5, 6, 3),)
    ),
    "nn.batch_to_space_nd(%a, block_shape=[2, 2], crops=[[1, 0], [0, 1]])": (
        [IMAGE], [((8, 5, 5, 3),)], ((7, 5, 6, 3),)
    ),
    "nn.conv2d(%a, %b, groups=2)": (
        [IMAGE, "Tensor[(4, ?, 1, 1), float32]"],
        [((1, 4, 4, 6), (4, 2, 1, 1))],
        ((1, 5, 4, 6), (4, 2, 1, 1)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("body", COUNTS)
def test_numbers_of_elements_that_only_a_run_can_compare(body: str) -> None:
    types, shapes, misfit = COUNTS[body]
    check(body, types, *(tuple(floats(*shape) for shape in each) for each in shapes))
    params = ", ".join(f"%{n}: {t}" for n, t in zip("abc", types, strict=False))
    model = build(parse(f"def @main({params}, %n: int32) {{ ({body}, %n + 1) }}"), threads=1)
    with pytest.raises(InputError, match="do not fit each other|not as many elements"):
        model(*(floats(*shape) for shape in misfit), np.int32(2))
