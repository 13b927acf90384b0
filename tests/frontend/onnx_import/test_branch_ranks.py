"""Branches whose results differ in rank, as torch writes squeeze of an axis of dynamic size."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from relay_tune.building.build import build
from relay_tune.errors import RelayError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.branch_ranks import MOST_TRIALS
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from tests.frontend.onnx_import.conftest import onnxruntime_outputs

RANDOM = np.random.default_rng(5)


def squeezed(source: str, result: str, axis: str = "one") -> str:
    """torch's squeeze: an axis that is removed where its size is 1."""
    return f"""
        {result}_shape = Shape({source})
        {result}_size = Gather({result}_shape, {axis})
        {result}_is = Equal({result}_size, one)
        {result} = If({result}_is) <
            then_branch = g () => ({result}_then) {{ {result}_then = Squeeze({source}, {axis}) }},
            else_branch = g () => ({result}_else) {{ {result}_else = Identity({source}) }}
        >"""


def model_of(inputs: str, output: str, nodes: str) -> onnx.ModelProto:
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
        g ({inputs}) => ({output}) {{ {nodes} }}"""
    model = onnx.parser.parse_model(text)
    weights = {
        "one": np.array([1]),
        "last": np.array([-1]),
        "w": RANDOM.standard_normal((4, 3)).astype(np.float32),
        "k": RANDOM.standard_normal((2, 3, 1)).astype(np.float32),
    }
    model.graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in weights.items())
    return model


CASES = {
    "the rest takes one rank": (
        "float[b, c, 4] x",
        "float y",
        squeezed("x", "s") + "y = Gemm(s, w)",
        (3, 1, 4),
        (3, 2, 4),
    ),
    "the output tells the rank": (
        "float[b, c, 4] x",
        "float[b, 4] y",
        squeezed("x", "s") + "y = Relu(s)",
        (3, 1, 4),
        (3, 2, 4),
    ),
    "the output has all axes": (
        "float[b, c, 4] x",
        "float[b, c, 4] y",
        squeezed("x", "s") + "y = Relu(s)",
        (3, 2, 4),
        None,
    ),
    "the rest takes all axes": (
        "float[b, c, 4] x",
        "float y",
        squeezed("x", "s") + "y = Conv(s, k)",
        (2, 3, 4),
        None,
    ),
    "two of them": (
        "float[b, c, d] x",
        "float[b] y",
        squeezed("x", "s") + squeezed("s", "y", "last"),
        (3, 1, 1),
        (3, 1, 2),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_rank_is_the_one_that_the_file_is_written_for(name: str) -> None:
    inputs, output, nodes, shape, other = CASES[name]
    model = model_of(inputs, output, nodes)
    program = build(from_onnx(model), threads=1)
    x = RANDOM.standard_normal(shape).astype(np.float32)
    (expected,) = onnxruntime_outputs(model, {"x": x})
    (actual,) = program.run({"x": x})
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)
    if other is not None:
        with pytest.raises(RelayError, match="another size"):
            program.run({"x": np.zeros(other, np.float32)})


def test_a_condition_of_the_caller() -> None:
    nodes = """y = If(flat) <
        then_branch = g () => (a) { a = Squeeze(x, one) },
        else_branch = g () => (b) { b = Neg(x) }
    >"""
    model = model_of("float[n, 1] x, bool flat", "float[n] y", nodes)
    program = build(from_onnx(model), threads=1)
    x = RANDOM.standard_normal((5, 1)).astype(np.float32)
    np.testing.assert_array_equal(program(x, np.array(True)), x[:, 0])
    np.testing.assert_array_equal(program(x, np.array(False)), -x[:, 0])  # in the declared rank


def test_without_a_rank_that_fits_the_first_error_stays() -> None:
    nodes = squeezed("x", "s") + "y = Conv(s, w)"
    with pytest.raises(UnsupportedOperatorError, match="values of different types"):
        from_onnx(model_of("float[b, c, 4] x", "float y", nodes))


def test_many_branches_end_the_search() -> None:
    nodes = "".join(squeezed("x", f"s{n}") for n in range(MOST_TRIALS)) + "y = Conv(s0, w)"
    with pytest.raises(UnsupportedOperatorError, match="values of different types"):
        from_onnx(model_of("float[b, c, 4] x", "float y", nodes))
