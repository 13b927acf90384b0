"""Sizes for which code is chosen: which they are, what is refused, and answers around them."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.building.input_sizes import InputSizes
from relay_tune.building.named_sizes import with_named_sizes
from relay_tune.building.size_points import size_points
from relay_tune.errors import BuildError, InputError
from relay_tune.frontend.relay_text import parse
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.typing.infer import infer_types
from tests.properties.programs.compare import assert_same_value

RNG = np.random.default_rng(0)
TEXT = """
def @main(%x: Tensor[(n, ?, 16), float32], %w: Tensor[(24, 16), float32]) {
  nn.softmax(nn.relu(nn.dense(%x, %w)) + sum(%x, axis=[2], keepdims=True))
}
"""
MODULE = BindParameters({"w": RNG.standard_normal((24, 16)).astype("float32")})(parse(TEXT))


def points(*named: InputSizes) -> list[tuple[tuple[int, ...], bool]]:
    found = size_points(with_named_sizes(infer_types(MODULE)), named)
    return [(tuple(point.sizes.values()), point.is_exact) for point in found]


def test_a_range_has_points_at_its_ends_and_between() -> None:
    assert points({"x": (range(1, 65), 5, 16)}) == [((s, 5), False) for s in (1, 8, 64)]
    assert points({"x": (range(2, 17), range(3, 4), 16)}) == [((s, 3), False) for s in (2, 16)]


def test_dimensions_grow_together() -> None:
    found = points({"x": (range(1, 3), range(16, 513), 16)})
    assert found == [((1, 16), False), ((1, 128), False), ((2, 512), False)]


def test_sizes_without_a_range_are_points_of_their_own() -> None:
    assert points({"x": (4, 9, 16)}, {"x": (1, 2, 16)}) == [((1, 2), True), ((4, 9), True)]


def test_sizes_have_names_of_their_own() -> None:
    text = "def @main(%x: Tensor[(n, m), float32], %y: Tensor[(m, n), float32]) { matmul(%x, %y) }"
    typed = with_named_sizes(infer_types(parse(text.replace("matmul", "nn.matmul"))))
    by_name = size_points(typed, [{"n": (range(1, 9),), "m": (4,)}])
    by_input = size_points(typed, [{"x": (range(1, 9), 4)}])
    assert (
        [p.sizes for p in by_name]
        == [p.sizes for p in by_input]
        == [
            {"n": 1, "m": 4},
            {"n": 8, "m": 4},
        ]
    )


def test_points_that_no_memory_holds_are_refused() -> None:
    with pytest.raises(BuildError, match=r"needs .* of memory") as caught:
        points({"x": (range(1, 10**14), 5, 16)})
    assert "Tensor[(99999999999999, 5, 24), float32]" in caught.value.notes[0]


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"y": (1, 2, 16)}, "no input 'y'"),
        ({"x": (1, 16)}, "size 1,16: it is Tensor"),
        ({"x": (1, range(2, 4), 8)}, r"size 1,2\.\.3,8: it is Tensor"),
        ({"x": (range(4, 4), 1, 16)}, r"range\(4, 4\) as the sizes of an axis"),
        ({"x": (range(0, 4), 1, 16)}, r"range\(0, 4\) as the sizes of an axis"),
        ({"x": (range(4, 9, 2), 1, 16)}, r"range\(4, 9, 2\) as the sizes of an axis"),
        ({}, "were given none: x"),
        ({"n": (3,)}, "were given none: x"),
        ({"x": (1, 2, 16), "n": (2,)}, "dimension n has two sizes: 1 and 2"),
        ({"n": (1, 2)}, "size 'n' cannot be 1,2"),
        ({"n": (range(0, 4),)}, r"size 'n' cannot be range\(0, 4\)"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(named: InputSizes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        points(named)


def test_dimensions_have_one_size() -> None:
    text = "def @main(%x: Tensor[(n, 4), float32], %y: Tensor[(n, 4), float32]) { %x + %y }"
    with pytest.raises(InputError, match=r"dimension n has two sizes: 3 and 1\.\.4"):
        build(parse(text), shapes={"x": (3, 4), "y": (range(1, 5), 4)})


@pytest.mark.parametrize(
    "shapes",
    [{"x": (range(1, 10), range(2, 20), 16)}, [{"x": (3, 4, 16)}, {"x": (1, 17, 16)}]],
    ids=["range", "sizes"],
)
def test_the_program_is_for_all_sizes(shapes: InputSizes | list[InputSizes]) -> None:
    model = build(MODULE, threads=2, shapes=shapes)
    for n, m in ((1, 2), (1, 1), (3, 4), (1, 17), (9, 19), (10, 30), (2, 1), (0, 3)):
        x = RNG.standard_normal((n, m, 16)).astype("float32")
        assert_same_value(model(x), interpret(MODULE, x))
