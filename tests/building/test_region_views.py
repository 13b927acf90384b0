"""Buffers that lie in others: slices that are one piece, fields of outermost concatenations."""

from collections.abc import Callable

import numpy as np
import pytest

from relay_tune.building.program_form import fused_module, program_regions
from relay_tune.ir.expr import Call, Expr, Function, Tuple, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.program.lower_program import lower_program
from relay_tune.runtime.model import Model
from relay_tune.typing.infer import infer_types

Op = Callable[..., Call]
Check = Callable[..., Model]

RNG = np.random.default_rng(3)
ROWS = TensorType((6, 8), "float32")


def rows() -> np.ndarray:
    return RNG.standard_normal((6, 8)).astype("float32")


def step_count(body: Expr, *params: Var) -> int:
    module = fused_module(infer_types(Module.from_function(Function(params, body))))
    (region,) = program_regions(lower_program(module))
    return len(region.runs)


def cut(op: Op, data: Expr, begin: int, end: int, axis: int = 0) -> Call:
    return op("strided_slice", data, begin=(begin,), end=(end,), strides=(1,), axes=(axis,))


def test_rows_are_read_where_they_lie(op: Op, check: Check) -> None:
    x = Var("x", ROWS)
    body = op("add", op("exp", cut(op, x, 1, 3)), op("tanh", cut(op, x, 4, 6)))
    assert step_count(body, x) == 1
    check(Module.from_function(Function((x,), body)), rows())


def test_slices_of_results_are_read_where_they_lie(op: Op, check: Check) -> None:
    x = Var("x", ROWS)
    y = op("nn.softmax", x)
    body = op("nn.dense", cut(op, y, 2, 5), cut(op, op("nn.softmax", y), 1, 3))
    check(Module.from_function(Function((x,), body)), rows())


def test_columns_are_no_part(op: Op, check: Check) -> None:
    x = Var("x", ROWS)
    body = op("nn.softmax", cut(op, op("nn.softmax", x), 2, 5, axis=1))
    check(Module.from_function(Function((x,), body)), rows())


def test_fields_are_computed_in_their_places(op: Op, check: Check) -> None:
    x = Var("x", ROWS)
    fields = [op("nn.softmax", x), op("nn.log_softmax", x), op("exp", x)]
    body = op("concatenate", Tuple(tuple(fields)), axis=0)
    assert step_count(body, x) == 3
    check(Module.from_function(Function((x,), body)), rows())


def test_a_field_that_is_read_before_and_after(op: Op, check: Check) -> None:
    x = Var("x", ROWS)
    first = op("nn.softmax", x)
    second = op("nn.softmax", op("nn.dense", first, first))
    third = op("nn.softmax", op("exp", op("tanh", op("cumsum", second, axis=0))))
    joined = op("concatenate", Tuple((first, first_rows(op, third))), axis=0)
    body = Tuple((op("nn.softmax", joined), first, op("exp", third)))
    check(Module.from_function(Function((x,), body)), rows())


def first_rows(op: Op, data: Expr) -> Expr:
    """[6, 6] to [6, 8]."""
    return op("nn.pad", data, constant(0.0), pad_width=((0, 0), (0, 2)))


@pytest.mark.parametrize("threads", [1, 2])
def test_joins_of_joins_and_of_what_has_a_place_already(op: Op, check: Check, threads: int) -> None:
    x = Var("x", ROWS)
    a, b, c = op("nn.softmax", x), op("exp", x), op("tanh", x)
    inner = op("concatenate", Tuple((a, b)), axis=0)
    outer = op("concatenate", Tuple((c, inner)), axis=0)
    again = op("concatenate", Tuple((b, c)), axis=0)
    check(Module.from_function(Function((x,), Tuple((outer, again)))), rows(), threads=threads)


def test_memory_of_a_join_is_held_between_its_fields(op: Op, check: Check) -> None:
    x = Var("x", ROWS)
    first = op("nn.softmax", x)
    other: Expr = x
    for _ in range(4):
        other = op("nn.softmax", op("nn.dense", other, constant(np.eye(8, dtype="float32"))))
    joined = op("concatenate", Tuple((first, other)), axis=0)
    check(Module.from_function(Function((x,), op("nn.softmax", joined))), rows())


def test_outputs_that_are_parts_are_copied(op: Op, check: Check) -> None:
    x = Var("x", ROWS)
    a, b = op("nn.softmax", x), op("exp", x)
    joined = op("concatenate", Tuple((a, b)), axis=0)
    check(Module.from_function(Function((x,), Tuple((joined, a, cut(op, joined, 3, 9))))), rows())
