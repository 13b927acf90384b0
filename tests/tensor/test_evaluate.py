import numpy as np
import pytest

from relay_tune.tensor import evaluate as evaluate_module
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, Tensor, binary, cast, literal, reduce, select, unary
from relay_tune.tensor.loops import Buffer, LoopBuilder
from relay_tune.tensor.tensor import compute, input_tensor, procedure


def matmul(a: Tensor, b: Tensor) -> Tensor:
    k = Axis("k", a.shape[1])
    shape = (a.shape[0], b.shape[1])
    return compute("matmul", shape, lambda i, j: reduce("sum", [k], a[i, k] * b[k, j]))


def test_matmul_of_a_computed_tensor():
    rng = np.random.default_rng(0)
    a, b = input_tensor("a", (3, 4), "float32"), input_tensor("b", (4, 5), "float32")
    doubled = compute("doubled", a.shape, lambda i, j: a[i, j] * 2.0)
    x, y = rng.random((3, 4), np.float32), rng.random((4, 5), np.float32)
    (result,) = evaluate([matmul(doubled, b)], {a: x, b: y})
    np.testing.assert_allclose(result, 2 * x @ y, rtol=1e-6)


def test_blocks_of_the_outer_axis_give_the_same(monkeypatch):
    a, b = input_tensor("a", (5, 4), "int32"), input_tensor("b", (4, 3), "int32")
    x, y = np.arange(20, dtype="int32").reshape(5, 4), np.arange(12, dtype="int32").reshape(4, 3)
    monkeypatch.setattr(evaluate_module, "GRID_LIMIT", 24)
    (result,) = evaluate([matmul(a, b)], {a: x, b: y})
    np.testing.assert_array_equal(result, x @ y)


def test_reduction_to_a_scalar():
    a, k = input_tensor("a", (7,), "int8"), Axis("k", 7)
    total = compute("total", (), lambda: reduce("sum", [k], a[k]))
    (result,) = evaluate([total], {a: np.full(7, 100, "int8")})
    assert result.dtype == np.int8
    assert result == np.int8(700 - 768)


def test_a_branch_that_is_not_taken_may_be_out_of_bounds():
    a = input_tensor("a", (3,), "float32")
    shifted = compute(
        "shifted", (5,), lambda i: select(binary("lt", i, 3), a[i], literal(0.0, "float32"))
    )
    (result,) = evaluate([shifted], {a: np.arange(3, dtype="float32")})
    np.testing.assert_array_equal(result, [0, 1, 2, 0, 0])


def test_a_load_out_of_bounds_is_found():
    a = input_tensor("a", (3,), "float32")
    with pytest.raises(IndexError, match="outside of dimension 0 of size 3"):
        evaluate([compute("bad", (5,), lambda i: a[i])], {a: np.zeros(3, "float32")})


def test_a_very_deep_expression():
    a = input_tensor("a", (2,), "int32")

    def deep(i: Axis):
        value = a[i]
        for _ in range(20_000):
            value = value + 1
        return value

    (result,) = evaluate([compute("deep", (2,), deep)], {a: np.zeros(2, "int32")})
    np.testing.assert_array_equal(result, [20_000, 20_000])


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("truncdiv", [-2, 2, 2, -2, 0]),
        ("truncmod", [-1, 1, -1, 1, 0]),
        ("floordiv", [-3, 2, 2, -3, 0]),
        ("floormod", [2, 1, -1, -2, 0]),
    ],
)
def test_integer_division(operation, expected):
    a, b = input_tensor("a", (5,), "int32"), input_tensor("b", (5,), "int32")
    quotient = compute("quotient", (5,), lambda i: binary(operation, a[i], b[i]))
    x = np.array([-7, 7, -7, 7, 5], "int32")
    y = np.array([3, 3, -3, -3, 0], "int32")
    (result,) = evaluate([quotient], {a: x, b: y})
    np.testing.assert_array_equal(result, expected)


def test_casts():
    a = input_tensor("a", (3,), "float32")
    x = np.array([-1.5, 0.0, 2.7], "float32")
    integers = compute("integers", (3,), lambda i: cast(a[i], "int32"))
    flags = compute("flags", (3,), lambda i: cast(a[i], "bool"))
    halves = compute("halves", (3,), lambda i: cast(a[i], "bfloat16"))
    results = evaluate([integers, flags, halves], {a: x})
    np.testing.assert_array_equal(results[0], [-1, 0, 2])
    np.testing.assert_array_equal(results[1], [True, False, True])
    assert results[2].dtype.name == "bfloat16"


def test_erf_and_sigmoid_keep_the_element_type():
    a = input_tensor("a", (2,), "float16")
    tensors = [
        compute("y", (2,), lambda i, name=name: unary(name, a[i])) for name in ("erf", "sigmoid")
    ]
    first, second = evaluate(tensors, {a: np.array([0.0, 1.0], "float16")})
    np.testing.assert_allclose(first, [0.0, 0.8427], rtol=1e-3)
    np.testing.assert_allclose(second, [0.5, 0.7311], rtol=1e-3)
    assert first.dtype == second.dtype == np.float16


def test_procedure_with_two_outputs_runs_as_written():
    def running_extremes(b: LoopBuilder, x: Buffer, low: Buffer, high: Buffer) -> None:
        b.store(low, (0,), x[0])
        b.store(high, (0,), x[0])
        with b.loop("i", 4, begin=1) as i:
            b.store(low, (i,), binary("min", low[i - 1], x[i]))
            b.store(high, (i,), binary("max", high[i - 1], x[i]))

    a = input_tensor("a", (4,), "int32")
    outputs = procedure("running", [a], [((4,), "int32")] * 2, running_extremes)
    low, high = evaluate(outputs, {a: np.array([3, 1, 4, 1], "int32")})
    np.testing.assert_array_equal(low, [3, 1, 1, 1])
    np.testing.assert_array_equal(high, [3, 3, 4, 4])


def test_reduction_over_nothing_is_the_identity():
    a, k = input_tensor("a", (2, 0), "float32"), Axis("k", 0)
    tensors = [
        compute(name, (2,), lambda i, name=name: reduce(name, [k], a[i, k]))
        for name in ("sum", "prod", "max")
    ]
    results = evaluate(tensors, {a: np.zeros((2, 0), "float32")})
    assert [list(result) for result in results] == [[0, 0], [1, 1], [-np.inf, -np.inf]]
