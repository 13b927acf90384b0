"""The sizes of regions as expressions of those of their inputs."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.building.program_form import program_module, program_regions
from relay_tune.errors import RelayError
from relay_tune.ir.dim import Symbol
from relay_tune.ir.dim_arithmetic import add, multiply
from relay_tune.ir.parser.parse import parse
from relay_tune.program.lower_program import lower_program
from relay_tune.program.region import Region
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.typing.infer import infer_types
from tests.properties.programs.compare import assert_same_value

R0, R1 = Symbol("r0", 0), Symbol("r1", 0)


def region(text: str) -> Region:
    """The only region of a program."""
    (found,) = program_regions(lower_program(program_module(infer_types(parse(text)))))
    return found


def test_sizes_follow_from_those_of_the_inputs() -> None:
    found = region(
        "def @main(%x: Tensor[(n, 6), float32], %y: Tensor[(?, 6), float32]) { let %h = "
        "nn.softmax(%x); nn.softmax(concatenate((%h, reshape(%h, newshape=[-1, 6]), %y), axis=0)) }"
    )
    assert found.shapes == ((add(multiply(2, R0), R1), 6),)
    assert [(at.input, at.axis) for at in found.symbols.values()] == [(0, 0), (1, 0)]
    assert found.checks == ()


def test_equal_sizes_in_a_region_need_no_check_and_no_other_code_for_one() -> None:
    found = region(
        "def @main(%x: Tensor[(?, 6), float32]) { nn.softmax(nn.softmax(%x) + nn.log_softmax(%x)) }"
    )
    assert len(found.runs) > 1 and found.shapes == ((R0, 6),) and found.checks == ()


WINDOWS = """
def @main(%x: Tensor[(1, 2, h, 4), float32]) {
  let %p = nn.max_pool2d(nn.softmax(%x, axis=1), pool_size=[2, 1], strides=[2, 1]);
  nn.softmax(nn.max_pool2d(nn.softmax(%p, axis=1), pool_size=[3, 1]), axis=1)
}
"""


def test_windows_are_checked_when_the_region_begins() -> None:
    found = region(WINDOWS)
    assert len(found.runs) > 2
    model = build(parse(WINDOWS), threads=1)
    for height in (6, 7, 40):
        x = np.random.default_rng(0).random((1, 2, height, 4), dtype="float32")
        assert_same_value(model(x), interpret(parse(WINDOWS), x))
    with pytest.raises(RelayError, match=r"smaller than the window"):
        model(np.zeros((1, 2, 3, 4), "float32"))


def test_memory_that_no_process_has_is_refused() -> None:
    text = """
    def @main(%x: Tensor[(n), float32], %y: Tensor[(m), float32], %z: Tensor[(k), float32]) {
      let %a = expand_dims(expand_dims(nn.softmax(%x), axis=1), axis=2);
      let %b = expand_dims(nn.softmax(%y), axis=1);
      let %all = %a * %b * nn.softmax(%z);
      sum(nn.softmax(nn.softmax(%all)))
    }
    """
    model = build(parse(text), threads=1)
    small = [np.ones(size, "float32") for size in (2, 3, 4)]
    assert_same_value(model(*small), interpret(parse(text), *small))
    large = np.ones(3 << 20, "float32")
    with pytest.raises(MemoryError):
        model(large, large, large)  # 2^64 bytes and more
    assert_same_value(model(*small), interpret(parse(text), *small))
