"""Which nests run on matrix registers, and rows of several lines as one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.ir.dim import Symbol
from relay_tune.machine.pattern import BFLOAT16_PAIRS
from relay_tune.schedule.intrinsics.match import IntrinsicMatch, balanced_rows, intrinsic_match
from relay_tune.schedule.intrinsics.register_axes import FEW_ROWS, with_long_rows
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT, AppliedAlgorithm
from relay_tune.schedule.rewrites.matrix_products.record import BF16X1, BF16X3, BF16X6
from relay_tune.schedule.rewrites.matrix_products.stages import TERMS
from relay_tune.tensor.expression import Axis, Scalar, cast, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import symbolic_size
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import convolution_program
from tests.schedule.products import batched, dense

ROWS = BFLOAT16_PAIRS.rows


THREE_PRODUCTS = BF16X3()


def product_nest(
    program: TensorProgram, algorithm: AppliedAlgorithm = THREE_PRODUCTS
) -> tuple[Nest, IntrinsicMatch]:
    """The nest of a program's only product, and what stands where in it."""
    found = [(nest, intrinsic_match(nest)) for nest in plan_program(program, algorithm).nests]
    ((nest, product),) = [(nest, product) for nest, product in found if product is not None]
    return nest, product


@pytest.mark.parametrize(("algorithm", "parts"), [(BF16X1(), 1), (BF16X3(), 2), (BF16X6(), 3)])
def test_what_stands_where_in_a_dense_product(algorithm: AppliedAlgorithm, parts: int) -> None:
    nest, product = product_nest(dense(40, 100, 48), algorithm)
    assert product.row.extent == 40
    assert product.block is not None and product.block.extent == 3
    assert product.steps is not None
    assert (product.column.extent, product.steps.extent, product.group.extent) == (16, 16, 2)
    assert product.stride == 128  # 100 steps, up to a multiple of 32
    assert product.register_rows == 14
    assert len(product.terms) == len(TERMS[parts])
    assert {axis.extent for axis in nest.reduction} == {4, 16, 2}


@pytest.mark.parametrize("gathered", [False, True])
@pytest.mark.parametrize(("steps", "blocks"), [(64, 2), (100, 4), (512, 16)])
def test_rounded_data_are_stored(steps: int, blocks: int, gathered: bool) -> None:
    """Where they fill registers, too: to round each of them once a column would take longer."""
    nest, product = product_nest(dense(40, steps, 48), BF16X1(gathered=gathered))
    assert [axis.extent for axis in nest.reduction] == [blocks, 16, 2]
    assert product.terms[0][0].dtype == "bfloat16"


def test_sixteen_columns_have_no_blocks() -> None:
    _, product = product_nest(dense(8, 64, 16))
    assert product.block is None


def test_rows_of_a_window_overlap() -> None:
    _, product = product_nest(convolution_program((1, 20, 20, 8, 32), kernel=(3, 4), stride=2))
    assert (product.row.extent, product.stride) == (20, 2 * 8)


def test_other_nests_are_none() -> None:
    plan = plan_program(dense(40, 100, 48), BF16X3())
    *parts, products = plan.nests
    assert [intrinsic_match(nest) for nest in parts] == [None] * len(parts)
    assert intrinsic_match(products) is not None
    assert all(intrinsic_match(nest) is None for nest in plan.with_algorithm(DIRECT).nests)


def test_a_users_own_product_of_bfloat16_is_none() -> None:
    """Though its operands lie as in matrix registers: it has to run on any machine."""
    x, w = input_tensor("x", (8, 16, 2), "bfloat16"), input_tensor("w", (16, 16, 2), "bfloat16")
    h, p = Axis("h", 16), Axis("p", 2)

    def element(m: Scalar, c: Scalar) -> Scalar:
        return reduce("sum", [h, p], cast(x[m, h, p], "float32") * cast(w[h, c, p], "float32"))

    y = compute("y", (8, 16), element)
    (nest,) = plan_program(TensorProgram((x, w), (y,), ())).nests
    assert intrinsic_match(nest) is None
    assert intrinsic_match(replace(nest, pattern=BFLOAT16_PAIRS)) is not None


