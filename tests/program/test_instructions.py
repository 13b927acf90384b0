"""Instructions and terminators name the fields that are their operands and results."""

from dataclasses import fields

import pytest

from relay_tune.program import instructions, terminators
from relay_tune.program.instructions import CallClosure, Instruction, Operation, Register
from relay_tune.program.kinds import ScalarKind

KINDS = {
    each
    for module in (instructions, terminators)
    for each in vars(module).values()
    if isinstance(each, type) and issubclass(each, Operation)
}


@pytest.mark.parametrize("kind", sorted(KINDS, key=lambda each: each.__name__))
def test_named_fields_hold_registers(kind: type[Operation]) -> None:
    types = {each.name: each.type for each in fields(kind)}
    assigned = kind.ASSIGNS if issubclass(kind, Instruction) else ()
    for name in (*assigned, *kind.CONSUMES, *kind.BORROWS):
        assert types[name] in ("Register", "tuple[Register, ...]")


def test_several_fields_are_read_in_order() -> None:
    closure, first, second, result = (Register(ScalarKind("int32")) for _ in range(4))
    call = CallClosure(closure, (first, second), (result,))
    assert call.consumed == (closure, first, second) == call.operands
    assert call.results == (result,)
    assert call.borrowed == ()
