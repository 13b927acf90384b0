"""Expressions that written-out statements have in common are written once, or when needed."""

import numpy as np
import pytest

from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.kernels import value_writer
from relay_tune.codegen.kernels.value_writer import ValueWriter
from relay_tune.tensor.affine import Affine, constant
from relay_tune.tensor.expression import Axis, Scalar, binary, literal, select
from relay_tune.tensor.loops import Block, Buffer, LaneReduce, LoopKind, Statement, Store
from tests.codegen.running import argument, check, loop, number, register

ROWS, COLUMNS = 3, 8


def long_sum(x: Buffer, at: Scalar) -> Scalar:
    """An expression of enough nodes."""
    total: Scalar = x[at]
    for row in range(1, 6):
        total = total * 0.5 + x[at + 16 * row]
    return total


@pytest.mark.parametrize("kind", [LoopKind.VECTOR, LoopKind.SERIAL])
@pytest.mark.parametrize("writes", [False, True])
def test_rows_that_share_sums_are_those_of_the_loops(kind: LoopKind, writes: bool) -> None:
    """Also where what the sums read is written between two rows, in the same loops or around."""
    i, j = Axis("i", ROWS), Axis("j", COLUMNS)
    x, y = argument("x", 128), argument("y", (ROWS, COLUMNS))
    shared = long_sum(x, j)
    row: Statement = Store(
        y, (i, j), select(binary("lt", i, 2), shared + 1.0, shared - x[i * 16 + j])
    )
    if writes:
        row = Block((row, Store(x, (j + i * 16 + 16,), shared)))
    for body in (
        loop(i, loop(j, row, kind=kind), kind=LoopKind.UNROLLED),
        loop(i, loop(j, row, kind=kind)),
        Block((loop(j, Store(y, (number(2), j), shared), kind=kind), loop(i, loop(j, row)))),
    ):
        arrays = {x: np.arange(128, dtype="float32"), y: np.zeros((ROWS, COLUMNS), "float32")}
        check(loop(Axis("once", 1), body), arrays)


def written(monkeypatch: pytest.MonkeyPatch, expression: Scalar, writer: ValueWriter) -> int:
    """How many nodes are looked into."""
    looked: list[Scalar] = []
    inner = ValueWriter._value

    def counted(self: ValueWriter, node: Scalar) -> object:
        looked.append(node)
        return inner(self, node)

    monkeypatch.setattr(value_writer.ValueWriter, "_value", counted)
    writer.evaluate(expression)
    monkeypatch.undo()
    return len(looked)


def test_a_value_is_found_while_its_axes_and_buffers_are_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    j, other, x = Axis("j", 8), Axis("other", 8), argument("x", 128)
    writer = ValueWriter(FunctionWriter(), {x: "%x"})
    environment, versions = writer.indices.environment, writer.loads.versions
    environment.update({j: Affine({"%j": 1}), other: constant(0)})
    shared = long_sum(x, j)
    first = written(monkeypatch, shared, writer)
    environment[other] = constant(1)
    assert written(monkeypatch, shared, writer) == 0
    environment[j] = Affine({"%j": 1}, 1)
    assert written(monkeypatch, shared, writer) == first
    versions[x] = 1
    assert written(monkeypatch, shared, writer) == first
    assert written(monkeypatch, shared, writer) == 0
    assert written(monkeypatch, x[j], writer) == written(monkeypatch, x[j], writer) > 0


def test_values_of_registers_and_of_lanes_have_no_key() -> None:
    j, x, held = Axis("j", 8), argument("x", 128), register("held", (8,))
    writer = ValueWriter(FunctionWriter(), {x: "%x"})
    writer.indices.environment[j] = constant(0)
    writer.loads.registers[held] = {}
    assert writer._shared.key(long_sum(x, j)) is not None
    assert writer._shared.key(long_sum(held, j)) is None
    assert writer._shared.key(x[j] + literal(1.0, "float32")) is None
    rows = LaneReduce("sum", Axis("l", 8), (long_sum(x, j),), dtype="float32")
    assert writer._shared.key(rows + 1.0) is None
