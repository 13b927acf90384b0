"""The result of a call, made by native code as objects of Python.

    PyObject *make_results(ptr call)

First come the values of data types: all objects are described at once
(`relay_tune.codegen.programs.read_values`), an object of Python is made for each, then they get
their fields. What an object has for fields, and what the result is, says a list of steps
(`relay_tune.codegen.direct.make_value`). At the end the references to the objects of the heap are
given up.

Where there is too little room to describe the objects, the result is the number NO_RESULT_ROOM and
nothing has changed. Null is an error of Python's, and all objects are gone.
"""

from __future__ import annotations

from relay_tune.codegen.builder.control_flow import Block, Local
from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import Signature, internal
from relay_tune.codegen.direct.make_value import CLEAN_LINKS, DROP, MAKE_VALUE, add_make_value
from relay_tune.codegen.direct.python_objects import (
    DECREMENT,
    FROM_NUMBER,
    INCREMENT,
    NEW_OBJECT,
    VALUE,
    PythonObjects,
)
from relay_tune.codegen.direct.words import Call, FixedOutput, Layout
from relay_tune.codegen.word_table import WORD

NO_RESULT_ROOM = -3

MAKE_RESULTS = internal("ptr", "make_results", "ptr")
DROP_OUTPUTS = internal("void", "drop_outputs", "ptr")
EMPTY_SESSION = internal("void", "empty_session", "ptr")

RESET = Signature("void", ("ptr",))
_READ = Signature("i64", ("ptr", "i64", "ptr", "i64", "ptr", "i64"))
_RELEASE = Signature("void", ("ptr", "ptr"))


def add_make_results(module: NativeModule, python: PythonObjects) -> None:
    """The functions; they need `empty_session`."""
    add_make_value(module, python)
    with module.define(DROP) as code:
        objects, count = code.parameters
        with code.count(count) as each:
            slot = objects.item("ptr", each.index)
            object_ = slot.load()
            each.again_if(object_.is_null())
            slot.clear()
            code.call(DECREMENT, object_)
    with module.define(DROP_OUTPUTS) as code:
        fixed, count = code.parameters[0].words(Call.FIXED, Call.FIXED_COUNT)
        with code.count(count) as each:
            code.call(DROP, *fixed.entry(FixedOutput, each.index).words(FixedOutput.COMPONENT), 1)
    with module.define(MAKE_RESULTS) as code:
        _ResultMaker(code, python).write()


class _ResultMaker:
    """Writes the function that makes the result."""

    def __init__(self, code: FunctionBuilder, python: PythonObjects) -> None:
        self._code = code
        self._python = python
        self._call = code.parameters[0]
        self._cells, self._cell_count, self._row, self._made = self._call.words(
            Call.CELLS, Call.CELL_COUNT, Call.ROW, Call.MADE
        )

    def write(self) -> None:
        """The whole body."""
        code = self._code
        code.copy(self._row, self._cells, self._cell_count * WORD)
        made_count = code.local(0)
        data_count = self._call.word(Call.DATA_COUNT).load()
        with code.block() as failed:
            with code.when(data_count.ne(0)):
                self._make_objects(data_count, made_count, failed)
            steps, step_count = self._call.words(Call.STEPS, Call.STEP_COUNT)
            result = code.call(MAKE_VALUE, self._call, steps, step_count, self._row)
            failed.leave_if(result.is_null())
            with code.count(made_count.value) as each:
                _, own_steps, own_count, own_row = self._described(each.index)
                code.call(CLEAN_LINKS, own_steps, own_count, own_row)
            code.call(CLEAN_LINKS, steps, step_count, self._row)
            code.call(DROP, self._made, made_count.value)
            self._give_up_objects()
            code.ret(result)
        code.call(DROP, self._made, made_count.value)
        code.call(DROP_OUTPUTS, self._call)
        code.call(EMPTY_SESSION, self._call)
        code.ret(code.null)

    def _make_objects(self, data_count: Operand, made_count: Local, failed: Block) -> None:
        code = self._code
        read, numbers, room, rows, width = self._call.words(
            Call.READ, Call.NUMBERS, Call.ROW_ROOM, Call.ROWS, Call.WIDTH
        )
        found = code.call_through(read, _READ, self._row, data_count, numbers, room, rows, width)
        with code.when(found.slt(0)):
            code.ret(code.call(FROM_NUMBER, NO_RESULT_ROOM))
        with code.count(found) as each:
            object_ = code.call(NEW_OBJECT, code.symbol(VALUE), 0)
            failed.leave_if(object_.is_null())
            self._made.item("ptr", each.index).store(object_)
            made_count.set(each.index + 1)
        slots = self._python.slots
        with code.count(found) as each:
            constructor, steps, step_count, row = self._described(each.index)
            fields = code.call(MAKE_VALUE, self._call, steps, step_count, row)
            failed.leave_if(fields.is_null())
            value = self._made.item("ptr", each.index).load()
            code.call(INCREMENT, constructor)
            value.at("ptr", slots["value_constructor"]).store(constructor)
            value.at("ptr", slots["value_fields"]).store(fields)

    def _described(self, number: Operand) -> tuple[Operand, Operand, Operand, Operand]:
        """The constructor of an object, the steps that make its fields, and their components."""
        numbers, layouts, rows, width = self._call.words(
            Call.NUMBERS, Call.LAYOUTS, Call.ROWS, Call.WIDTH
        )
        layout = layouts.entry(Layout, numbers.item("i64", number).load())
        constructor, steps, count = layout.words(
            Layout.CONSTRUCTOR, Layout.STEPS, Layout.STEP_COUNT
        )
        return constructor, steps, count, rows.offset(number * width, "i64")

    def _give_up_objects(self) -> None:
        code = self._code
        session, resets, release, reset = self._call.words(
            Call.SESSION, Call.RESETS, Call.RELEASE, Call.RESET
        )
        with code.block() as done:
            with code.when(resets.ne(0)):
                code.call_through(reset, RESET, session)
                done.leave()
            with code.count(self._cell_count) as each:
                cell = self._cells.item("ptr", each.index).load()
                code.call_through(release, _RELEASE, session, cell)
