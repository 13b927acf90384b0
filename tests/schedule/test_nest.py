"""The loop nests of common computations: which axes remain, what is fused into what."""

import numpy as np
import pytest

from relay_tune.codegen.target import native_target
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.nest import Nest
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import (
    Axis,
    Scalar,
    Tensor,
    binary,
    cast,
    literal,
    reduce,
    select,
    unary,
)
from relay_tune.tensor.index import flat_index
from relay_tune.tensor.tensor import compute, input_tensor
from relay_tune.tensor.walk import loads
from tests.run_tensors import run_tensors
from tests.schedule.running import program_of, run_schedule


def nests_of(*outputs: Tensor) -> tuple[Nest, ...]:
    return plan_program(program_of(outputs, {})).nests


def shape_of(nest: Nest) -> tuple[list[int], list[int]]:
    return [axis.extent for axis in nest.axes], [axis.extent for axis in nest.reduction]


def convolution(window: int, channels: int = 16) -> Tensor:
    x = input_tensor("x", (2, 8, 10, channels), "float32")
    weight = input_tensor("w", (24, window, window, channels), "float32")
    u, v, c = Axis("u", window), Axis("v", window), Axis("c", channels)
    return compute(
        "conv",
        (2, 9 - window, 11 - window, 24),
        lambda n, y, z, o: reduce("sum", [c, u, v], x[n, y + u, z + v, c] * weight[o, u, v, c]),
    )


