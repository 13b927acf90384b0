"""Instructions on scalars and vectors of every element type."""

import ctypes

import numpy as np
import pytest

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.llvm_types import VALUE_TYPES
from relay_tune.ir.dim import Symbol
from relay_tune.ir.dtypes import DTYPES
from relay_tune.tensor.size import symbolic_size
from tests.codegen.compiled import compiled
from tests.codegen.running import NATIVE

OF_VALUES = {"float16": "float32", "bfloat16": "float32", "bool": "int8"}
"""How values are read that are of another type in registers than in memory."""


@pytest.mark.parametrize("lanes", [0, 4, 16])
@pytest.mark.parametrize("dtype", VALUE_TYPES)
@pytest.mark.parametrize("size", [0, 2, 7])
def test_sizes_that_a_run_tells_are_numbers_of_every_type(
    dtype: str, lanes: int, size: int
) -> None:
    writer = FunctionWriter({"n": "%n"})
    values = Arithmetic(writer, dtype, lanes)
    text, type_ = values.number(symbolic_size(Symbol("n"), 5)), values.type
    if dtype == "bool":
        stored = values.of("int8")
        text, type_ = values.convert("zext", text, "int8"), stored.type
    writer.line(f"store {type_} {text}, ptr %result, align 1")
    function = f"define void @write(ptr %result, i64 %n) {{\n{writer.text()}\n  ret void\n}}\n"
    code = compiled(f'target triple = "{NATIVE.triple}"\n{function}', ("write",), NATIVE)
    found = np.full(max(lanes, 1), 1, DTYPES[OF_VALUES.get(dtype, dtype)])
    code.function("write", ctypes.c_void_p, ctypes.c_int64)(found.ctypes.data, size)
    assert found.tolist() == [bool(size) if dtype == "bool" else size] * max(lanes, 1)
