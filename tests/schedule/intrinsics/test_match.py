"""Which nests run on matrix registers, and rows of several lines as one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.op.lower import TensorProgram
from relay_tune.schedule.intrinsics.match import (
    FEW_ROWS,
    NestProduct,
    balanced_rows,
    fits,
    holds_right,
    nest_product,
    registers,
    with_long_rows,
)
from relay_tune.schedule.matrix_tiles.stages import TERMS
from relay_tune.schedule.nest import Nest
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.expression import Axis, Scalar, cast, reduce
from relay_tune.tensor.matrix_registers import ROWS
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import convolution_program
from tests.schedule.products import batched, dense


def product_nest(program: TensorProgram, algorithm: str = "bf16x3") -> tuple[Nest, NestProduct]:
    """The nest of a program's only product, and what stands where in it."""
    found = [(nest, nest_product(nest)) for nest in plan_program(program, algorithm).nests]
    ((nest, product),) = [(nest, product) for nest, product in found if product is not None]
    return nest, product


@pytest.mark.parametrize(("algorithm", "parts"), [("bf16x3", 2), ("bf16x6", 3)])
def test_what_stands_where_in_a_dense_product(algorithm: str, parts: int) -> None:
    nest, product = product_nest(dense(40, 100, 48), algorithm)
    assert product.row.extent == 40
    assert product.block is not None and product.block.extent == 3
    assert (product.column.extent, product.half.extent, product.pair.extent) == (16, 16, 2)
    assert product.stride == 128  # 100 steps, up to a multiple of 32
    assert product.register_rows == 14
    assert len(product.terms) == len(TERMS[parts])
    assert {axis.extent for axis in nest.reduction} == {4, 16, 2}


def test_sixteen_columns_have_no_blocks() -> None:
    _, product = product_nest(dense(8, 64, 16))
    assert product.block is None


def test_rows_of_a_window_overlap() -> None:
    _, product = product_nest(convolution_program((1, 20, 20, 8, 32), kernel=(3, 4), stride=2))
    assert (product.row.extent, product.stride) == (20, 2 * 8)


def test_other_nests_are_none() -> None:
    plan = plan_program(dense(40, 100, 48), "bf16x3")
    *parts, products = plan.nests
    assert [nest_product(nest) for nest in parts] == [None] * len(parts)
    assert nest_product(products) is not None
    assert all(nest_product(nest) is None for nest in plan.with_algorithm("direct").nests)


def test_a_users_own_product_of_bfloat16_is_none() -> None:
    """Though its operands lie as in matrix registers: it has to run on any machine."""
    x, w = input_tensor("x", (8, 16, 2), "bfloat16"), input_tensor("w", (16, 16, 2), "bfloat16")
    h, p = Axis("h", 16), Axis("p", 2)

    def element(m: Scalar, c: Scalar) -> Scalar:
        return reduce("sum", [h, p], cast(x[m, h, p], "float32") * cast(w[h, c, p], "float32"))

    y = compute("y", (8, 16), element)
    (nest,) = plan_program(TensorProgram((x, w), (y,), ())).nests
    assert nest_product(nest) is None
    assert nest_product(replace(nest, has_matrix_registers=True)) is not None


@given(st.integers(1, 3000))
@settings(deadline=None)
def test_registers_are_nearly_equally_full(extent: int) -> None:
    rows = balanced_rows(extent)
    count = -(-extent // rows)
    assert 1 <= rows <= ROWS
    assert count == -(-extent // ROWS)  # no more registers than there have to be
    assert count * rows - extent < count


def test_balanced_rows_by_hand() -> None:
    assert [balanced_rows(n) for n in (1, 7, 16, 17, 21, 49, 56, 57)] == [
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
    assert registers(2, 2, 2) == 8 and fits(2, 2, 2) and not holds_right(2, 2, 2)
    assert registers(1, 3, 2) == 7 and fits(1, 3, 2) and not holds_right(1, 3, 2)
    assert registers(5, 1, 2) == 8 and fits(5, 1, 2) and holds_right(5, 1, 2)
    assert fits(4, 1, 3) and holds_right(4, 1, 3)
    assert not fits(2, 3, 2) and not fits(1, 4, 2) and not fits(5, 1, 3)


# Long rows ---------------------------------------------------------------------------------------


def test_short_lines_become_one_row() -> None:
    """7x7 places, whose channels lie beside each other line after line."""
    nest, product = product_nest(convolution_program((1, 7, 7, 64, 32), kernel=(1, 1)))
    assert product.row.extent == 49
    assert sorted(axis.extent for axis in nest.axes) == [2, 16, 49]


def test_gathered_rows_are_one() -> None:
    program = convolution_program((1, 7, 7, 64, 32))
    _, apart = product_nest(program)
    _, together = product_nest(program, "bf16x3_gathered")
    assert (apart.row.extent, together.row.extent) == (7, 49)


def test_batches_of_lines_become_one_row() -> None:
    program = convolution_program((3, 4, 5, 32, 16))
    _, product = product_nest(program, "bf16x6_gathered")
    assert product.row.extent == 60


def test_long_lines_stay() -> None:
    program = convolution_program((1, 14, FEW_ROWS, 32, 16), kernel=(1, 1), stride=2)
    nest, product = product_nest(program)
    assert product.row.extent == FEW_ROWS
    assert with_long_rows(nest) is nest


def test_lines_that_do_not_follow_each_other_stay() -> None:
    _, product = product_nest(convolution_program((1, 7, 7, 64, 32)))
    assert product.row.extent == 7


def test_batches_with_weights_of_their_own_stay() -> None:
    _, product = product_nest(batched(35, 40, 32))
    assert product.row.extent == 35
    assert product.register_rows < FEW_ROWS
