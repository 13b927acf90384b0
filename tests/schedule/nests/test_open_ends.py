"""Tests by positions below an open end, and what all tiles but the last store."""

from __future__ import annotations

from relay_tune.ir.dim import Symbol
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.nests.nominal_nest import nominal_nest
from relay_tune.schedule.nests.open_ends import ends_of, without_ends
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.tensor.expression import Scalar, Select, binary, literal, select
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import ceiling_quotient, symbolic_size
from relay_tune.tensor.tensor import compute, input_tensor
from relay_tune.tensor.walk import loads, sub_expressions

N = symbolic_size(Symbol("n"), 50)
X = input_tensor("x", (4, N), "float32")
ZERO = literal(0.0, "float32")


def nest_of(element: object, columns: int) -> Nest:
    """The nest of 4 rows of so many columns."""
    y = compute("y", (4, columns), element)  # type: ignore[arg-type]
    (nest,) = plan_program(TensorProgram((X,), (y,), ()), DIRECT).steps
    assert isinstance(nest, Nest)
    return nest


def filled(i: Scalar, j: Scalar) -> Scalar:
    """Elements of whole registers of 16; the condition is no bound of one axis yet."""
    return select(binary("lt", j // 16 * 16 + j % 16, N), X[i, j], ZERO)


def whole(size: int) -> int:
    """So many positions in whole registers."""
    return ceiling_quotient(size, 16) * 16


def test_one_nest_stores_data_and_zeros() -> None:
    nest = nest_of(filled, whole(N))
    result, conditions = without_ends(nest)
    assert len(conditions) == 1
    assert not any(isinstance(node, Select) for node in sub_expressions(result))


def test_a_guarded_load_ends_where_its_tensor_does() -> None:
    nest = nest_of(filled, whole(N))
    (load,) = loads(nest.result)
    assert list(ends_of(nest, load).values()) == [N]


def test_what_is_read_behind_the_end_too_is_not_guarded() -> None:
    wide = input_tensor("w", (4, whole(N)), "float32")
    y = compute("y", (4, whole(N)), lambda i, j: filled(i, j) + wide[i, j])
    (nest,) = plan_program(TensorProgram((X, wide), (y,), ()), DIRECT).steps
    assert isinstance(nest, Nest)
    ends = [list(ends_of(nest, load).values()) for load in loads(nest.result)]
    assert sorted(ends, key=len) == [[], [N]]


def test_estimates_see_no_test() -> None:
    seen = nominal_nest(nest_of(filled, whole(N)))
    assert not any(isinstance(node, Select) for node in sub_expressions(seen.result))
    assert [axis.extent for axis in seen.axes] == [4, 64]


def test_known_ends_stay() -> None:
    def element(i: Scalar, j: Scalar) -> Scalar:
        return select(binary("lt", j + i, 50), X[i, j], ZERO)

    assert not without_ends(nest_of(element, N))[1]
