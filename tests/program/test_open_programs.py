"""Tensor programs of primitives with open sizes."""

from dataclasses import replace

import pytest

from relay_tune.errors import BuildError
from relay_tune.ir.expr import Function
from relay_tune.ir.parser.parse import parse
from relay_tune.program.open_primitive import open_primitive
from relay_tune.program.open_programs import size_program
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_text import shape_text

TEXT = """
def @main(%x: Tensor[(n, n - 2, m), float32]) {
  strided_slice(%x, begin=[1], end=[6], strides=[1], axes=[2])
}
"""


def test_the_sizes_that_a_type_leaves_open_are_found() -> None:
    main = infer_types(parse(TEXT)).main
    assert isinstance(main, Function)
    named = open_primitive(main)
    assert [shape_text(each) for each in named.outputs] == ["(s0, s0 - 2, u0)"]
    assert [output.shape for output in size_program(named).outputs] == [(1,)]


def test_an_operator_that_finds_other_sizes_is_a_defect() -> None:
    main = infer_types(parse(TEXT)).main
    assert isinstance(main, Function)
    with pytest.raises(BuildError, match="finds 1 sizes, but its type leaves 2 open"):
        size_program(replace(open_primitive(main), found=("u0", "u1")))
