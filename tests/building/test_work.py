from __future__ import annotations

import pytest

from relay_tune.building.work import rough_cycles, work_of, work_on
from relay_tune.codegen.target import parse_target
from relay_tune.machine.pattern import BFLOAT16_PAIRS
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3, BF16X6
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.tensor.expression import Axis, cast, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import convolution_program
from tests.schedule.integer_products import dense
from tests.schedule.machines import TILES


def test_winograd_has_fewer_operations_than_what_is_written() -> None:
    direct = plan_program(convolution_program((1, 8, 8, 32, 32)))
    written = 2 * 8 * 8 * 32 * 32 * 9
    assert work_of(direct).written == work_of(direct).own == written
    fast = work_of(direct.with_algorithm(WINOGRAD(tile=4)))
    assert fast.written == written
    assert fast.own < written / 2
    assert fast.algorithm == "winograd(tile=4)"
    assert fast.bytes > work_of(direct).bytes  # its weights are larger


def test_products_of_bytes_are_told_apart() -> None:
    a, b = input_tensor("a", (4, 8), "int8"), input_tensor("b", (8,), "int8")
    k = Axis("k", 8)
    y = compute("y", (4,), lambda i: reduce("sum", [k], a[i, k] * b[k]))
    work = work_of(plan_program(TensorProgram((a, b), (y,), ())))
    assert work.operations == {"int8": 64}
    assert work.bytes == 32 + 8 + 4


def test_products_on_matrix_registers_count_as_fast_as_these_are() -> None:
    direct = plan_program(convolution_program((1, 28, 28, 256, 256)))
    fast = work_of(direct.with_algorithm(BF16X3()))
    assert fast.own > 2 * work_of(direct).own
    assert rough_cycles(fast, TILES) < rough_cycles(work_of(direct), TILES)


@pytest.mark.parametrize(("algorithm", "products"), [(BF16X3(), 3), (BF16X6(), 6)])
def test_products_on_matrix_registers_are_counted_one_by_one(
    algorithm: AppliedAlgorithm, products: int
) -> None:
    direct = plan_program(convolution_program((1, 8, 8, 32, 32), kernel=(1, 1)))
    written = 2 * 8 * 8 * 32 * 32
    work = work_of(direct.with_algorithm(algorithm))
    assert work.written == written
    assert work.operations[BFLOAT16_PAIRS.name] == products * written
    assert work.own - products * written == work.operations["float32"]  # the parts of the data
    assert 0 < work.operations["float32"] < written / 8


def test_dot_products_of_words_are_counted_by_their_elements() -> None:
    direct = plan_program(dense(8, 23, 16))
    pairs = next(each for each in direct.algorithms if str(each) == "dot_s16s16")
    work = work_of(direct.with_algorithm(pairs))
    assert work.written == 2 * 8 * 23 * 16
    copied = 8 * 24  # the data as int16, each row filled up to whole words
    assert work.operations["int16"] == 2 * 8 * 24 * 16 + copied


@pytest.mark.parametrize(
    ("target", "algorithm", "instruction"),
    [
        ("x86_64-linux-gnu:cascadelake", "dot_u8s8", "vpdpbusd"),
        ("x86_64-linux-gnu:cascadelake", "dot_s16s16", "vpdpwssd"),
        ("x86_64-linux-gnu:haswell", "dot_s16s16", "vpmaddwd"),
        ("x86_64-linux-gnu:haswell", "direct", "int8"),
        ("aarch64-linux-gnu:neoverse-n1", "dot_s8s8", "sdot"),
    ],
)
def test_work_on_a_target_names_the_instruction_of_products(
    target: str, algorithm: str, instruction: str
) -> None:
    direct = plan_program(dense(8, 24, 16))
    chosen = next(each for each in direct.algorithms if str(each) == algorithm)
    work = work_on(parse_target(target), direct.with_algorithm(chosen))
    assert work.instruction == instruction


def test_quantization_is_computed_in_float32() -> None:
    x = input_tensor("x", (64,), "float32")
    y = compute("y", (64,), lambda i: cast(x[i], "int8"))
    assert work_of(plan_program(TensorProgram((x,), (y,), ()))).operations == {"float32": 64}


def test_of_a_table_only_the_rows_that_are_taken_are_read() -> None:
    table, rows = input_tensor("table", (1000, 16), "float32"), input_tensor("rows", (4,), "int64")
    y = compute("y", (4, 16), lambda i, j: table[rows[i], j])
    work = work_of(plan_program(TensorProgram((table, rows), (y,), ())))
    assert work.bytes == 4 * 16 * 4 + 4 * 8 + 4 * 16 * 4
