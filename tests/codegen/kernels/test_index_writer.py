"""Offsets whose indices are not affine: what is looked up, and how often."""

import pytest

from relay_tune.codegen.arithmetic import Value
from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.kernels import index_writer
from relay_tune.codegen.kernels.index_writer import IndexWriter
from relay_tune.codegen.kernels.vector_lanes import VectorLanes
from relay_tune.tensor.affine import Affine, Variable
from relay_tune.tensor.expression import INDEX, Axis, Scalar
from relay_tune.tensor.repeated import Repeated
from relay_tune.tensor.tensor import input_tensor


class Counted(dict[Variable, Affine]):
    """The forms of axes, and how often one was asked for."""

    asked = 0

    def get(self, key: Variable, default: Affine | None = None) -> Affine | None:  # type: ignore[override]
        self.asked += 1
        return super().get(key, default)


def index_writer_of(environment: dict[Variable, Affine]) -> IndexWriter:
    """A writer to which every index that is not affine is the value %q."""
    function = FunctionWriter()
    for name in ("%a", "%b"):
        function.bind(name, 0, 99)
    return IndexWriter(VectorLanes(function), lambda _: Value("%q", INDEX), environment)


def test_forms_of_indices() -> None:
    i, j = Axis("i", 100), Axis("j", 100)
    writer = index_writer_of({i: Affine({"%a": 1}), j: Affine({"%b": 4}, 3)})
    cases: dict[Scalar, Affine | None] = {
        i * 3 - j: Affine({"%a": 3, "%b": -4}, -3),
        j // 4: Affine({"%b": 1}),
        j % 4: Affine({}, 3),
        i // 4: None,
        i * j: None,
        (i // 4) * 2 + j: None,
        Axis("unknown", 2) + i: None,
    }
    assert {index: writer.affine(index) for index in cases} == cases


def test_each_term_of_a_long_sum_is_read_a_few_times() -> None:
    i, asked = Axis("i", 100), []
    for count in (10, 40):
        environment = Counted({i: Affine({"%a": 1})})
        tensor = input_tensor("x", (1000,), "float32")
        total: Scalar = i // 7
        for term in range(1, count):
            total = total + i // (7 + term)
        offset = index_writer_of(environment).flat_offset(tensor, (total,))
        assert offset == Affine({"%q": count})
        asked.append(environment.asked)
    assert asked[1] <= 5 * asked[0]


def test_what_is_repeated_in_an_index_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    i = Axis("i", 100)
    found: list[Scalar] = []
    look = index_writer.repeated_form

    def counted(index: Scalar) -> Repeated | None:
        found.append(index)
        return look(index)

    monkeypatch.setattr(index_writer, "repeated_form", counted)
    writer = index_writer_of({i: Affine({"%a": 1})})
    tensor, index = input_tensor("x", (1000,), "float32"), i // 7
    for _ in range(3):
        assert writer.repeated(tensor, (index,)) is None
    assert found == [index]
