"""Extents of indices, and what is said of an index that is out of range."""

import numpy as np
import pytest

from relay_tune.errors import IndexRangeError, InputError
from relay_tune.ir.operator import find_operator
from relay_tune.op.index_check import extents, index_of, require_indices

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("shape, axis", [((), None), ((7,), None), ((3, 5), None), ((3, 5), 0)])
def test_the_kernel_finds_the_extent(check_record, dtype, shape, axis):
    limits = np.iinfo(dtype)
    indices = np.random.default_rng(0).integers(limits.min, limits.max, shape, dtype=dtype)
    check_record(find_operator("index_extent"), [np.asarray(indices, dtype)], {"axis": axis})


@pytest.mark.parametrize("index", [0, -1, 1, -7, 2**62, 2**63 - 1, -(2**63)])
def test_an_extent_tells_the_index(index):
    assert index_of(int(extents(np.array([0, index, 0])))) == index


def test_unsigned_indices_beyond_all_tensors_are_out_of_range():
    with pytest.raises(IndexRangeError):
        require_indices(np.array([2**64 - 1], "uint64"), (10,), None, "take")


def test_the_limits_of_an_axis():
    require_indices(np.array([-4, 3]), (4,), None, "take")
    require_indices(np.zeros((0, 2), "int64"), (0, 0), 1, "take")
    for index in (-5, 4):
        with pytest.raises(InputError) as error:
            require_indices(np.array([0, index]), (4,), None, "node 'words' (Gather)")
        assert str(error.value) == (
            f"An index of node 'words' (Gather) is out of range. It is {index}, and the axis has "
            "4 elements.\n  help: Give indices from -4 to 3."
        )


def test_each_coordinate_has_a_size():
    require_indices(np.array([[3, -1], [0, 1]]), (4, 2), 0, "gather_nd")
    with pytest.raises(IndexRangeError, match="It is 3, and the axis has 2"):
        require_indices(np.array([[0, 1], [3, -1]]), (4, 2), 0, "gather_nd")


def test_a_check_gives_its_indices(check_record):
    indices = np.array([[0, -3], [2, 1]], "int32")
    arrays = [indices, np.asarray(extents(indices)), (np.zeros((3, 4), "float32"),)]
    found = check_record(find_operator("check_indices"), arrays, {"sizes": (-1,), "axes": (0,)})
    np.testing.assert_array_equal(found, indices)
