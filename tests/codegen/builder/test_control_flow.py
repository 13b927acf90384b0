"""Loops, conditions and local variables of functions under construction."""

import pytest

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import function
from tests.codegen.builder.native_function import native


def empty() -> FunctionBuilder:
    return FunctionBuilder(function("i64", "f", "i64"))


def test_locals_are_joined_where_ways_meet() -> None:
    def write(code: FunctionBuilder) -> None:
        n, total, odd = code.parameters[0], code.local(0), code.local(0)
        with code.count(n) as each:
            with code.when((each.index & 1).eq(1)):
                odd.set(odd.value + 1)
            total.set(total.value + each.index)
        code.ret(total.value * 100 + odd.value)

    run = native(write, 1)
    assert [run(n) for n in (0, 1, 2, 5)] == [0, 0, 101, 1002]


def test_loops_are_left_and_go_on() -> None:
    def write(code: FunctionBuilder) -> None:
        n, limit = code.parameters
        total = code.local(0)
        with code.count(n) as each:
            each.again_if((each.index & 1).eq(0))
            each.leave_if(each.index.sgt(limit))
            total.set(total.value + each.index)
        code.ret(total.value)

    run = native(write, 2)
    assert run(10, 100) == 1 + 3 + 5 + 7 + 9
    assert run(10, 5) == 1 + 3 + 5


def test_inner_loops_continue_outer_ones() -> None:
    def write(code: FunctionBuilder) -> None:
        n, found = code.parameters[0], code.local(-1)
        with code.loop() as loop:
            found.set(found.value + 1)
            with code.count(found.value) as each:
                loop.again_if((each.index * each.index).eq(n))
                loop.leave_if((each.index * each.index).sgt(n))
        code.ret(found.value)

    assert native(write, 1)(10) == 5


def test_blocks_are_left_early() -> None:
    def write(code: FunctionBuilder) -> None:
        (n,) = code.parameters
        kind = code.local(0)
        with code.block() as classified:
            classified.leave_if(n.slt(0))
            kind.set(1)
            with code.when(n.eq(7)):
                kind.set(7)
                classified.leave()
            kind.set(2)
        code.ret(kind.value)

    run = native(write, 1)
    assert [run(n) for n in (-3, 7, 8)] == [0, 7, 2]


def test_nothing_follows_the_end_of_a_block() -> None:
    code = empty()
    code.ret(1)
    with pytest.raises(ValueError, match="No way leads to `ret i64 2`"):
        code.ret(2)


def test_nothing_follows_a_loop_that_is_never_left() -> None:
    code = empty()
    with code.loop():
        pass
    with pytest.raises(ValueError, match="No way leads to"):
        code.ret(1)


def test_values_of_one_way_are_unknown_on_others() -> None:
    code = empty()
    (n,) = code.parameters
    inner: list[Operand] = []
    with code.when(n.eq(0)):
        inner.append(n + 1)
    with pytest.raises(ValueError, match="is not known on every way to its use"):
        code.ret(inner[0])


def test_a_function_of_a_value_returns_one() -> None:
    with pytest.raises(TypeError, match="f returns a value of type i64"):
        empty().text()
