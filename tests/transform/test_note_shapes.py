"""Spans know the shapes of results, and what later passes make inherits them."""

from __future__ import annotations

import relay_tune as rt
from relay_tune.ir.expr import Call
from relay_tune.transform.note_shapes import NoteShapes
from relay_tune.typing.infer import infer_types

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) { sum(split(%x, indices_or_sections=3, axis=1).1, axis=[0]) }
"""


def test_each_call_knows_the_shape_of_its_first_result() -> None:
    module = NoteShapes()(infer_types(rt.parse(TEXT, source_name="a.relay")))
    total = module.main.body
    assert isinstance(total, Call)
    assert total.span is not None
    assert total.span.shape == (1,)
    assert str(total.span) == "a.relay:2:42"


def test_programs_are_the_same_afterwards() -> None:
    module = infer_types(rt.parse(TEXT))
    assert rt.structural_equal(module, NoteShapes()(module))
