"""cumsum and cumprod along each axis, with vectors of neighbours and what they leave over."""

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.op.scan import ScanAttributes
from relay_tune.tensor.loops import Loop, LoopKind
from relay_tune.tensor.tensor import input_tensor
from relay_tune.tensor.touched import statements

SHAPES = [(5, 70), (3, 4, 2, 33), (2, 64), (4, 3), (0, 40), (6, 0), (1, 1)]
"""With whole vectors of neighbours, with a rest behind them, with less than one, and empty."""


def program(operator, sizes, dtype, attributes):
    shape = ", ".join(map(str, sizes))
    return rt.parse(f"def @main(%x: Tensor[({shape}), {dtype}]) {{ {operator}(%x, {attributes}) }}")


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("operator", ["cumsum", "cumprod"])
def test_each_axis_of_any_size(operator, exclusive):
    random = np.random.default_rng(5)
    for rank, axis in ((2, 0), (2, 1), (4, 0), (4, 2), (4, 3)):
        names = [f"n{index}" for index in range(rank)]
        module = program(operator, names, "float32", f"axis={axis}, exclusive={exclusive}")
        model = rt.build(module, threads=1)
        for shape in (shape for shape in SHAPES if len(shape) == rank):
            x = random.uniform(-1.5, 1.5, shape).astype(np.float32)
            np.testing.assert_array_equal(model(x), rt.interpret(module, x))


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8", "int64"])
@pytest.mark.parametrize("exclusive", [False, True])
def test_each_type(check_record, random_array, dtype, exclusive):
    for shape, axis in (((9, 35), 0), ((2, 3, 66), 1), ((3, 40), 1)):
        attributes = {"axis": axis, "exclusive": exclusive}
        check_record(find_operator("cumsum"), [random_array(shape, dtype)], attributes)


@pytest.mark.parametrize(("axis", "vectors"), [(0, 2), (1, 2), (2, 0)])
def test_neighbours_on_the_last_axis_are_summed_by_vectors(axis, vectors):
    data = input_tensor("x", (4, 5, 70), "float32")
    attributes = ScanAttributes(axis=axis)
    (output,) = find_operator("cumsum").compute(
        attributes, [data], [TensorType(data.shape, "float32")]
    )
    kinds = [each.kind for each in statements(output.procedure.body) if isinstance(each, Loop)]
    assert kinds.count(LoopKind.VECTOR) == vectors
