"""Size classes of tensors, found when a program runs."""

import pytest

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import function
from relay_tune.codegen.programs.tensor_room import TENSOR_ROOM, add_tensor_room
from relay_tune.program.layouts import TENSOR_DATA, class_bytes, size_class
from tests.codegen.builder.native_function import load


@pytest.mark.parametrize("part", [0, 1])
def test_classes_are_those_of_the_layouts(part: int) -> None:
    module = NativeModule()
    add_tensor_room(module)
    with module.define(function("i64", "tested", "i64")) as code:
        code.ret(code.call(TENSOR_ROOM, code.parameters[0]).part(part))
    run = load(module)
    for elements in (0, 1, 63, 64, 65, 960, 961, 1024, 4095, 4097, 100_000, (1 << 33) + 7):
        number = size_class(TENSOR_DATA + -(-elements // 64) * 64)
        assert run(elements) == (number, class_bytes(number))[part]
