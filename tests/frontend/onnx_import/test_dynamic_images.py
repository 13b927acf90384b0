"""Padding, resampling and blocks of images whose sizes only a run knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.ir.printer.astext import astext
from relay_tune.runtime.interpreter.interpret import interpret
from tests.frontend.onnx_import.dynamic_models import (
    FLOAT,
    INT,
    Declared,
    check,
    floats,
    ints,
    model_of,
    node,
)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pads_that_depend_on_sizes(mode: str) -> None:
    """To a multiple of 4 behind the end, and by what an input says before the start."""
    nodes = [
        node("Shape", ["x"], ["n"], start=1),
        node("Mod", ["n", "four"], ["over"]),
        node("Sub", ["four", "over"], ["missing"]),
        node("Mod", ["missing", "four"], ["after"]),
        node("Concat", ["zero", "before", "zero", "after"], ["pads"], axis=0),
        node("Pad", ["x", "pads"], ["y"], mode=mode),
    ]
    inputs: Declared = {"x": (FLOAT, ["b", "n"]), "before": (INT, [1])}
    model = model_of(nodes, inputs, {"four": ints(4), "zero": ints(0)})
    check(model, [{"x": floats(2, n), "before": ints(b)} for n, b in ((5, 0), (9, 3))], interpret)


@pytest.mark.parametrize(
    ("mode", "coordinates", "rounding"),
    [
        ("nearest", "asymmetric", "floor"),
        ("nearest", "half_pixel", "round_prefer_ceil"),
        ("linear", "half_pixel", "floor"),
        ("linear", "align_corners", "floor"),
        ("cubic", "pytorch_half_pixel", "floor"),
    ],
)
@pytest.mark.parametrize("by", ["scales", "sizes", "input"])
def test_resize_of_an_open_image(mode: str, coordinates: str, rounding: str, by: str) -> None:
    nodes = [
        node("Shape", ["x"], ["n"], start=2),
        node("Mul", ["n", "three"], ["larger"]),
        node("Concat", ["batch", "larger"], ["wanted"], axis=0),
        node(
            "Resize",
            {"scales": ["x", "", "scales"]}.get(
                by, ["x", "", "", "given" if by == "input" else "wanted"]
            ),
            ["y"],
            mode=mode,
            coordinate_transformation_mode=coordinates,
            nearest_mode=rounding,
        ),
    ]
    weights = {
        "three": ints(3),
        "batch": ints(1, 1),
        "scales": np.array([1, 1, 2, 3 if coordinates == "align_corners" else 1.5], np.float32),
    }
    inputs: dict[str, tuple[int, Sequence[Any]]] = {"x": (FLOAT, [1, 1, "h", "w"])}
    if by == "input":
        inputs["given"] = (INT, [4])
    feeds: list[dict[str, np.ndarray]] = [{"x": floats(1, 1, *s)} for s in ((2, 3), (7, 4))]
    if by == "input":
        feeds = [{**each, "given": ints(1, 1, 5, 6)} for each in feeds]
    check(model_of(nodes, inputs, weights), feeds, interpret)


def test_upsampling_natively() -> None:
    layer = node("Resize", ["x", "", "scales"], ["y"], mode="linear")
    weights = {"scales": np.array([1, 1, 2, 2], np.float32)}
    model = model_of([layer], {"x": (FLOAT, ["b", 2, "h", "w"])}, weights)
    check(model, [{"x": floats(b, 2, h, w)} for b, h, w in ((1, 1, 1), (2, 3, 5))])


@pytest.mark.parametrize(
    ("kernel", "step", "pads"), [(3, 2, (1, 1)), (2, 2, (0, 0)), (3, 3, (0, 0))]
)
def test_pool_that_rounds_up_over_an_open_axis(
    kernel: int, step: int, pads: tuple[int, int]
) -> None:
    pool = node(
        "MaxPool", ["x"], ["y"], kernel_shape=[kernel], strides=[step], pads=pads, ceil_mode=1
    )
    model = model_of([pool], {"x": (FLOAT, [1, 2, "n"])})
    check(model, [{"x": floats(1, 2, n)} for n in range(3, 9)], interpret)


@pytest.mark.parametrize("operator", ["DepthToSpace", "SpaceToDepth"])
def test_blocks_of_an_open_image(operator: str) -> None:
    model = model_of([node(operator, ["x"], ["y"], blocksize=2)], {"x": (FLOAT, [1, 4, "h", "w"])})
    check(model, [{"x": floats(1, 4, 2, 4)}, {"x": floats(1, 4, 6, 2)}], interpret)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_channels_of_an_open_image_are_cut_without_sizes_of_the_run(mode: str) -> None:
    """12 channels are 3 x 2 x 2 of the next level, whatever the height and the width are."""
    blocks = node("DepthToSpace", ["x"], ["y"], blocksize=2, mode=mode)
    model = model_of([blocks], {"x": (FLOAT, [1, 12, "h", "w"])})
    assert "dyn.reshape" not in astext(from_onnx(model))
    check(model, [{"x": floats(1, 12, 3, 4)}, {"x": floats(1, 12, 1, 2)}], interpret)


NEAREST = {
    "mode": "nearest",
    "nearest_mode": "floor",
    "coordinate_transformation_mode": "asymmetric",
}


def test_only_sizes_that_differ_are_forgotten() -> None:
    """A pyramid: the batch keeps its name, and what is annotated twice is one variable."""
    nodes = [
        node("MaxPool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Resize", ["half", "", "twice"], ["up"], **NEAREST),
        node("Add", ["x", "up"], ["sum"]),
        node("Mul", ["x", "up"], ["product"]),
        node("Sub", ["sum", "product"], ["y"]),
    ]
    weights = {"twice": np.array([1, 1, 2, 2], "f")}
    model = model_of(nodes, {"x": (FLOAT, ["b", 3, "h", "w"])}, weights)
    text = astext(from_onnx(model))
    assert text.count("Tensor[(b, 3, ?, ?), float32]") == 1
    check(model, [{"x": floats(b, 3, h, w)} for b, h, w in ((1, 2, 4), (3, 8, 6))], interpret)


@pytest.mark.parametrize("operands", [["x", "up"], ["up", "x"]])
def test_a_size_that_may_be_1_is_stretched_to_one_that_is_more(operands: list[str]) -> None:
    """Half of one row is one row, twice that are two: x has one."""
    nodes = [
        node("MaxPool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Resize", ["half", "", "twice"], ["up"], **NEAREST),
        node("Add", operands, ["y"]),
    ]
    weights = {"twice": np.array([1, 1, 2, 2], "f")}
    model = model_of(nodes, {"x": (FLOAT, [1, 3, "h", 4])}, weights)
    check(model, [{"x": floats(1, 3, h, 4)} for h in (1, 2, 6)])
