from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.schedule.packing import PackedAxis, PackRecipe


def gathered(recipe: PackRecipe, data: np.ndarray) -> np.ndarray:
    """The packed array, element by element from what the recipe says."""
    packed = np.zeros(recipe.shape, data.dtype)
    tiled, plain = len(recipe.tiled), len(recipe.plain)
    for index in product(*(range(extent) for extent in recipe.shape)):
        numbers, steps, inner = index[:tiled], index[tiled : tiled + plain], index[tiled + plain :]
        offset = recipe.offset
        for axis, step in zip(recipe.plain, steps, strict=True):
            offset += axis.stride * step
        inside = True
        for axis, number, position in zip(recipe.tiled, numbers, inner, strict=True):
            point = number * axis.tile + position
            inside = inside and point < axis.extent
            offset += axis.stride * point
        if inside and 0 <= offset < data.size:
            packed[index] = data.reshape(-1)[offset]
    return packed


@st.composite
def recipes(draw) -> tuple[PackRecipe, int]:
    """A recipe, which may reach beyond its source, and the number of elements of the source."""
    extents = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    order = draw(st.permutations(range(len(extents))))
    strides, stride = [0] * len(extents), 1
    for position in order:
        strides[position] = stride
        stride *= extents[position]
    tiled = draw(st.integers(1, len(extents)))
    axes = [
        PackedAxis(extent, step, draw(st.integers(1, 8)) if position < tiled else 1)
        for position, (extent, step) in enumerate(zip(extents, strides, strict=True))
    ]
    offset, size = draw(st.integers(-5, 5)), draw(st.sampled_from([1, stride, stride + 5]))
    return PackRecipe(offset, tuple(axes[:tiled]), tuple(axes[tiled:])), size


@settings(max_examples=120, deadline=None)
@given(recipes(), st.sampled_from(["float32", "int8", "float64"]))
def test_packing_is_the_gather_that_the_recipe_describes(drawn, dtype):
    recipe, size = drawn
    data = (np.arange(size) % 120 + 1).astype(dtype)
    packed = recipe.pack(data)
    assert packed.dtype == data.dtype and packed.size == recipe.size
    np.testing.assert_array_equal(packed, gathered(recipe, data))


@settings(max_examples=120, deadline=None)
@given(recipes(), st.integers(1, 40))
def test_parts_follow_each_other(drawn, most):
    recipe, size = drawn
    data = np.arange(size) % 120 + 1
    parts = [part.pack(data) for part in recipe.parts(most)]
    row = recipe.size // recipe.shape[0]
    assert all(part.size <= max(most, row) for part in parts)
    np.testing.assert_array_equal(np.concatenate(parts), recipe.pack(data))


def test_a_matrix_in_panels():
    recipe = PackRecipe(0, (PackedAxis(5, 1, 2),), (PackedAxis(3, 5, 1),))
    data = np.arange(15.0).reshape(3, 5)
    packed = recipe.pack(data)
    assert packed.shape == (3, 3, 2)
    np.testing.assert_array_equal(packed[0], [[0, 1], [5, 6], [10, 11]])
    np.testing.assert_array_equal(packed[2], [[4, 0], [9, 0], [14, 0]])


def test_any_memory_order_of_the_source_is_taken():
    recipe = PackRecipe(0, (PackedAxis(4, 3, 4),), (PackedAxis(3, 1, 1),))
    data = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    np.testing.assert_array_equal(recipe.pack(data)[0], np.arange(12.0).reshape(4, 3).T)


def test_the_number_of_tiles_counts_the_one_at_the_edge():
    assert [PackedAxis(extent, 1, 4).count for extent in (1, 4, 5, 8)] == [1, 1, 2, 2]
