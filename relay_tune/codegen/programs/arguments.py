"""How functions of a program get their arguments: in registers, and further ones in the session.

LLVM passes in registers what fits there and the rest on the stack. A tail call to a function with
another number of arguments on the stack must move the return address; LLVM 22 moves neither that
nor the arguments (seen in 22.1, x86-64). So nothing is passed on the stack: what no register is
sure to be free for is left in the session, where results beyond the first are left too. The callee
reads it before it does anything else.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.llvm_types import is_float
from relay_tune.codegen.programs.object_writer import ObjectWriter
from relay_tune.codegen.programs.session import PASSED
from relay_tune.codegen.programs.values import llvm_type
from relay_tune.program.instructions import Register
from relay_tune.program.kinds import Kind, ScalarKind

WORD_REGISTERS = 5
"""For integers and pointers: six of System V's ABI for AMD64 (AAPCS64 has eight), of which the
session takes one."""

FLOAT_REGISTERS = 8
"""For floats, on both processors."""


def session_slots(kinds: Sequence[Kind]) -> list[int | None]:
    """For each argument the number of its slot in the session; None if it is in a register."""
    slots: list[int | None] = []
    words = floats = slot = 0
    for kind in kinds:
        if isinstance(kind, ScalarKind) and is_float(kind.dtype):
            floats += 1
            fits = floats <= FLOAT_REGISTERS
        else:
            words += 1
            fits = words <= WORD_REGISTERS
        slots.append(None if fits else slot)
        slot += not fits
    return slots


def pass_arguments(kinds: Sequence[Kind], values: Sequence[str], objects: ObjectWriter) -> str:
    """The arguments of a call that follows at once: `, ptr %a, i32 %b`."""
    texts = []
    slots = session_slots(kinds)
    for kind, value, slot in zip(kinds, values, slots, strict=True):
        if slot is None:
            texts.append(f", {llvm_type(kind)} {value}")
        else:
            objects.store_value(kind, value, "%session", PASSED + 8 * slot)
    objects.need_passed(sum(slot is not None for slot in slots))
    return "".join(texts)


def take_parameters(parameters: Sequence[Register], objects: ObjectWriter) -> str:
    """Names a function's parameters where it begins; gives those of its head: `, ptr %a0`."""
    texts = []
    slots = session_slots([parameter.kind for parameter in parameters])
    for number, (parameter, slot) in enumerate(zip(parameters, slots, strict=True)):
        if slot is None:
            objects.names[parameter] = f"%a{number}"
            texts.append(f", {llvm_type(parameter.kind)} %a{number}")
        else:
            passed = objects.load_value(parameter.kind, "%session", PASSED + 8 * slot)
            objects.names[parameter] = passed
    return "".join(texts)
