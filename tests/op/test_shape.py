import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.ir.operator import find_operator
from relay_tune.op.reshape_index import reshaped_tensor
from relay_tune.tensor.dependencies import scalar_nodes
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Binary
from relay_tune.tensor.tensor import Computed, input_tensor


def divisions(tensor: Computed) -> int:
    nodes = scalar_nodes(tensor.body)
    return sum(isinstance(n, Binary) and n.operation in ("floordiv", "floormod") for n in nodes)


@pytest.mark.parametrize(
    "shape, newshape",
    [
        ((2, 3, 4), (6, 4)),
        ((2, 3, 4), (0, -1)),
        ((2, 3, 4), (-3, -2)),
        ((2, 12), (0, -4, 3, -1)),
        ((4, 6), (8, 3)),
        ((6, 4), (3, 8)),
        ((2, 3), (1, 2, 1, 3, 1)),
        ((1,), ()),
        ((0, 3), (3, 0)),
    ],
)
def test_reshape(check_record, random_array, shape, newshape):
    attributes = {"newshape": newshape, "allowzero": 0 in shape}
    check_record(find_operator("reshape"), [random_array(shape)], attributes)


@st.composite
def equal_sizes(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    factors = draw(st.lists(st.integers(1, 4), max_size=5))
    shapes = []
    for _ in range(2):
        shape, rest = [], draw(st.permutations(factors))
        while rest:
            count = draw(st.integers(1, len(rest)))
            shape.append(math.prod(rest[:count]))
            rest = rest[count:]
        shapes.append(shape)
    return shapes[0], shapes[1]


@settings(max_examples=60, deadline=None)
@given(equal_sizes())
def test_reshape_between_any_shapes(shapes):
    source, target = shapes
    data = np.arange(math.prod(source)).reshape(source)
    tensor = input_tensor("x", data.shape, "int64")
    (found,) = evaluate([reshaped_tensor("y", tensor, target)], {tensor: data})
    np.testing.assert_array_equal(found, data.reshape(target))


@pytest.mark.parametrize(
    "source, target, expected",
    [
        ((1, 128, 768), (1, 128, 12, 64), 0),
        ((128, 12, 64), (1, 128, 768), 2),
        ((1, 3, 1, 5), (3, 5), 0),
        ((4, 6), (2, 2, 6), 0),
        ((32, 49), (32, 7, 7), 0),
    ],
)
def test_reshape_divides_only_where_it_must(source, target, expected):
    tensor = reshaped_tensor("y", input_tensor("x", source, "float32"), target)
    assert divisions(tensor) == expected


@pytest.mark.parametrize(
    "attributes", [{}, {"lhs_begin": 1, "lhs_end": 2, "rhs_begin": 0, "rhs_end": 2}]
)
def test_reshape_like(check_record, random_array, attributes):
    like = random_array((2, 3, 4) if attributes else (4, 6))
    check_record(find_operator("reshape_like"), [random_array((4, 6)), like], attributes)


@pytest.mark.parametrize("axes", [None, (0, 2, 1), (-1, 0, 1)])
def test_transpose(check_record, random_array, axes):
    check_record(find_operator("transpose"), [random_array((2, 3, 4))], {"axes": axes})


@pytest.mark.parametrize("axis", [None, 0, (0, 2), -2])
def test_squeeze(check_record, random_array, axis):
    check_record(find_operator("squeeze"), [random_array((1, 3, 1, 4))], {"axis": axis})


@pytest.mark.parametrize("axis, count", [(0, 1), (-1, 2), (1, 3), (-3, 1)])
def test_expand_dims(check_record, random_array, axis, count):
    attributes = {"axis": axis, "num_newaxis": count}
    check_record(find_operator("expand_dims"), [random_array((2, 3))], attributes)


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 1, 4), (5, 2, 3, 4)])
def test_broadcast_to(check_record, random_array, shape):
    data = random_array((1, 4))
    check_record(find_operator("broadcast_to"), [data], {"shape": shape})
    check_record(find_operator("broadcast_to_like"), [data, np.zeros(shape, "int8")])


