"""What holds for every module: text and structure survive a round trip."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.printer.astext import astext
from relay_tune.ir.structural import first_difference, structural_hash
from tests.properties.generate_ir import modules

few = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@few
@given(modules())
def test_what_was_printed_is_the_same_program_and_text(module: Module) -> None:
    text = astext(module)
    again = parse(text)
    assert first_difference(module, again) is None
    assert structural_hash(module) == structural_hash(again)
    assert astext(again) == text
