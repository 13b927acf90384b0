import numpy as np
import pytest

from relay_tune.ir.operator import find_operator


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenate(check_record, random_array, axis):
    shapes = [[2, 3, 4] for _ in range(3)]
    shapes[0][axis], shapes[1][axis] = 1, 0
    arrays = tuple(random_array(shape) for shape in shapes)
    check_record(find_operator("concatenate"), [arrays], {"axis": axis})


def test_concatenate_of_many(check_record):
    arrays = tuple(np.full((1,), n, "int32") for n in range(500))
    check_record(find_operator("concatenate"), [arrays], {"axis": 0})


@pytest.mark.parametrize("axis", [0, 2, -1, -3])
def test_stack(check_record, random_array, axis):
    arrays = tuple(random_array((2, 3)) for _ in range(3))
    check_record(find_operator("stack"), [arrays], {"axis": axis})


@pytest.mark.parametrize("sections", [3, 1, (2, 5), (0, 2)])
@pytest.mark.parametrize("axis", [1, -2])
def test_split(check_record, random_array, sections, axis):
    attributes = {"indices_or_sections": sections, "axis": axis}
    check_record(find_operator("split"), [random_array((2, 6, 3))], attributes)
