"""Bounds, counts, shapes, indices and conditions that only a run knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import helper

from relay_tune.building.build import build
from relay_tune.errors import RelayError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.runtime.interpreter.interpret import interpret
from tests.frontend.onnx_import.dynamic_models import (
    BOOL,
    FLOAT,
    INT,
    RANDOM,
    Declared,
    check,
    floats,
    ints,
    model_of,
    node,
)


@pytest.mark.parametrize("how", ["all", "three", "input"])
def test_topk_of_an_open_axis(how: str) -> None:
    nodes = {
        "all": [node("Shape", ["x"], ["k"], start=1), node("TopK", ["x", "k"], ["y", "i"])],
        "three": [node("TopK", ["x", "three"], ["y", "i"], largest=0)],
        "input": [node("TopK", ["x", "k"], ["y", "i"])],
    }[how]
    inputs: dict[str, tuple[int, Sequence[Any]]] = {"x": (FLOAT, ["b", "n"])}
    if how == "input":
        inputs["k"] = (INT, [1])
    model = model_of(nodes, inputs, {"three": ints(3)}, ["y", "i"])
    feeds: list[dict[str, np.ndarray]] = [{"x": floats(b, n)} for b, n in ((1, 3), (2, 9))]
    if how == "input":
        feeds = [{**each, "k": ints(k)} for each in feeds for k in (0, 1, 3)]
    check(model, feeds)


@pytest.mark.parametrize(
    ("operator", "declared", "feeds"),
    [
        ("TopK", {"x": (FLOAT, ["n"]), "k": (INT, [1])}, {"x": floats(3), "k": ints(-1)}),
        ("TopK", {"x": (FLOAT, ["n"]), "k": (INT, [1])}, {"x": floats(3), "k": ints(4)}),
        (
            "Slice",
            {"x": (FLOAT, ["n"]), **{n: (INT, [1]) for n in ("first", "last", "axes", "step")}},
            {"x": floats(3), "first": ints(0), "last": ints(3), "axes": ints(0), "step": ints(0)},
        ),
        (
            "Range",
            {n: (INT, []) for n in "abc"},
            {"a": np.array(0), "b": np.array(3), "c": np.array(0)},
        ),
        (
            "Range",
            {n: (FLOAT, []) for n in "abc"},
            {n: np.float32(v) for n, v in {"a": 0, "b": 3, "c": 0}.items()},
        ),
    ],
)
def test_numbers_of_a_run_that_no_result_has(
    operator: str, declared: Declared, feeds: dict[str, np.ndarray]
) -> None:
    outputs = ["y", "i"] if operator == "TopK" else ["y"]
    compiled = build(from_onnx(model_of([node(operator, list(declared), outputs)], declared)))
    with pytest.raises(RelayError, match="do not fit"):
        compiled.run(None, dict(feeds))


@pytest.mark.parametrize(
    ("bounds", "dtype"),
    [((0, 7, 1), INT), ((3, -4, -2), INT), ((5, 2, 1), INT), ((0.5, 2.0, 0.25), FLOAT)],
)
def test_range_of_run_time_bounds(bounds: tuple[float, float, float], dtype: int) -> None:
    names = ("first", "last", "step")
    model = model_of([node("Range", names, ["y"])], {name: (dtype, []) for name in names})
    kind = helper.tensor_dtype_to_np_dtype(dtype)
    check(model, [{n: np.array(b, kind) for n, b in zip(names, bounds, strict=True)}])


@pytest.mark.parametrize("first", [-5, -3, 0, 2, 4, 100])
@pytest.mark.parametrize(("last", "step"), [(3, 1), (2**63 - 1, 2), (-1, 1), (-(2**63), -1)])
def test_slice_by_run_time_bounds(first: int, last: int, step: int) -> None:
    names = ("first", "last", "axes", "step")
    cut = node("Slice", ["x", *names], ["y"])
    inputs: Declared = {
        "x": (FLOAT, ["b", "n", 2]),
        **{name: (INT, [1]) for name in ("first", "last", "step")},
    }
    feeds = {"first": ints(first), "last": ints(last), "step": ints(step)}
    check(model_of([cut], inputs, {"axes": ints(1)}), [{"x": floats(2, 5, 2), **feeds}], interpret)


def test_shapes_that_arrive_at_run_time() -> None:
    """ConstantOfShape, Expand, Tile and Trilu, each of something that a run brings."""
    nodes = [
        node("ConstantOfShape", ["shape"], ["zeros"]),
        node("Expand", ["row", "shape"], ["rows"]),
        node("Add", ["zeros", "rows"], ["sum"]),
        node("Trilu", ["sum", "k"], ["triangle"]),
        node("Tile", ["triangle", "copies"], ["y"]),
    ]
    inputs: Declared = {
        "shape": (INT, [2]),
        "row": (FLOAT, [1, "n"]),
        "k": (INT, []),
        "copies": (INT, [2]),
    }
    feeds = [
        {"shape": ints(m, n), "row": floats(1, n), "k": np.int64(k), "copies": ints(2, 3)}
        for m, n, k in ((1, 1, 0), (3, 4, -1), (5, 2, 1))
    ]
    check(model_of(nodes, inputs), [{n: np.asarray(a) for n, a in f.items()} for f in feeds])


@pytest.mark.parametrize("axis", [0, 1, None])
def test_compress_by_a_condition_of_the_run(axis: int | None) -> None:
    options = {} if axis is None else {"axis": axis}
    model = model_of(
        [node("Compress", ["x", "c"], ["y"], **options)],
        {"x": (FLOAT, ["b", 4]), "c": (BOOL, ["n"])},
    )
    count = 12 if axis is None else (3, 4)[axis]
    feeds = [{"x": floats(3, 4), "c": RANDOM.random(count) > part} for part in (0.5, 2.0, -1.0)]
    check(model, feeds)


def test_indices_from_the_end_of_an_open_axis() -> None:
    nodes = [
        node("Gather", ["x", "last"], ["a"], axis=1),
        node("Gather", ["x", "i"], ["b"], axis=1),
        node("GatherElements", ["x", "e"], ["c"], axis=1),
    ]
    weights = {"last": np.int64(-1), "e": ints(-1, 0).reshape(1, 2)}
    inputs: Declared = {"x": (FLOAT, [1, "n"]), "i": (INT, ["m"])}
    model = model_of(nodes, inputs, weights, ["a", "b", "c"])
    check(model, [{"x": floats(1, n), "i": ints(-1, 0, 1, -2)} for n in (2, 5)])


@pytest.mark.parametrize("rows", [3, 6])
def test_equal_parts_of_as_many_rows_as_a_run_finds(rows: int) -> None:
    nodes = [
        node("Compress", ["x", "chosen"], ["kept"], axis=0),
        node("Split", ["kept"], ["a", "b", "c"], axis=0),
    ]
    model = model_of(nodes, {"x": (FLOAT, [8, 2]), "chosen": (BOOL, [8])}, {}, ["a", "b", "c"])
    check(model, [{"x": floats(8, 2), "chosen": np.arange(8) < rows}])