def reshaped(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    def element(*at: Axis) -> Scalar:
        flat, place = flat_index(shape, at), []
        for extent in reversed(x.shape):
            place.insert(0, flat % extent)
            flat = flat // extent
        return x[tuple(place)]

    return compute("reshape", shape, element)


def relu(x: Tensor) -> Tensor:
    return compute("relu", x.shape, lambda *at: binary("max", x[at], literal(0.0, "float32")))


def test_pointwise_convolution_is_a_matrix_product():
    (nest,) = nests_of(convolution(1))
    assert shape_of(nest) == ([2 * 8 * 10, 24], [16])


def test_a_window_row_and_the_channels_are_one_reduction_axis():
    (nest,) = nests_of(convolution(3))
    assert shape_of(nest) == ([2, 6, 8, 24], [3, 3 * 16])


def test_elementwise_with_the_same_shapes_is_one_loop():
    a, b = (input_tensor(name, (2, 3, 4, 5), "float32") for name in "ab")
    (nest,) = nests_of(relu(compute("sum", a.shape, lambda *at: a[at] + b[at])))
    assert shape_of(nest) == ([120], [])


def test_a_broadcast_bias_keeps_its_axis():
    a, bias = input_tensor("a", (2, 3, 4, 5), "float32"), input_tensor("b", (3, 1, 1), "float32")
    (nest,) = nests_of(compute("s", a.shape, lambda i, j, k, m: a[i, j, k, m] + bias[j, 0, 0]))
    assert shape_of(nest) == ([2, 3, 20], [])


def test_unit_axes_disappear():
    a = input_tensor("a", (1, 7, 1), "float32")
    (nest,) = nests_of(relu(a))
    assert shape_of(nest) == ([7], [])
    (single,) = nests_of(relu(input_tensor("s", (1, 1), "float32")))
    assert shape_of(single) == ([], [])


def attention_scores(epilogue: bool) -> Tensor:
    """Heads out of one matrix, multiplied, and put together again."""
    q, k = (input_tensor(name, (12, 4 * 8), "float32") for name in "qk")
    d = Axis("d", 8)
    product = compute(
        "scores", (4, 12, 12), lambda h, i, j: reduce("sum", [d], q[i, h * 8 + d] * k[j, h * 8 + d])
    )
    if not epilogue:
        return product
    swapped = compute("swapped", (12, 4, 12), lambda i, h, j: product[h, i, j] * 0.5)
    return reshaped(swapped, (12, 48))


def test_batched_product_of_heads():
    (nest,) = nests_of(attention_scores(epilogue=False))
    assert shape_of(nest) == ([4, 12, 12], [8])


def test_transpose_and_reshape_are_fused_behind_a_batched_product():
    (nest,) = nests_of(attention_scores(epilogue=True))
    assert shape_of(nest) == ([12, 4, 12], [8])
    assert nest.operation == "sum"
    assert [load.tensor for load in loads(nest.result)] == [nest.accumulator]


def test_bias_and_activation_are_an_epilogue():
    conv, bias = convolution(1), input_tensor("bias", (24,), "float32")
    biased = compute("biased", conv.shape, lambda n, y, z, o: conv[n, y, z, o] + bias[o])
    (nest,) = nests_of(relu(biased))
    assert shape_of(nest) == ([160, 24], [16])
    assert nest.name == "relu"
    assert {load.tensor.name for load in loads(nest.result)} == {"accumulator", "bias"}


def test_a_residual_is_added_in_the_epilogue():
    conv, other = convolution(1), input_tensor("other", (2, 8, 10, 24), "float32")
    (nest,) = nests_of(relu(compute("s", conv.shape, lambda *at: conv[at] + other[at])))
    assert shape_of(nest) == ([160, 24], [16])


def test_no_epilogue_where_the_reduction_is_read_twice():
    conv = convolution(1)
    squared = compute("squared", conv.shape, lambda *at: conv[at] * conv[at[0], 0, 0, at[3]])
    assert [nest.name for nest in nests_of(squared)] == ["conv", "squared"]
    spread = compute("spread", (2, 8, 10, 24, 3), lambda *at: conv[at[:4]])
    assert [nest.name for nest in nests_of(spread)] == ["conv", "spread"]


def test_no_epilogue_for_an_output():
    conv = convolution(1)
    assert [nest.name for nest in nests_of(relu(conv), conv)] == ["conv", "relu"]


def total(rows: int, columns: int) -> tuple[Tensor, Tensor]:
    x, k = input_tensor("x", (rows, columns), "float32"), Axis("k", columns)
    return x, compute("total", (rows,), lambda i: reduce("sum", [k], x[i, k]))


def test_padding_a_reduction_writes_it_in_place():
    _, sums = total(6, 5)
    inside = lambda i: binary("and", binary("ge", i, 2), binary("lt", i, 8))  # noqa: E731
    padded = compute("padded", (9,), lambda i: select(inside(i), sums[i - 2], 0.0))
    shapes = sorted(shape_of(nest) for nest in nests_of(padded))
    assert shapes == [([], []), ([2], []), ([6], [5])]


@pytest.mark.parametrize("guard", ["every second", "either side"])
def test_a_reduction_under_a_condition_that_stays_is_computed_apart(guard):
    x, sums = total(6, 5)

    def element(i: Axis) -> Scalar:
        if guard == "every second":
            return select(binary("eq", i % 2, 0), sums[i // 2], 0.0)
        outside = binary("or", binary("lt", i, 3), binary("ge", i, 9))
        return select(outside, literal(0.0, "float32"), sums[i - 3])

    spread = compute("spread", (12,), element)
    feeds = {x: np.arange(30, dtype="float32").reshape(6, 5)}
    plan = plan_program(program_of([spread], feeds))
    schedule = plan.default_schedule(machine_of(native_target()), 1)
    for at_end in (True, False):
        (found,) = run_schedule(plan, schedule, native_target(), feeds, at_end=at_end)
        np.testing.assert_array_equal(found, evaluate([spread], feeds)[0])


def test_converted_indices_keep_their_axes_apart():
    columns = compute("columns", (3, 4), lambda i, j: cast(j, "float32") + cast(i, "float32") * 9.0)
    (found,) = run_tensors([columns], {}, [], native_target())
    np.testing.assert_array_equal(found, np.arange(4) + 9.0 * np.arange(3)[:, None])


def test_an_empty_tensor_needs_no_nest():
    assert nests_of(relu(input_tensor("x", (3, 0), "float32"))) == ()


def test_the_same_output_twice_is_copied():
    x = input_tensor("x", (4,), "float32")
    y = compute("y", (4,), lambda i: unary("neg", x[i]))
    found = run_tensors([y, y, x], {x: np.arange(4, dtype="float32")}, [], native_target())
    for array, sign in zip(found, (-1, -1, 1), strict=True):
        np.testing.assert_array_equal(array, sign * np.arange(4))


def test_each_part_of_a_joined_tensor_takes_in_its_own_reduction() -> None:
    sizes = (8, 24, 40, 16)
    parts = []
    for number, size in enumerate(sizes):
        x = input_tensor(f"x{number}", (6, 12), "float32")
        weight = input_tensor(f"w{number}", (12, size), "float32")
        parts.append(relu(product_of(x, weight)))
    offsets = np.cumsum([0, *sizes])

    def element(i: Axis, j: Axis) -> Scalar:
        value: Scalar = parts[-1][i, j - int(offsets[3])]
        for part, low, high in zip(parts[-2::-1], offsets[2::-1], offsets[3:0:-1], strict=True):
            value = select(binary("lt", j, int(high)), part[i, j - int(low)], value)
        return value

    joined = compute("joined", (6, int(offsets[-1])), element)
    nests = nests_of(joined)
    assert sorted(shape_of(nest) for nest in nests) == sorted([([6, n], [12]) for n in sizes])
    assert {nest.name for nest in nests} == {"joined"}


def test_two_reductions_of_one_region_are_not_both_taken_in() -> None:
    x = input_tensor("x", (6, 12), "float32")
    first, second = (product_of(x, input_tensor(n, (12, 8), "float32")) for n in "vw")
    total = compute("total", (6, 8), lambda i, j: first[i, j] + second[i, j])
    assert [nest.name for nest in nests_of(total)] == ["product", "total"]


def product_of(x: Tensor, weight: Tensor) -> Tensor:
    k = Axis("k", x.shape[1])
    return compute(
        "product",
        (x.shape[0], weight.shape[1]),
        lambda i, j: reduce("sum", [k], x[i, k] * weight[k, j]),
    )
