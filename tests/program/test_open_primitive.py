"""Names for the sizes of primitives: which are equal because an operator needs it."""

import pytest

from relay_tune.errors import NoNativeCodeError
from relay_tune.ir.expr import Function
from relay_tune.ir.parser.parse import parse
from relay_tune.program.kinds import function_type
from relay_tune.program.open_primitive import OpenPrimitive, open_primitive
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_text import type_text


def opened(text: str) -> OpenPrimitive:
    """The primitive of a function whose body is its only operator."""
    main = infer_types(parse(f"def @main({text}")).main
    assert isinstance(main, Function)
    return open_primitive(main)


def names(primitive: OpenPrimitive) -> tuple[str, list[tuple[int, int, str]]]:
    """The type of a primitive and its checks, as input, axis and size."""
    checks = [(source.input, source.axis, str(size)) for source, size in primitive.checks]
    return type_text(function_type(primitive.function)), checks


def test_three_unknown_sizes_of_another_layout_are_those_that_they_meet() -> None:
    found = opened(
        "%a: Tensor[(n, h // 2, w // 2, 8), float32], %b: Tensor[(?, 8, ?, ?), float32]) {"
        " transpose(%a, axes=[0, 3, 1, 2]) + %b }"
    )
    type_, checks = names(found)
    assert type_ == (
        "fn (Tensor[(s0, s1, s2, 8), float32], Tensor[(s0, 8, s1, s2), float32])"
        " -> Tensor[(s0, 8, s1, s2), float32]"
    )
    assert checks == [(1, 0, "s0"), (1, 2, "s1"), (1, 3, "s2")]


def test_sizes_that_follow_from_each_other_are_written_in_one_of_them() -> None:
    found = opened(
        "%a: Tensor[(1, (h + 1) // 2, 4), float32], %b: Tensor[(1, (h + 3) // 4, 4), float32])"
        ' { nn.max_pool1d(%a, pool_size=[1], strides=[2], layout="NWC") + %b }'
    )
    type_, checks = names(found)
    assert type_ == (
        "fn (Tensor[(1, s0, 4), float32], Tensor[(1, (s0 + 1) // 2, 4), float32])"
        " -> Tensor[(1, (s0 + 1) // 2, 4), float32]"
    )
    assert checks == [(1, 1, "(s0 + 1) // 2")]


def test_an_unknown_size_may_be_computed_from_a_later_one() -> None:
    found = opened(
        "%a: Tensor[(?, 4), float32], %b: Tensor[(?, 4), float32]) {"
        " %a + concatenate((%b, ones(shape=[1, 4])), axis=0) }"
    )
    type_, checks = names(found)
    assert type_ == (
        "fn (Tensor[(s0 + 1, 4), float32], Tensor[(s0, 4), float32])"
        " -> Tensor[(s0 + 1, 4), float32]"
    )
    assert checks == [(0, 0, "s0 + 1")]


def test_a_known_size_may_be_twice_an_unknown_one() -> None:
    found = opened(
        "%a: Tensor[(n, 4), float32], %b: Tensor[(?, 4), float32]) {"
        " %a + repeat(%b, repeats=2, axis=0) }"
    )
    type_, checks = names(found)
    assert type_ == (
        "fn (Tensor[(2 * s0, 4), float32], Tensor[(s0, 4), float32])"
        " -> Tensor[(2 * s0, 4), float32]"
    )
    assert checks == [(0, 0, "2 * s0")]


def test_sizes_that_no_equation_makes_equal_are_refused() -> None:
    with pytest.raises(NoNativeCodeError, match="do not fit") as raised:
        opened(
            "%a: Tensor[(?, ?), float32], %b: Tensor[(?, ?), float32]) {"
            " reshape(%a, newshape=[-1]) + reshape(%b, newshape=[-1]) }"
        )
    assert raised.value.notes == ("? would have to be equal to ?, which only a run can tell.",)


def test_what_is_left_of_a_padded_axis_has_a_name() -> None:
    found = opened(
        "%a: Tensor[(1, (h + 15) // 16 + 3, 4), float32]) {"
        " strided_slice(%a, begin=[1], end=[-2], strides=[2], axes=[1]) }"
    )
    type_, checks = names(found)
    assert type_ == "fn (Tensor[(1, s0 + 3, 4), float32]) -> Tensor[(1, (s0 + 1) // 2, 4), float32]"
    assert checks == []
    source = found.symbols["s0"]
    assert (source.offset, source.size(19)) == (3, 16)


def test_a_name_is_of_a_size_of_at_least_one() -> None:
    type_, _ = names(opened("%a: Tensor[(h // 2 + 1, 4), float32]) { nn.relu(%a) }"))
    assert type_ == "fn (Tensor[(s0, 4), float32]) -> Tensor[(s0, 4), float32]"


def test_a_product_of_sizes_is_told_by_axes_with_a_border() -> None:
    found = opened(
        "%a: Tensor[(b, 6, ((h + 3) // 4) * ((w + 3) // 4)), float32],"
        " %b: Tensor[(b, 6, (h + 3) // 4 + 2, (w + 3) // 4 + 2), float32]) { reshape_like(%a,"
        " strided_slice(%b, begin=(1, 1), end=(-1, -1), strides=(1, 1), axes=(2, 3))) }"
    )
    type_, checks = names(found)
    assert type_ == (
        "fn (Tensor[(s0, 6, s1 * s2), float32], Tensor[(s0, 6, s1 + 2, s2 + 2), float32])"
        " -> Tensor[(s0, 6, s1, s2), float32]"
    )
    assert checks == [(1, 2, "s1 + 2"), (1, 3, "s2 + 2")]