@pytest.mark.parametrize("reps", [2, (2,), (2, 1), (3, 2), (2, 1, 3)])
def test_tile(check_record, random_array, reps):
    check_record(find_operator("tile"), [random_array((3, 4))], {"reps": reps})


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_repeat(check_record, random_array, axis):
    check_record(find_operator("repeat"), [random_array((3, 4))], {"repeats": 3, "axis": axis})


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_meshgrid(check_record, random_array, indexing):
    vectors = (random_array((2,)), random_array((3,)), random_array(()), random_array((4,)))
    check_record(find_operator("meshgrid"), [vectors], {"indexing": indexing})


@pytest.mark.parametrize("axis", [0, -1, (0, 2)])
def test_reverse(check_record, random_array, axis):
    check_record(find_operator("reverse"), [random_array((2, 3, 4))], {"axis": axis})


@pytest.mark.parametrize("seq_axis, batch_axis", [(1, 0), (0, 1), (2, 1)])
def test_reverse_sequence(check_record, random_array, seq_axis, batch_axis):
    data = random_array((4, 4, 4))
    lengths = np.array([0, 2, 4, 9], "int32")
    attributes = {"seq_axis": seq_axis, "batch_axis": batch_axis}
    check_record(find_operator("reverse_sequence"), [data, lengths], attributes)


def test_invert_permutation(check_record):
    check_record(find_operator("invert_permutation"), [np.array([2, 0, 3, 1], "int64")])


@pytest.mark.parametrize(
    "source, target, shape",
    [
        ("NCHW", "NHWC", (2, 8, 3, 5)),
        ("NHWC", "NCHW", (2, 3, 5, 8)),
        ("NCHW", "NCHW4c", (2, 8, 3, 5)),
        ("NCHW4c", "NCHW", (2, 2, 3, 5, 4)),
        ("NCHW4c", "NCHW2c", (1, 2, 3, 5, 4)),
        ("NHWC", "NCHW8c", (1, 3, 5, 8)),
        ("OIHW", "OIHW4i2o", (4, 8, 3, 3)),
        ("OIHW4i2o", "HWIO", (2, 2, 3, 3, 4, 2)),
    ],
)
def test_layout_transform(check_record, random_array, source, target, shape):
    attributes = {"src_layout": source, "dst_layout": target}
    check_record(find_operator("layout_transform"), [random_array(shape)], attributes)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space_agrees_with_onnx(check_record, run_onnx, random_array, mode):
    data = random_array((2, 8, 3, 4))
    attributes = {"block_size": 2, "mode": mode}
    found = check_record(find_operator("nn.depth_to_space"), [data], attributes)
    np.testing.assert_array_equal(
        found, run_onnx("DepthToSpace", [data], {"blocksize": 2, "mode": mode})
    )
    nhwc = np.ascontiguousarray(data.transpose(0, 2, 3, 1))
    other = check_record(
        find_operator("nn.depth_to_space"), [nhwc], attributes | {"layout": "NHWC"}
    )
    np.testing.assert_array_equal(other.transpose(0, 3, 1, 2), found)


def test_space_to_depth_agrees_with_onnx(check_record, run_onnx, random_array):
    data = random_array((2, 3, 4, 6))
    found = check_record(find_operator("nn.space_to_depth"), [data], {"block_size": 2})
    np.testing.assert_array_equal(found, run_onnx("SpaceToDepth", [data], {"blocksize": 2}))


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("diagonal", [-2, 0, 1, 9])
def test_trilu(check_record, random_array, upper, diagonal):
    arrays = [random_array((2, 3, 4)), np.array(diagonal, "int64")]
    check_record(find_operator("trilu"), arrays, {"upper": upper})


def test_matrix_set_diag_of_one_diagonal(check_record, random_array):
    arrays = [random_array((2, 3, 4)), random_array((2, 3))]
    check_record(find_operator("matrix_set_diag"), arrays)
    check_record(find_operator("matrix_set_diag"), arrays, {"k": 1})


@pytest.mark.parametrize("align", ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"])
def test_matrix_set_diag_of_a_band(check_record, random_array, align):
    arrays = [random_array((2, 4, 4)), random_array((2, 4, 4))]
    attributes = {"k": (-1, 2), "align": align}
    check_record(find_operator("matrix_set_diag"), arrays, attributes)


def test_attributes_from_lists_are_those_from_tuples():
    attributes = find_operator("reshape").attributes
    assert attributes(newshape=[2, -1]) == attributes(newshape=(2, -1))
    assert hash(attributes(newshape=[2, -1])) == hash(attributes(newshape=(2, -1)))
