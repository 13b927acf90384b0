"""Which constructor a value has.

Constructors are compared as objects. One that is another object of the same name takes the place of
the known one, so that it is found at once the next time.
"""

from __future__ import annotations

from relay_tune.codegen.builder.control_flow import Block
from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.direct.python_objects import (
    CLEAR_ERROR,
    COMPARE_TEXT,
    CONSTRUCTOR,
    DECREMENT,
    GET_ATTRIBUTE,
    INCREMENT,
    PythonObjects,
)
from relay_tune.codegen.direct.words import ConstructorForm

NAME = "name"
"""The text of the attribute that is a constructor's name."""


def find_constructor(
    code: FunctionBuilder,
    python: PythonObjects,
    constructor: Operand,
    forms: Operand,
    count: Operand,
    refused: Block,
) -> Operand:
    """The ConstructorForm of a constructor among `count` of them; leaves `refused` without one."""
    found = code.local(forms)
    with code.block() as search:
        with code.count(count) as each:
            found.set(forms.entry(ConstructorForm, each.index))
            known = found.value.word(ConstructorForm.CONSTRUCTOR).load()
            search.leave_if(known.eq(constructor))
        refused.leave_if(python.class_of(constructor).ne(code.symbol(CONSTRUCTOR)))
        name = code.call(GET_ATTRIBUTE, constructor, code.symbol(NAME))
        with code.when(name.is_null()):
            code.call(CLEAR_ERROR)
            refused.leave()
        with code.count(count) as each:
            found.set(forms.entry(ConstructorForm, each.index))
            old_name = found.value.word(ConstructorForm.NAME).load()
            each.again_if(code.call(COMPARE_TEXT, name, old_name).ne(0))
            code.call(DECREMENT, name)
            slot = found.value.word(ConstructorForm.CONSTRUCTOR)
            old = slot.load()
            code.call(INCREMENT, constructor)
            slot.store(constructor)
            code.call(DECREMENT, old)
            search.leave()
        code.call(DECREMENT, name)
        refused.leave()
    return found.value
