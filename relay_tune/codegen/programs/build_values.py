"""Objects made from a flat description: how callers pass large values quickly.

    i64 relay_tune_build(ptr session, ptr codes, i64 count, ptr leaves, ptr stack)
                                                                   1, or 0 without memory

A value is described by one i16 for each of its parts, a part before its own parts, left to right:
the layout number of an object, or FIRST_LEAF and the number of a kind of leaf. The leaves of a
kind, tensors of a shape or scalars of an element type, stand one after the other in a column. Of
each kind `leaves` has five words:

    the end of its column, the bytes of an element of the column, size class, bytes of the class,
    the address of the sizes that the tensors' headers get, all that there is room for, or 0

where a scalar has no class (0 bytes). The codes are read backward, so that parts are made before
the whole; they wait on `stack`, which must have room for a word for each code. What is described is
left in its first word, the columns' ends are moved to their beginnings.
"""

from __future__ import annotations

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import function
from relay_tune.codegen.programs.heap import TAKE_BLOCK, WRITE_HEADER
from relay_tune.codegen.programs.layout_tables import FORMS, NARROW_FIELDS, Form, field_of
from relay_tune.codegen.word_table import ADDRESS, NUMBER, Word
from relay_tune.program.kinds import MAXIMUM_OPEN_RANK
from relay_tune.program.layouts import (
    MAXIMUM_LAYOUTS,
    TENSOR_DATA,
    TENSOR_SHAPE,
)

FIRST_LEAF = MAXIMUM_LAYOUTS

BUILD = function("i64", "relay_tune_build", "ptr", "ptr", "i64", "ptr", "ptr")


class LeafColumn(Word):
    """The words of a kind of leaf in `leaves`."""

    END = ADDRESS
    BYTES = NUMBER
    CLASS = NUMBER
    ROOM = NUMBER
    SIZES = ADDRESS


def add_build(module: NativeModule) -> None:
    """The function; it needs the heap's functions and the tables of the layouts."""
    module.external(FORMS, "ptr", "constant")
    with module.define(BUILD) as code:
        session, codes, count, leaves, stack = code.parameters
        left, top, word = code.local(count), code.local(0), code.local(0)
        with code.loop():
            code.ret_if(left.value.eq(0), 1)
            left.set(left.value - 1)
            number = codes.item("i16", left.value).load().zext("i64")
            with code.block() as made:
                with code.when(number.uge(FIRST_LEAF)):
                    column = leaves.entry(LeafColumn, number - FIRST_LEAF)
                    word.set(_leaf(code, session, column))
                    made.leave()
                form = code.symbol(FORMS).entry(Form, number)
                static = form.word(Form.STATIC).load()
                word.set(static.to_int())
                made.leave_if(~static.is_null())
                object_ = _object(code, session, number, form)
                word.set(object_.to_int())
                fields, field_count = form.words(Form.FIELDS, Form.COUNT)
                with code.count(field_count) as each:
                    top.set(top.value - 1)
                    value = stack.item("i64", top.value).load()
                    _store_field(code, object_, fields.item("i64", each.index).load(), value)
            stack.item("i64", top.value).store(word.value)
            top.set(top.value + 1)


def _leaf(code: FunctionBuilder, session: Operand, column: Operand) -> Operand:
    """The word of a column's next leaf: a number, or a new tensor."""
    end, bytes_, class_, room, sizes = column.words(*LeafColumn)
    source = end.offset(0 - bytes_)
    column.word(LeafColumn.END).store(source)
    word = code.local(0)
    with code.block() as done:
        with code.when(room.eq(0)):
            slot = code.stack_slot(8)
            slot.at("i64").store(0)
            code.copy(slot, source, bytes_)
            word.set(slot.load("i64"))
            done.leave()
        tensor = code.call(TAKE_BLOCK, session, class_, room)
        code.ret_if(tensor.is_null(), 0)
        code.call(WRITE_HEADER, tensor, class_.trunc("i32"))
        code.copy(tensor.offset(TENSOR_DATA), source, bytes_)
        word.set(tensor.to_int())
        with code.when(~sizes.is_null()):
            code.copy(tensor.offset(TENSOR_SHAPE), sizes, 8 * MAXIMUM_OPEN_RANK)
    return word.value


def _object(code: FunctionBuilder, session: Operand, number: Operand, form: Operand) -> Operand:
    """A new object of a layout; its fields are not set yet."""
    class_, bytes_ = form.words(Form.CLASS, Form.BYTES)
    object_ = code.call(TAKE_BLOCK, session, class_, bytes_)
    code.ret_if(object_.is_null(), 0)
    code.call(WRITE_HEADER, object_, ((number << 16) | class_).trunc("i32"))
    return object_


def _store_field(
    code: FunctionBuilder, object_: Operand, described: Operand, value: Operand
) -> None:
    size, field = field_of(object_, described)
    with code.block() as stored:
        for bits, type_ in NARROW_FIELDS.items():
            with code.when(size.eq(bits)):
                field.store(value.trunc(type_))
                stored.leave()
        field.store(value)
