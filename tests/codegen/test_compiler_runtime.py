"""Conversions of 16-bit floats where a processor has none, against numpy and ml_dtypes."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest

from relay_tune.codegen.compiler_runtime import compiler_runtime_text
from relay_tune.codegen.export import plain_object
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import native_target

TARGET = native_target()
NAMES = {
    ("float32", "float16"): "__truncsfhf2",
    ("float64", "float16"): "__truncdfhf2",
    ("float32", "bfloat16"): "__truncsfbf2",
    ("float64", "bfloat16"): "__truncdfbf2",
    ("float16", "float32"): "__extendhfsf2",
}
LLVM = {"float16": "half", "bfloat16": "bfloat", "float32": "float", "float64": "double"}

LOOP = """
define void @loop(ptr %x, ptr %y, i64 %n) {{
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %more, %next ]
  %from = getelementptr {source}, ptr %x, i64 %i
  %to = getelementptr {to}, ptr %y, i64 %i
  %value = load {source}, ptr %from
  %result = call {to} @{name}({source} %value)
  store {to} %result, ptr %to
  %more = add i64 %i, 1
  %again = icmp ult i64 %more, %n
  br i1 %again, label %next, label %end
end:
  ret void
}}
"""


def converted(values: np.ndarray, source: str, to: str) -> np.ndarray:
    name = NAMES[source, to]
    text = compiler_runtime_text(TARGET.triple, [name, "something_else"])
    text += LOOP.format(source=LLVM[source], to=LLVM[to], name=name)
    code = LoadedCode([plain_object(text, TARGET)], ["loop"])
    result = np.empty(values.size, ml_dtypes.bfloat16 if to == "bfloat16" else to)
    loop = code.function("loop", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    loop(values.ctypes.data, result.ctypes.data, values.size)
    return result


@pytest.mark.parametrize(("source", "to"), [pair for pair in NAMES if pair[0] != "float16"])
def test_rounding(source: str, to: str) -> None:
    kind = np.dtype(ml_dtypes.bfloat16 if to == "bfloat16" else to)
    with np.errstate(invalid="ignore"):
        every = np.arange(1 << 16, dtype=np.uint16).view(kind).astype(source)
    finite = np.sort(every[np.isfinite(every)])
    # Values on both sides of, and at, the middle between neighbours, and far outside.
    middles = finite[:-1] / 2 + finite[1:] / 2
    far = [65519.996, 65520, 3.4e38, 1e-45, *([1e300, 5e-324] if source == "float64" else [])]
    values = np.concatenate(
        [
            every,
            middles,
            np.nextafter(middles, np.inf, dtype=source),
            np.nextafter(middles, -np.inf, dtype=source),
            np.random.default_rng(0).integers(0, 256, 80000, np.uint8).view(source),
            np.array(far, source),
            -np.array(far, source),
        ]
    )
    with np.errstate(over="ignore", invalid="ignore"):
        expected = _rounded(values, kind)
    found = converted(values, source, to)
    is_nan = np.isnan(values)
    assert np.isnan(found[is_nan].astype("float32")).all()
    np.testing.assert_array_equal(found[~is_nan].view(np.uint16), expected[~is_nan].view(np.uint16))


def _rounded(values: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Rounded once; ml_dtypes goes through float32 from float64, which rounds twice."""
    if values.dtype != np.float64 or kind == np.float16:
        return values.astype(kind)
    single = values.astype(np.float32)
    bits = single.view(np.uint32)
    # Round to odd where float32 is inexact: then the second rounding is right.
    inexact = np.isfinite(values) & (single.astype(np.float64) != values)
    toward_zero = np.where(
        inexact & (np.abs(single.astype(np.float64)) > np.abs(values)), bits - 1, bits
    )
    odd = np.where(inexact, toward_zero | 1, bits).astype(np.uint32)
    return odd.view(np.float32).astype(kind)


def test_widening() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    found, expected = converted(halves, "float16", "float32"), halves.astype(np.float32)
    np.testing.assert_array_equal(found, expected)


def test_nothing_is_made_of_what_nobody_wants() -> None:
    assert compiler_runtime_text(TARGET.triple, ["memcpy"]) == ""


def test_code_in_this_process_finds_the_functions_that_it_calls() -> None:
    declared = "declare float @__extendhfsf2(half)\n"
    text = declared + LOOP.format(source="half", to="float", name="__extendhfsf2")
    code = LoadedCode([plain_object(text, TARGET)], ["loop"])
    values, result = np.array([1.5, -0.25], "float16"), np.empty(2, "float32")
    loop = code.function("loop", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    loop(values.ctypes.data, result.ctypes.data, 2)
    np.testing.assert_array_equal(result, values.astype("float32"))
