"""What modules define and declare."""

import pytest

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import Variable, function, internal
from tests.codegen.builder.native_function import TRIPLE, load

HALVE, TESTED = internal("i64", "halve", "i64"), function("i64", "tested", "i64")
COUNT = Variable("count", "i64", "40")

HALVE_TEXT = """\
declare i64 @tested(i64)
define internal i64 @halve(i64 %n) {
  %half = lshr i64 %n, 1
  ret i64 %half
}
"""


def caller() -> NativeModule:
    """A part that calls a function of another one."""
    module = NativeModule()
    with module.define(TESTED) as code:
        count = code.at(COUNT)
        count.store(count.load() + code.call(HALVE, code.parameters[0]))
        code.ret(count.load())
    return module


def test_parts_are_defined_together() -> None:
    part = NativeModule()
    part.variables(COUNT)
    part.add(HALVE_TEXT)
    whole = caller()
    whole.include(part)
    assert load(whole)(4) == 42


def test_missing_parts_are_noticed() -> None:
    with pytest.raises(ValueError, match="halve is called but not defined"):
        caller().text(TRIPLE)


def test_functions_of_others_are_declared() -> None:
    module = NativeModule()
    with module.define(TESTED) as code:
        code.ret(code.call(function("i64", "labs", "i64"), code.parameters[0]))
    assert load(module)(-3) == 3


def test_a_name_has_one_signature() -> None:
    module = caller()
    with (
        pytest.raises(TypeError, match="two signatures"),
        module.define(function("void", "g")) as code,
    ):
        code.call(internal("i64", "halve", "ptr"), code.null)
