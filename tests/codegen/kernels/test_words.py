"""Words that are put together in registers, from bytes and from pairs of int16."""

from __future__ import annotations

import numpy as np
import pytest

from relay_tune.tensor.expression import Scalar, literal, word
from relay_tune.tensor.expression_text import scalar_text
from relay_tune.tensor.scalar_semantics import word_of
from relay_tune.tensor.walk import rebuild, share_equal, sub_expressions
from tests.codegen.kernels.elementwise import elementwise
from tests.codegen.running import TARGETS, argument, run_native

COUNT, SIZES = 37, {"uint8": 4, "int8": 4, "int16": 2}


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("lanes", [0, 2, 8, 16])
@pytest.mark.parametrize("dtype", SIZES)
def test_elements_stand_in_order(dtype: str, lanes: int, target) -> None:
    group, info = SIZES[dtype], np.iinfo(dtype)
    x, out = argument("x", (group, COUNT), dtype), argument("out", COUNT, "int32")
    values = np.random.default_rng(0).integers(info.min, info.max + 1, (group, COUNT)).astype(dtype)
    body = elementwise(out, lanes, COUNT, lambda i: word([x[n, i] for n in range(group)]))
    found = run_native(body, {x: values, out: np.zeros(COUNT, np.int32)}, target)[out]
    expected = np.ascontiguousarray(values.T).view("<i4")[:, 0]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(word_of(list(values)), expected)


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("dtype", SIZES)
def test_neighbours_are_one_load_wherever_they_begin(dtype: str, target) -> None:
    """Loop variables choose the word, which all lanes take."""
    group, info, lanes = SIZES[dtype], np.iinfo(dtype), 8
    x, out = argument("x", COUNT, dtype), argument("out", 8 * lanes, "int32")
    values = np.random.default_rng(0).integers(info.min, info.max + 1, COUNT).astype(dtype)

    def element(i: Scalar) -> Scalar:
        first = i // lanes * 3
        return word([x[first + n] for n in range(group)])

    body = elementwise(out, lanes, 8 * lanes, element)
    found = run_native(body, {x: values, out: np.zeros(8 * lanes, np.int32)}, target)[out]
    rows = np.stack([values[3 * n : 3 * n + group] for n in range(8)])
    np.testing.assert_array_equal(found, np.repeat(rows.view("<i4")[:, 0], lanes))


@pytest.mark.parametrize("lanes", [0, 16])
def test_numbers_may_be_among_them(lanes: int) -> None:
    x, out = argument("x", COUNT, "uint8"), argument("out", COUNT, "int32")
    values = np.arange(COUNT).astype(np.uint8) * 6

    def element(i: Scalar) -> Scalar:
        return word([literal(255, "uint8"), x[i], literal(0, "uint8"), literal(1, "uint8")])

    body = elementwise(out, lanes, COUNT, element)
    found = run_native(body, {x: values, out: np.zeros(COUNT, np.int32)})[out]
    np.testing.assert_array_equal(found, 255 + (values.astype(np.int32) << 8) + (1 << 24))


def test_words_are_expressions_like_others() -> None:
    x = argument("x", 4, "int8")
    first, again = (word([x[n] for n in range(4)]) for _ in range(2))
    assert scalar_text(first).text == "word(x[0], x[1], x[2], x[3])"
    shared = share_equal(first + again)
    assert sum(node.dtype == "int32" for node in sub_expressions(shared)) == 2
    other = rebuild(first, tuple(x[3 - n] for n in range(4)))
    assert scalar_text(other).text == "word(x[3], x[2], x[1], x[0])"
