"""Sizes that are `?` and turn out to be 1 are stretched in native code as numpy stretches them."""

import itertools

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.errors import RelayError
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.data_values import list_value
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.std import prelude
from tests.properties.programs.compare import assert_same_value

RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


A, B = "Tensor[(?, 4), float32]", "Tensor[(?, 4), float32]"
PROGRAMS = [
    (A, B, "%p.0 + %p.1"),
    (A, B, "nn.relu(%p.0 * 2f - %p.1) * %p.0"),
    (A, B, "(%p.0 < %p.1, sum(%p.0 + %p.1))"),
    (A, B, "nn.softmax(%p.0 + %p.1)"),
    (A, B, "max(%p.0 * %p.1, axis=[0])"),
    (A, B, "where(%p.0 < 0f, %p.0, %p.1)"),
    (A, "Tensor[(?), float32]", "%p.0 + %p.1"),
    ("Tensor[(?, ?), float32]", "Tensor[(?, ?), float32]", "%p.0 + %p.1"),
    ("Tensor[(?, 1), float32]", "Tensor[(1, ?), float32]", "%p.0 * %p.1 + %p.0"),
    (A, B, "nn.dense(%p.0 + %p.1, ones(shape=[3, 4]))"),
]


def shapes_of(type_: str, sizes: tuple[int, ...]) -> tuple[int, ...]:
    dims = type_[type_.index("(") + 1 : type_.index(")")].split(",")
    given = iter(sizes)
    return tuple(next(given) if dim.strip() == "?" else int(dim) for dim in dims)


@pytest.mark.parametrize(
    ("left", "right", "body", "threads"),
    [*((*program, 1) for program in PROGRAMS), (*PROGRAMS[1], 2)],
)
def test_two_unknown_sizes_are_equal_or_one_of_them_is_stretched(
    left: str, right: str, body: str, threads: int
) -> None:
    module = parse(f"def @main(%p: ({left}, {right})) {{ {body} }}")
    model = build(module, threads=threads)
    for sizes in itertools.product((1, 2, 4), repeat=left.count("?") + right.count("?")):
        shape, other = (
            shapes_of(left, sizes[: left.count("?")]),
            shapes_of(right, sizes[left.count("?") :]),
        )
        pair = floats(*shape), floats(*other)
        try:
            np.broadcast_shapes(shape, other)
        except ValueError:
            with pytest.raises(RelayError, match="do not fit"):
                model(pair)
            continue
        assert_same_value(model(pair), interpret(module, pair))


def test_few_of_many_unknown_sizes_are_stretched() -> None:
    matrix = "Tensor[(?, ?), float32]"
    module = parse(f"def @main(%p: ({matrix}, {matrix}, {matrix})) {{ (%p.0 + %p.1) * exp(%p.2) }}")
    model = build(module, threads=1)
    for shapes in (
        ((3, 4), (3, 4), (3, 4)),
        ((3, 4), (1, 4), (3, 4)),
        ((3, 1), (3, 4), (3, 4)),
        ((3, 4), (1, 4), (3, 1)),
        ((1, 4), (3, 1), (3, 4)),
    ):
        inputs = tuple(floats(*shape) for shape in shapes)
        assert_same_value(model(inputs), interpret(module, inputs))


def test_inputs_of_a_network_are_stretched() -> None:
    module = parse(f"def @main(%x: {A}, %y: {B}) {{ nn.softmax(tanh(%x) + %y) }}")
    model = build(module, threads=1)
    for rows, others in ((1, 3), (3, 1), (3, 3)):
        inputs = floats(rows, 4), floats(others, 4)
        assert_same_value(model(*inputs), interpret(module, *inputs))


def test_a_size_is_stretched_to_one_that_is_known_but_never_the_other_way() -> None:
    text = """
def @main(%x: (Tensor[(?, 4), float32], int32), %y: Tensor[(3, 4), float32],
          %z: Tensor[(n, 4), float32]) {
  (%x.0 + %y, %x.0 + %z)
}
"""
    module = parse(text)
    model = build(module, threads=1)
    for rows, others in ((1, 5), (3, 3), (1, 1)):
        inputs = (floats(rows, 4), np.int32(0)), floats(3, 4), floats(others, 4)
        assert_same_value(model(*inputs), interpret(module, *inputs))
    with pytest.raises(RelayError, match="do not fit"):
        model((floats(5, 4), np.int32(0)), floats(3, 4), floats(1, 4))


def test_a_sum_over_a_list_of_tensors_of_some_rows_or_one() -> None:
    text = """
def @main(%xs: List[Tensor[(?, 4), float32]]) {
  @foldl(fn (%a: Tensor[(?, 4), float32], %x: Tensor[(?, 4), float32])
    -> Tensor[(?, 4), float32] { tanh(%a + %x) }, zeros(shape=[1, 4]), %xs)
}
"""
    module = parse(text, base=prelude("foldl"))
    model = build(module, threads=1)
    for _ in range(3):
        tensors = list_value([floats(1, 4), floats(3, 4), floats(1, 4), floats(3, 4)])
        assert_same_value(model(tensors), interpret(module, tensors))
    with pytest.raises(RelayError, match="do not fit"):
        model(list_value([floats(2, 4), floats(3, 4)]))
    assert_same_value(model(tensors), interpret(module, tensors))


def test_products_want_equal_sizes() -> None:
    module = parse(
        "def @main(%p: (Tensor[(?, ?), float32], Tensor[(?, ?), float32])) { nn.dense(%p.0, %p.1) }"
    )
    model = build(module, threads=1)
    pair = floats(3, 5), floats(2, 5)
    assert_same_value(model(pair), interpret(module, pair))
    with pytest.raises(RelayError, match="do not fit"):
        model((floats(3, 1), floats(2, 5)))


def test_sizes_that_are_known_to_fit_are_not_stretched() -> None:
    row = "Tensor[(1, 4), float32]"
    module = parse(
        f"""
def @main(%x: {row}, %y: {row}, %w: Tensor[(4, 4), float32]) -> {row} {{
  let %left: {B} = %x;
  let %right: {B} = %y;
  let %product: {row} = %left * %right;
  nn.dense(%product, %w)
}}
"""
    )
    inputs = floats(1, 4), floats(1, 4), floats(4, 4)
    assert_same_value(build(module, threads=1)(*inputs), interpret(module, *inputs))
