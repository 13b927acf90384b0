"""Which products are computed from halves."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.strassen.match import HalvedProduct, match_halves
from relay_tune.schedule.rewrites.strassen.record import STRASSEN
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Axis, Scalar, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import convolution_program
from tests.schedule.machines import SERVER
from tests.schedule.offered import algorithms
from tests.schedule.products import batched, dense


def halves_of(program: TensorProgram) -> HalvedProduct | None:
    """The halves of the only product of a program."""
    known = program.constant_arrays()
    found = [match_halves(tensor, known) for tensor in tensors_in_order(program.outputs)]
    return next((halves for halves in found if halves is not None), None)


def test_the_outermost_even_axis_of_rows_is_cut():
    halves = halves_of(convolution_program((1, 13, 14, 128, 128), stride=2))
    assert halves is not None
    assert (halves.row.extent, halves.rows, halves.row_dim, halves.row_stride) == (14, 7, 2, 2)
    assert (halves.step.extent, halves.step_dim, halves.columns) == (128, 3, 64)


def test_stored_weights_of_either_order_are_cut():
    halves = halves_of(dense(512, 512, 512, constant=False, transposed=True))
    assert halves is not None
    assert halves.weight_dims == (1, 0)


def weights_by_pairs_of_steps() -> TensorProgram:
    """The weights depend on the step in two dimensions, in one of them not affinely."""
    x = input_tensor("x", (512, 512), "float32")
    w, k = input_tensor("w", (2, 512, 512), "float32"), Axis("k", 512)

    def element(i: Scalar, j: Scalar) -> Scalar:
        return reduce("sum", [k], x[i, k] * w[k // 256, k, j])

    y = compute("y", (512, 512), element)
    return TensorProgram((x, w), (y,), ())


DOES_NOT_APPLY: dict[str, Callable[[], TensorProgram]] = {
    "little reuse": lambda: dense(512, 128, 128),
    "little reuse of two inputs": lambda: dense(64, 256, 256, constant=False),
    "odd rows": lambda: dense(63, 256, 256),
    "odd steps": lambda: dense(64, 257, 256),
    "odd columns": lambda: dense(64, 256, 257),
    "few columns": lambda: dense(64, 4096, 60),
    "rows that share no weights": lambda: batched(1, 512, 512),
    "weights that depend on the step twice": weights_by_pairs_of_steps,
    "double precision": lambda: dense(64, 256, 256, dtype="float64"),
}


@pytest.mark.parametrize("case", DOES_NOT_APPLY)
def test_does_not_apply(case: str) -> None:
    program = DOES_NOT_APPLY[case]()
    assert halves_of(program) is None
    assert STRASSEN() not in algorithms(program)


def test_it_is_relaxed():
    plan = plan_program(dense(64, 256, 256))
    offered = [STRASSEN() in plan.with_accuracy(accuracy).algorithms for accuracy in Accuracy]
    assert offered == [False, False, True]


def test_the_default_follows_the_work():
    programs = dense(128, 1024, 1024), dense(16, 256, 256)
    large, small = (plan_program(each).with_accuracy(Accuracy.RELAXED) for each in programs)
    assert large.default_schedule(SERVER, 1).algorithm == STRASSEN()
    assert small.default_schedule(SERVER, 1).algorithm != STRASSEN()
