"""The arguments of a call, read by native code in Python's memory.

    i64 read_arguments(PyObject **arguments, ptr call)

It compares each part of the arguments with its form. The addresses of arrays go into the table of
inputs. Values of data types are described as `relay_tune.codegen.programs.build_values` reads it: a
code for each part, and the elements of their tensors, column by column. The result is the number of
codes, REFUSED if a part is not exactly as wanted, or NO_ROOM if there is too little room.

Parts wait on the stack as pairs of object and form. No code of Python's runs meanwhile.
"""

from __future__ import annotations

from relay_tune.codegen.builder.control_flow import Block
from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import internal
from relay_tune.codegen.direct.array_check import NO_SIZE, check_array
from relay_tune.codegen.direct.constructor_search import find_constructor
from relay_tune.codegen.direct.python_objects import ARRAY, DATA, TUPLE, VALUE, PythonObjects
from relay_tune.codegen.direct.words import (
    ArrayForm,
    Call,
    ConstructorForm,
    FormKind,
    InputForm,
    LeafForm,
    ListForm,
    Part,
)
from relay_tune.codegen.programs.build_values import LeafColumn
from relay_tune.codegen.word_table import WORD

REFUSED, NO_ROOM = -1, -2

READ_ARGUMENTS = internal("i64", "read_arguments", "ptr", "ptr")


def add_read_arguments(module: NativeModule, python: PythonObjects) -> None:
    """The function."""
    with module.define(READ_ARGUMENTS) as code:
        with code.block() as refused:
            with code.block() as crowded:
                _ArgumentReader(code, python, refused, crowded).write()
            code.ret(NO_ROOM)
        code.ret(REFUSED)


class _ArgumentReader:
    """Writes the function's loops: over lists of parts, and over the parts of a list."""

    def __init__(
        self, code: FunctionBuilder, python: PythonObjects, refused: Block, crowded: Block
    ) -> None:
        self._code = code
        self._python = python
        self._refused = refused
        self._crowded = crowded
        self._arguments, self._call = code.parameters
        self._codes, self._code_room, self._pairs, self._pair_room, self._symbols = (
            self._call.words(Call.CODES, Call.CODE_ROOM, Call.PAIRS, Call.PAIR_ROOM, Call.SYMBOLS)
        )
        self._reached = code.local(0)
        self._stacked = code.local(0)

    def write(self) -> None:
        """The whole body."""
        code, call = self._code, self._call
        self._reset()
        first_count, first_forms = call.words(Call.ARGUMENT_COUNT, Call.FORMS)
        items = code.local(self._arguments)
        count, forms = code.local(first_count), code.local(first_forms)
        with code.loop() as lists:
            self._push(items.value, count.value, forms.value)
            with code.loop() as parts:
                code.ret_if(self._stacked.value.eq(0), self._reached.value)
                self._stacked.set(self._stacked.value - 1)
                object_, form = self._pairs.entry(Part, self._stacked.value).words(*Part)
                self._crowded.leave_if(self._reached.value.uge(self._code_room))
                class_, kind = self._python.class_of(object_), form.load("i64")
                with code.when(kind.ule(FormKind.LEAF)):
                    self._refused.leave_if(class_.ne(code.symbol(ARRAY)))
                    self._read_array(object_, form, kind)
                    parts.again()
                listed = code.local(object_)
                with code.block() as found:
                    with code.when(kind.eq(FormKind.TUPLE)):
                        count.set(form.word(ListForm.COUNT).load())
                        forms.set(form.word(ListForm.FORMS).load())
                        found.leave()
                    self._refused.leave_if(class_.ne(code.symbol(VALUE)))
                    fields, entry = self._read_constructor(object_, form)
                    listed.set(fields)
                    count.set(entry.word(ConstructorForm.COUNT).load())
                    forms.set(entry.word(ConstructorForm.FORMS).load())
                self._refused.leave_if(self._python.class_of(listed.value).ne(code.symbol(TUPLE)))
                self._refused.leave_if(self._python.length(listed.value).ne(count.value))
                items.set(self._python.items(listed.value))
                lists.again()

    def _reset(self) -> None:
        """Empty the columns, and forget what sizes the last call had."""
        leaves, leaf_count, starts, symbol_count = self._call.words(
            Call.LEAVES, Call.LEAF_COUNT, Call.STARTS, Call.SYMBOL_COUNT
        )
        with self._code.count(leaf_count) as each:
            start = starts.item("ptr", each.index).load()
            leaves.entry(LeafColumn, each.index).word(LeafColumn.END).store(start)
        with self._code.count(symbol_count) as each:
            self._symbols.item("i64", each.index).store(NO_SIZE)

    def _push(self, items: Operand, count: Operand, forms: Operand) -> None:
        """Let the parts of a list wait, the first one on top."""
        self._crowded.leave_if((self._stacked.value + count).ugt(self._pair_room))
        left = self._code.local(count)
        with self._code.loop() as pushing:
            pushing.leave_if(left.value.eq(0))
            left.set(left.value - 1)
            pair = self._pairs.entry(Part, self._stacked.value)
            pair.word(Part.OBJECT).store(items.item("ptr", left.value).load())
            pair.word(Part.FORM).store(forms.item("ptr", left.value).load())
            self._stacked.set(self._stacked.value + 1)

    def _write_code(self, number: Operand) -> None:
        self._codes.item("i16", self._reached.value).store(number.trunc("i16"))
        self._reached.set(self._reached.value + 1)

    def _read_array(self, array: Operand, form: Operand, kind: Operand) -> None:
        """Note where the elements of an input are, or copy those of a leaf."""
        code = self._code
        sizes = check_array(code, self._python, array, form, self._symbols, self._refused)
        elements = self._python.field(array, DATA)
        with code.block() as done:
            with code.when(kind.eq(FormKind.LEAF)):
                self._copy_leaf(form, elements)
                done.leave()
            slot, found_sizes = form.words(InputForm.SLOT, InputForm.FOUND_SIZES)
            slot.store(elements)
            done.leave_if(found_sizes.is_null())
            rank = form.word(ArrayForm.RANK).load().sext("i64")
            code.copy(found_sizes, sizes, rank << 3)

    def _copy_leaf(self, form: Operand, elements: Operand) -> None:
        number, end_slot, limit, bytes_ = form.words(
            LeafForm.CODE, LeafForm.END_PLACE, LeafForm.LIMIT, LeafForm.BYTES
        )
        end = end_slot.load("ptr")
        new_end = end.offset(bytes_)
        self._crowded.leave_if(new_end.ugt(limit))
        self._code.copy(end, elements, bytes_)
        end_slot.store(new_end)
        self._write_code(number)

    def _read_constructor(self, value: Operand, form: Operand) -> tuple[Operand, Operand]:
        """The fields of a value and the form of its constructor, whose code is written."""
        slots = self._python.slots
        constructor = value.at("ptr", slots["value_constructor"]).load()
        fields = value.at("ptr", slots["value_fields"]).load()
        self._refused.leave_if(constructor.is_null() | fields.is_null())
        forms = form.offset(WORD * ListForm.FORMS)
        count = form.word(ListForm.COUNT).load()
        entry = find_constructor(self._code, self._python, constructor, forms, count, self._refused)
        self._write_code(entry.word(ConstructorForm.CODE).load())
        return fields, entry
