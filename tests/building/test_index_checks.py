"""Indices out of range end every kind of run with one error, and the next run is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.errors import IndexRangeError

TABLE = np.arange(40, dtype="float32").reshape(10, 4)
FIXED = "%t: Tensor[(10, 4), float32], "
OPEN = "%t: Tensor[(n, 4), float32], "


def _values(*numbers: Any, dtype: str = "int64") -> np.ndarray:
    return np.array(numbers, dtype)


def _is_right(module: rt.Module, arguments: list[np.ndarray], expected: np.ndarray) -> None:
    for threads in (1, 2):
        model = rt.build(module, threads=threads)
        for _ in range(2):  # the second call takes the short way
            np.testing.assert_array_equal(model(*arguments), expected)


def _fails(module: rt.Module, bad: list[np.ndarray], good: list[np.ndarray], message: str) -> None:
    expected = rt.interpret(module, *good)
    with pytest.raises(IndexRangeError, match=message):
        rt.interpret(module, *bad)
    for threads in (1, 2):
        model = rt.build(module, threads=threads)
        for _ in range(3):
            with pytest.raises(IndexRangeError, match=message):
                model(*bad)
            np.testing.assert_array_equal(np.asarray(model(*good)), np.asarray(expected))


@pytest.mark.parametrize("table", [FIXED, OPEN])
@pytest.mark.parametrize("index", [10, -11, 2**62, -(2**63)])
def test_take(table: str, index: int) -> None:
    text = f'def @main({table}%i: Tensor[(3), int64]) {{ take(%t, %i, axis=0, mode="raise") }}'
    message = f"take at f.relay:1:.*It is {index}, and the axis has 10 elements"
    module = rt.parse(text, source_name="f.relay")
    _fails(module, [TABLE, _values(0, index, 1)], [TABLE, _values(-10, 9, -1)], message)
    _is_right(module, [TABLE, _values(0, -1, 3)], TABLE[[0, -1, 3]])


@pytest.mark.parametrize("table", [FIXED, OPEN])
def test_coordinates(table: str) -> None:
    text = f"def @main({table}%i: Tensor[(2, 3), int32]) {{ gather_nd(%t, %i) }}"
    bad = _values([0, 9, 1], [0, -5, 3], dtype="int32")
    good = _values([0, -10, 1], [0, -4, 3], dtype="int32")
    _fails(rt.parse(text), [TABLE, bad], [TABLE, good], "It is -5, and the axis has 4 elements")
    _is_right(rt.parse(text), [TABLE, good], TABLE[good[0], good[1]])


def test_writes() -> None:
    text = (
        f"def @main({FIXED}%i: Tensor[(1, 4), int32], %u: Tensor[(1, 4), float32]) "
        "{ scatter_elements(%t, %i, %u, axis=0) }"
    )
    updates = np.ones((1, 4), "float32")
    bad, good = (_values([0, 1, last, 3], dtype="int32") for last in (10, -10))
    message = "scatter_elements at .*It is 10"
    _fails(rt.parse(text), [TABLE, bad, updates], [TABLE, good, updates], message)


@pytest.mark.parametrize(
    ("size", "dtype", "bad"), [("3", "int64", 3), ("c", "int8", -4), ("?", "uint8", 156)]
)
def test_targets_of_a_loss(size: str, dtype: str, bad: int) -> None:
    call = 'nn.nll_loss(%x, %t, %w, reduction="none", ignore_index=-100)'
    signature = (
        f"(%b: Tensor[(), bool], %x: Tensor[(2, {size}), float32], %t: Tensor[(2), {dtype}], "
        f"%w: Tensor[({size}), float32])"
    )
    values, weights = np.array([[1, 2, 3], [4, 5, 6]], "float32"), np.ones(3, "float32")
    front = [np.array(True), values]
    message = f"nn.nll_loss at .*It is {bad}, and the axis has 3 elements"
    last = 2 if dtype == "uint8" else -1
    body = call if size == "3" else f"if (%b) {{ {call} }} else {{ full(1f, shape=(2,)) }}"
    module = rt.parse(f"def @main{signature} {{ {body} }}")
    given = [[*front, _values(0, end, dtype=dtype), weights] for end in (bad, last)]
    _fails(module, *given, message)
    if dtype != "uint8":
        _is_right(module, [*front, _values(-3, -100, dtype=dtype), weights], np.array([-1, 0]))


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize(
    ("shape", "bad", "size"), [("%s", 42, 42), ("shape_of(%x)", -43, 42), ("%z", 0, 0)]
)
def test_unravel_index(shape: str, bad: int, size: int, guarded: bool) -> None:
    call = f"unravel_index(%i, {shape})"
    body = f"if (%b) {{ {call} }} else {{ full(0i64, shape=(2, 2)) }}"
    module = rt.parse(
        "def @main(%b: Tensor[(), bool], %i: Tensor[(2), int64], %s: Tensor[(2), int32], "
        f"%z: Tensor[(2), int64], %x: Tensor[(7, 6), bool]) {{ {body if guarded else call} }}"
    )
    sizes, rest = np.array([7, 6], "int32"), np.zeros((7, 6), bool)
    given = [
        [np.array(True), _values(0, index), sizes, _values(last, 3), rest]
        for index, last in ((bad, 0), (-1, 14))
    ]
    message = f"unravel_index at .*It is {bad}, and the axis has {size} elements"
    _fails(module, *given, message)


def test_known_targets_of_a_loss() -> None:
    text = (
        "def @main(%x: Tensor[(1, 3), float32], %w: Tensor[(3), float32]) {{ "
        'nn.nll_loss(%x, full({}, shape=(1,), dtype="int32"), %w, reduction="sum", '
        "ignore_index=9) }}"
    )
    arrays = [np.array([[1, 2, 3]], "float32"), np.ones(3, "float32")]
    _is_right(rt.parse(text.format(9)), arrays, np.array(0))
    for run in (rt.build, lambda module: rt.interpret(module, *arrays)):
        with pytest.raises(IndexRangeError, match="nn.nll_loss at .*It is 7"):
            run(rt.parse(text.format(7)))


def test_indices_of_a_branch_that_is_not_taken_do_not_matter() -> None:
    text = (
        f"def @main(%c: Tensor[(), bool], {FIXED}%i: Tensor[(), int64]) "
        '{ if (%c) { take(%t, %i, axis=0, mode="raise") } else { take(%t, 0, axis=0) } }'
    )
    yes, no = np.array(True), np.array(False)
    bad, good = [yes, TABLE, np.array(10)], [yes, TABLE, np.array(-10)]
    _fails(rt.parse(text), bad, good, "It is 10")
    _is_right(rt.parse(text), [no, TABLE, np.array(10)], TABLE[0])


def test_two_guarded_uses_of_one_index() -> None:
    text = (
        "def @main(%c: Tensor[(), bool], %d: Tensor[(), bool], %t: Tensor[(10), float32], "
        "%i: Tensor[(), int64]) {\n"
        '  let %a = if (%c) { take(%t, %i, axis=0, mode="raise") } else { 0f };\n'
        '  let %b = if (%d) { take(%t, %i, axis=0, mode="raise") * 2f } else { 1f };\n'
        "  %a + %b\n}"
    )
    table = np.arange(10, dtype="float32")
    no, yes = np.array(False), np.array(True)
    _is_right(rt.parse(text), [no, no, table, np.array(99)], np.float32(1))
    bad, good = [no, yes, table, np.array(99)], [no, yes, table, np.array(4)]
    _fails(rt.parse(text), bad, good, "It is 99")


def test_no_indices_of_no_elements() -> None:
    text = (
        'def @main(%t: Tensor[(n), float32], %i: Tensor[(m), int32]) { take(%t, %i, mode="raise") }'
    )
    nothing = np.zeros(0, "float32")
    _is_right(rt.parse(text), [nothing, _values(dtype="int32")], nothing)


def test_indices_in_a_recursion() -> None:
    text = (
        "def @sum(%t: Tensor[(10), float32], %n: Tensor[(), int32], %s: Tensor[(), float32]) "
        "-> Tensor[(), float32] {\n"
        "  if (less(%n, 0)) { %s } else {\n"
        '    @sum(%t, %n - 1, %s + take(%t, %n, axis=0, mode="raise"))\n  }\n}\n'
        "def @main(%t: Tensor[(10), float32], %n: Tensor[(), int32]) { @sum(%t, %n, 0f) }"
    )
    table = np.arange(10, dtype="float32")
    bad, good = [table, np.array(12, "int32")], [table, np.array(9, "int32")]
    _fails(rt.parse(text), bad, good, "It is 12, and the axis has 10")


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_indices_forced_into_an_axis_without_elements(mode: str) -> None:
    text = f'(%t: Tensor[(n), float32], %i: Tensor[(m), int32]) {{ take(%t, %i, mode="{mode}") }}'
    model = rt.build(rt.parse(f"def @main{text}"), threads=1)
    nothing, indices = np.zeros(0, "float32"), _values(0, 7, dtype="int32")
    np.testing.assert_array_equal(model(nothing, indices[:0]), nothing)
    np.testing.assert_array_equal(model(np.ones(1, "float32"), indices), [1, 1])
    with pytest.raises(rt.RelayError, match="axis that take at .* indexes has no elements"):
        model(nothing, indices)
    fixed = text.replace("(n)", "(0)").replace("(m)", "(2)")
    with pytest.raises(rt.TypeInferenceError, match="axis that is indexed has no elements"):
        rt.infer_types(rt.parse(f"def @main{fixed}"))
