"""Runs one loop nest as native code and, as a check, statement by statement."""

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.target import Target, native_target, parse_target
from relay_tune.tensor.expression import INDEX, Axis, Scalar, literal
from relay_tune.tensor.loops import Block, Buffer, BufferScope, Kernel, Loop, LoopKind, Statement
from relay_tune.tensor.run_loops import run_loops
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.touched import touched_tensors
from tests.codegen.compiled import compiled
from tests.codegen.guarded_memory import guarded_copy

Array = np.ndarray[Any, Any]

NATIVE = native_target()
BASELINE = parse_target("x86_64-linux-gnu:x86-64")
TARGETS = (NATIVE, BASELINE) if "+sse2" in NATIVE.features.split(",") else (NATIVE,)


def argument(name: str, shape: Sequence[int] | int, dtype: str = "float32") -> Buffer:
    """A buffer that the kernel is called with."""
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    return Buffer(name=name, shape=extents, dtype=dtype, scope=BufferScope.ARGUMENT)


def register(name: str, shape: Sequence[int], dtype: str = "float32") -> Buffer:
    """A buffer in registers."""
    return Buffer(name=name, shape=tuple(shape), dtype=dtype, scope=BufferScope.REGISTER)


def loop(axis: Axis, *body: Statement, kind: LoopKind = LoopKind.SERIAL) -> Loop:
    """A loop over the whole axis."""
    inside = body[0] if len(body) == 1 else Block(body)
    return Loop(axis, number(0), number(axis.extent), inside, kind)


def number(value: int) -> Scalar:
    """An index."""
    return literal(value, INDEX)


def run_native(
    body: Statement,
    arrays: Mapping[Buffer, Array],
    target: Target = NATIVE,
    *,
    threads: int = 1,
    at_end: bool = True,
) -> dict[Buffer, Array]:
    """The arrays after `body` has run on copies of them; they end (or begin) at a guarded page."""
    parameters = touched_tensors(body)
    kernel = Kernel("kernel", parameters, parameters, body)
    code = compiled(module_text([kernel], target), ("kernel",), target)
    own = {buffer: guarded_copy(array, at_end=at_end) for buffer, array in arrays.items()}
    types = [ctypes.c_void_p] * len(parameters) + [ctypes.c_int64] * 2
    function = code.function("kernel", *types)
    for thread in range(threads):
        function(*(own[tensor].ctypes.data for tensor in parameters), thread, threads)
    return own


def check(
    body: Statement, arrays: Mapping[Buffer, Array], *, threads: int = 1
) -> dict[Buffer, Array]:
    """The arrays after `body`, having compared native code with a run statement by statement."""
    for buffer, array in arrays.items():
        assert (array.shape, array.dtype) == (buffer.shape, numpy_dtype(buffer.dtype)), buffer.name
    expected = {buffer: array.copy() for buffer, array in arrays.items()}
    run_loops(body, dict(expected))
    for target in TARGETS:
        for at_end in (True, False):
            found = run_native(body, arrays, target, threads=threads, at_end=at_end)
            for buffer, array in expected.items():
                np.testing.assert_array_equal(found[buffer], array, f"{buffer.name}, {target.cpu}")
    return expected
