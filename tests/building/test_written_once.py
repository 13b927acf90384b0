"""The code of dynamic sizes is that of any example: it is written for one only."""

import pytest

import relay_tune as rt
from benchmarks import open_sizes
from relay_tune.building import primitives
from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import PrimitiveCode, write_primitive

ROWS = "def @main(%x: Tensor[(n, 40), float32]) { nn.softmax(sum(%x, axis=[0]) * 2f + %x) }"
NETWORKS = ("MLP", "ATTENTION", "LSTM", "GRU", "CONVOLUTIONS", "TWO_AXES")


@pytest.mark.parametrize(
    "text",
    [
        ROWS,
        *(
            pytest.param(getattr(open_sizes, name), marks=pytest.mark.slow, id=name)
            for name in NETWORKS
        ),
    ],
)
def test_another_example_gives_the_same_code(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []

    def for_two_examples(primitive: Primitive, *where: object) -> PrimitiveCode:
        code = write_primitive(primitive, *where)
        if primitive.open is not None:
            program = primitive.lower(primitive.open, primitive.example.next)
            other = Primitive(primitive.key, program, primitive.function, schedule=code.schedule)
            assert write_primitive(other, *where).text == code.text
            written.append(code)
        return code

    monkeypatch.setattr(primitives, "write_primitive", for_two_examples)
    rt.build(rt.parse(text), threads=2)
    assert written