@given(st.integers(1, 3000))
@settings(deadline=None)
def test_registers_are_nearly_equally_full(extent: int) -> None:
    rows = balanced_rows(extent, ROWS)
    count = -(-extent // rows)
    assert 1 <= rows <= ROWS
    assert count == -(-extent // ROWS)  # no more registers than there have to be
    assert count * rows - extent < count


def test_balanced_rows_by_hand() -> None:
    assert [balanced_rows(n, ROWS) for n in (1, 7, 16, 17, 21, 49, 56, 57)] == [
        1,
        7,
        16,
        9,
        11,
        13,
        14,
        15,
    ]


def test_registers_of_a_tile() -> None:
    """Two parts of the right operand stay in registers where there is room, three more rarely."""
    _, two = product_nest(dense(40, 100, 48))
    assert two.registers(2, 2) == 8 and two.fits(2, 2) and not two.holds_right(2, 2)
    assert two.registers(1, 3) == 7 and two.fits(1, 3) and not two.holds_right(1, 3)
    assert two.registers(5, 1) == 8 and two.fits(5, 1) and two.holds_right(5, 1)
    _, three = product_nest(dense(40, 100, 48), BF16X6())
    assert three.fits(4, 1) and three.holds_right(4, 1)
    assert not two.fits(2, 3) and not two.fits(1, 4) and not three.fits(5, 1)


# Long rows ---------------------------------------------------------------------------------------


def test_short_lines_become_one_row() -> None:
    """7x7 positions, whose channels lie beside each other line after line."""
    nest, product = product_nest(convolution_program((1, 7, 7, 64, 32), kernel=(1, 1)))
    assert product.row.extent == 49
    assert sorted(axis.extent for axis in nest.axes) == [2, 16, 49]


def test_gathered_rows_are_one() -> None:
    program = convolution_program((1, 7, 7, 64, 32))
    _, apart = product_nest(program)
    _, together = product_nest(program, BF16X3(gathered=True))
    assert (apart.row.extent, together.row.extent) == (7, 49)


def test_batches_of_lines_become_one_row() -> None:
    program = convolution_program((3, 4, 5, 32, 16))
    _, product = product_nest(program, BF16X6(gathered=True))
    assert product.row.extent == 60


def test_long_lines_stay() -> None:
    program = convolution_program((1, 14, 13, 32, 16), kernel=(1, 1), stride=2)
    nest, product = product_nest(program)
    assert product.row.extent == 13 == FEW_ROWS * ROWS
    assert with_long_rows(nest) is nest


def test_lines_that_do_not_follow_each_other_stay() -> None:
    _, product = product_nest(convolution_program((1, 7, 7, 64, 32)))
    assert product.row.extent == 7


def test_batches_with_weights_of_their_own_stay() -> None:
    _, product = product_nest(batched(35, 40, 32))
    assert product.row.extent == 35
    assert product.register_rows < FEW_ROWS * ROWS


def test_an_open_number_of_columns_is_cut_into_registers() -> None:
    n = symbolic_size(Symbol("n"), 40)
    x, w = input_tensor("x", (2, 64, 32), "float32"), input_tensor("w", (2, n, 32), "float32")
    k = Axis("k", 32)
    y = compute("y", (2, 64, n), lambda b, i, j: reduce("sum", [k], x[b, i, k] * w[b, j, k]))
    plan = plan_program(TensorProgram((x, w), (y,), ()), THREE_PRODUCTS)
    nest = next(
        step for step in plan.steps if isinstance(step, Nest) and step.pattern and step.body
    )
    found = intrinsic_match(nest)
    assert found is not None and found.block is not None
    assert found.open_columns == n and found.block.extent == (n + 15) // 16
    assert found.column.extent == 16


def test_known_columns_have_no_end() -> None:
    assert product_nest(dense(40, 100, 48))[1].open_columns is None
