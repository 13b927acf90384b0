"""Objects described flatly: how callers get large values quickly.

    i64 relay_tune_read(ptr roots, i64 count, ptr objects, i64 room, ptr rows, i64 width)
    void relay_tune_gather(ptr tensors, i64 count, i64 bytes, ptr elements)

`read` goes through all that can be reached from the objects in `roots`. Those that are neither
static nor tensors are numbered as they are met; the result is how many there are, or -1 if there
may be more than `room`. Then `objects` has the layout number of each, and `rows`, of `width` words,
have their fields, a word for each. A field is the bits of a scalar, the address of a tensor, the
number of an object, or a layout number less than zero for the static object of that layout; so is
what stands in `roots` then.

A number is kept, plus one, in the link of the object that has it while `read` runs; links of living
objects are 0. `gather` copies the elements of tensors, `bytes` each, one after the other.
"""

from __future__ import annotations

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import function, internal
from relay_tune.codegen.programs.counts import layout_number
from relay_tune.codegen.programs.layout_tables import (
    COUNTED_FIELD,
    FORMS,
    NARROW_FIELDS,
    Form,
    field_of,
)
from relay_tune.program.layouts import LINK, TENSOR_DATA, TENSOR_LAYOUT

READ = function("i64", "relay_tune_read", "ptr", "i64", "ptr", "i64", "ptr", "i64")
GATHER = function("void", "relay_tune_gather", "ptr", "i64", "i64", "ptr")
READ_SYMBOLS = (READ.name, GATHER.name)

_NUMBER_OBJECT = internal("i64", "number_object", "ptr", "ptr", "ptr")


def add_read(module: NativeModule) -> None:
    """The functions; they need the tables of the layouts."""
    _add_number_object(module)
    with module.define(READ) as code:
        _write_read(code)
    with module.define(GATHER) as code:
        tensors, count, bytes_, elements = code.parameters
        with code.count(count) as each:
            source = tensors.item("ptr", each.index).load().offset(TENSOR_DATA)
            code.copy(elements.offset(each.index * bytes_), source, bytes_)


def _add_number_object(module: NativeModule) -> None:
    """The word for an object, which is numbered when it is met first."""
    with module.define(_NUMBER_OBJECT) as code:
        object_, objects, count_at = code.parameters
        layout = layout_number(object_)
        code.ret_if(layout.eq(TENSOR_LAYOUT), object_.to_int())
        code.ret_if(object_.load("i32").slt(0), 0 - layout)
        link = object_.at("i64", LINK)
        known = link.load()
        code.ret_if(known.ne(0), known - 1)
        count = count_at.load("i64")
        count_at.store(count + 1)
        link.store(count + 1)
        objects.item("ptr", count).store(object_)
        code.ret(count)


def _write_read(code: FunctionBuilder) -> None:
    roots, root_count, objects, room, rows, width = code.parameters
    counter = code.stack_slot(8)
    counter.at("i64").store(0)
    code.ret_if(root_count.ugt(room), -1)
    with code.count(root_count) as each:
        root = roots.item("ptr", each.index)
        word = code.call(_NUMBER_OBJECT, root.load(), objects, counter)
        root.pointer.store(word)
    reached, result = code.local(0), code.local(-1)
    with code.loop() as reading:
        count = counter.load("i64")
        with code.when(reached.value.eq(count)):
            result.set(count)
            reading.leave()
        object_ = objects.item("ptr", reached.value).load()
        form = code.symbol(FORMS).entry(Form, layout_number(object_))
        field_count, fields = form.words(Form.COUNT, Form.FIELDS)
        reading.leave_if((count + field_count).ugt(room))
        row = rows.offset(reached.value * width, "i64")
        with code.count(field_count) as each:
            described = fields.item("i64", each.index).load()
            word = _read_field(code, object_, described, objects, counter)
            row.item("i64", each.index).store(word)
        reached.set(reached.value + 1)
    with code.count(counter.load("i64")) as each:
        slot = objects.item("ptr", each.index)
        numbered = slot.load()
        numbered.at("ptr", LINK).clear()
        slot.pointer.store(layout_number(numbered))
    code.ret(result.value)


def _read_field(
    code: FunctionBuilder,
    object_: Operand,
    described: Operand,
    objects: Operand,
    counter: Operand,
) -> Operand:
    size, field = field_of(object_, described)
    word = code.local(0)
    with code.block() as done:
        for bits, type_ in NARROW_FIELDS.items():
            with code.when(size.eq(bits)):
                word.set(field.load(type_).zext("i64"))
                done.leave()
        word.set(field.load("i64"))
        with code.when(described.uge(COUNTED_FIELD)):
            word.set(code.call(_NUMBER_OBJECT, field.load("ptr"), objects, counter))
    return word.value
