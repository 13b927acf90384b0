"""Arithmetic of typed values."""

import pytest

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.signature import function, internal
from tests.codegen.builder.native_function import native


def builder(*types: str) -> FunctionBuilder:
    return FunctionBuilder(function("i64", "f", *types))


def test_arithmetic_is_that_of_llvm() -> None:
    def write(code: FunctionBuilder) -> None:
        a, b = code.parameters
        low = (a.trunc("i8").zext("i64") << 8) | (a.trunc("i8").sext("i64") & 255)
        both = (10 - a).lshr(60) + a.udiv(b) * 1000 + a.urem(b) ^ 1
        code.ret(a.slt(0).select(low, both))

    run = native(write, 2)
    assert run(-2, 1) == 0xFEFE
    assert run(23, 7) == ((10 - 23) % 2**64 >> 60) + 3000 + 2 ^ 1


def test_memory_is_read_as_it_was_written() -> None:
    def write(code: FunctionBuilder) -> None:
        (n,) = code.parameters
        slot = code.stack_slot(32)
        code.fill(slot, 0, 32)
        slot.item("i16", 3).store(n.trunc("i16"))
        slot.at("i64", 8).store(n)
        code.copy(slot.offset(16), slot, 16)
        was_there = slot.at("i64", 24).replace(n, 5).select(code.number(100), 0)
        before = slot.at("i64", 24).update("add", 1)
        code.ret(slot.item("i16", 11).load().zext("i64") + was_there + before)

    assert native(write, 1)(1000) == 1000 + 100 + 5


@pytest.mark.parametrize(
    "mistake",
    [
        lambda n, p: n + p,
        lambda n, p: n + n.trunc("i32"),
        lambda n, p: p + 1,
        lambda n, p: n.zext("i32"),
        lambda n, p: n.at("i64"),
        lambda n, p: p.store(n) or p.at("i32").store(n),
        lambda n, p: n.select(n, n),
        lambda n, p: n.part(0),
        lambda n, p: 1 if n.eq(0) else 2,
    ],
)
def test_types_that_do_not_fit_are_refused(mistake) -> None:
    with pytest.raises(TypeError):
        mistake(*builder("i64", "ptr").parameters)


def test_calls_are_checked() -> None:
    code = builder("i64")
    callee = internal("i64", "g", "i64", "ptr")
    for arguments in [(1,), (code.null, code.null), (1, 2)]:
        with pytest.raises(TypeError):
            code.call(callee, *arguments)
