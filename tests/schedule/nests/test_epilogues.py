"""Which reductions are taken into the loops of what reads them."""

import numpy as np
import pytest

from relay_tune.codegen.target import native_target
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import (
    Axis,
    Scalar,
    Tensor,
    binary,
    literal,
    reduce,
    select,
)
from relay_tune.tensor.tensor import Input, compute, input_tensor
from relay_tune.tensor.walk import loads
from tests.schedule.example_nests import (
    attention_scores,
    convolution,
    nests_of,
    product_of,
    relu,
    shape_of,
)
from tests.schedule.running import program_of, run_schedule


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


def interleaved(axis: int) -> Tensor:
    """Two products in turns along an axis."""
    parts = [
        product_of(input_tensor(f"x{n}", (6, 12), "float32"), input_tensor(n, (12, 8), "float32"))
        for n in "vw"
    ]
    shape = [6, 8]
    shape[axis] *= 2

    def element(*at: Scalar) -> Scalar:
        indices = list(at)
        first = binary("lt", binary("floormod", at[axis], 2), 1)
        indices[axis] = binary("floordiv", at[axis], 2)
        return select(first, parts[0][tuple(indices)], parts[1][tuple(indices)]) + 1.0

    return compute("interleaved", tuple(shape), element)


def test_products_in_turns_are_written_to_their_places() -> None:
    joined = interleaved(0)
    nests = nests_of(joined)
    assert [(nest.name, *shape_of(nest)) for nest in nests] == [("interleaved", [6, 8], [12])] * 2
    generator = np.random.default_rng(0)
    inputs = [each for each in tensors_in_order([joined]) if isinstance(each, Input)]
    feeds = {each: generator.standard_normal(each.shape, np.float32) for each in inputs}
    plan = plan_program(program_of([joined], feeds))
    schedule = plan.default_schedule(machine_of(native_target()), 2)
    (found,) = run_schedule(plan, schedule, native_target(), feeds, threads=2)
    np.testing.assert_allclose(found, evaluate([joined], feeds)[0], rtol=1e-5, atol=1e-5)


def test_products_in_turns_within_a_row_are_joined_afterwards() -> None:
    names = [nest.name for nest in nests_of(interleaved(1))]
    assert names == ["product", "product", "interleaved"]
