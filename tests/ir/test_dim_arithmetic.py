import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.errors import InputError
from relay_tune.ir.dim import UNKNOWN, Dim, Symbol, shape_text
from relay_tune.ir.dim_arithmetic import (
    add,
    floor_divide,
    maximum,
    minimum,
    multiply,
    positive_part,
    substitute,
    subtract,
    symbol_names,
)
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.printer.types import dim_text
from relay_tune.ir.types import TensorType

N, M = Symbol("n"), Symbol("m")


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (add(2, 3), "5"),
        (add(N, 0), "n"),
        (subtract(N, N), "0"),
        (add(1, add(M, N)), "m + n + 1"),
        (subtract(add(N, N), 3), "2 * n - 3"),
        (multiply(-1, N), "-n"),
        (subtract(M, floor_divide(N, 2)), "m - n // 2"),
        (subtract(0, floor_divide(N, 2)), "-(n // 2)"),
        (subtract(0, floor_divide(add(N, 1), 2)), "-((n + 1) // 2)"),
        (multiply(add(N, 1), subtract(N, 1)), "n * n - 1"),
        (floor_divide(7, 2), "3"),
        (floor_divide(-7, 2), "-4"),
        (floor_divide(N, 1), "n"),
        (floor_divide(multiply(4, N), 4), "n"),
        (floor_divide(add(multiply(4, N), 5), 4), "n + 1"),
        (floor_divide(add(multiply(2, N), 1), 4), "n // 2"),
        (floor_divide(add(floor_divide(add(N, 1), 2), 1), 2), "(n + 3) // 4"),
        (floor_divide(add(floor_divide(N, 3), M), 2), "(3 * m + n) // 6"),
        (floor_divide(multiply(-1, N), 4), "-((n + 3) // 4)"),
        (subtract(N, floor_divide(N, 2)), "(n + 1) // 2"),
        (multiply(M, subtract(N, floor_divide(multiply(3, N), 4))), "m * ((n + 3) // 4)"),
        (floor_divide(subtract(N, 1), 2), "(n + 1) // 2 - 1"),
        (floor_divide(floor_divide(N, 2), 3), "n // 6"),
        (multiply(2, floor_divide(add(N, 1), 2)), "2 * ((n + 1) // 2)"),
        (add(UNKNOWN, N), "?"),
        (multiply(0, UNKNOWN), "?"),
        (floor_divide(UNKNOWN, 2), "?"),
        (maximum(3, 5), "5"),
        (maximum(N, 0), "n"),
        (maximum(N, M), "n + max(m - n, 0)"),
        (maximum(M, N), "n + max(m - n, 0)"),
        (minimum(N, 7), "n - max(n - 7, 0)"),
        (maximum(floor_divide(N, 2), 1), "max(n // 2 - 1, 0) + 1"),
        (positive_part(subtract(multiply(2, N), 6)), "2 * max(n - 3, 0)"),
        (maximum(maximum(N, 4), 2), "max(n - 4, 0) + 4"),
        (floor_divide(maximum(floor_divide(N, 2), 1), 2), "n // 4"),
        (multiply(N, maximum(M, 2)), "n * max(m - 2, 0) + 2 * n"),
        (maximum(UNKNOWN, N), "?"),
    ],
)
def test_normal_forms(dim: Dim, text: str) -> None:
    assert dim_text(dim) == text


def test_division_by_zero_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be divided by 0"):
        floor_divide(N, 0)


def test_substitution_by_dimensions_reaches_into_quotients() -> None:
    dim = floor_divide(add(N, M), 2)
    assert substitute(dim, {"n": M}) == M
    assert substitute(dim, {"n": 3, "m": 4}) == 3
    assert substitute(dim, {"n": UNKNOWN}) == UNKNOWN


def test_symbol_names_are_found_everywhere() -> None:
    assert symbol_names(multiply(N, floor_divide(add(M, 1), 2))) == {"n", "m"}
    assert symbol_names(3) == symbol_names(UNKNOWN) == frozenset()


steps = st.lists(
    st.tuples(st.sampled_from(["add", "subtract", "multiply", "divide", "m"]), st.integers(-4, 4)),
    max_size=8,
)


@settings(max_examples=100, deadline=None)
@given(steps, st.integers(-9, 9), st.integers(-9, 9))
def test_arithmetic_agrees_with_integers(program: list[tuple[str, int]], n: int, m: int) -> None:
    dim: Dim = N
    value = n
    for name, operand in program:
        match name:
            case "add":
                dim, value = add(dim, operand), value + operand
            case "subtract":
                dim, value = subtract(operand, dim), operand - value
            case "multiply":
                dim, value = multiply(dim, add(M, operand)), value * (m + operand)
            case "divide" if operand != 0:
                dim, value = floor_divide(dim, operand), value // operand
            case _:
                dim, value = add(dim, M), value + m
    assert substitute(dim, {"n": n, "m": m}) == value


dims = st.recursive(
    st.sampled_from([N, M]) | st.integers(-6, 6),
    lambda inner: st.one_of(
        st.builds(add, inner, inner),
        st.builds(subtract, inner, inner),
        st.builds(multiply, inner, st.integers(-3, 3)),
        st.builds(floor_divide, inner, st.integers(1, 4)),
        st.builds(maximum, inner, inner),
        st.builds(minimum, inner, inner),
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(dims, dims, st.integers(0, 9), st.integers(0, 9), st.integers(1, 5))
def test_maxima_of_sizes_agree_with_integers(a: Dim, b: Dim, n: int, m: int, divisor: int) -> None:
    def value(dim: Dim) -> int:
        found = substitute(dim, {"n": n, "m": m})
        assert isinstance(found, int)
        return found

    assert value(maximum(a, b)) == max(value(a), value(b))
    assert value(minimum(a, b)) == min(value(a), value(b))
    assert value(floor_divide(maximum(a, b), divisor)) == max(value(a), value(b)) // divisor


@settings(max_examples=200, deadline=None)
@given(dims)
def test_text_with_maxima_is_read_as_the_same_dimension(dim: Dim) -> None:
    text = f"def @f(%x: Tensor[({dim_text(dim)}), float32]) {{ %x }}"
    annotation = parse(text)["f"].params[0].annotation
    assert isinstance(annotation, TensorType)
    assert annotation.shape == (dim,)


def test_messages_write_shapes_as_tuples() -> None:
    half = floor_divide(add(N, 1), 2)
    shape = (subtract(N, 1), multiply(3, half), UNKNOWN)
    assert shape_text(shape) == "(n - 1, 3 * ((n + 1) // 2), ?)"
    assert [shape_text(()), shape_text((N,))] == ["()", "(n,)"]


def test_smallest_and_largest_sizes_have_a_text() -> None:
    module = parse("def @f(%x: Tensor[(min(n, 4), max(2 * n, m + 1), max), float32]) { %x }")
    again = parse(module.astext())
    assert again.astext() == module.astext()
    assert "max(n - 4, 0)" in module.astext()
