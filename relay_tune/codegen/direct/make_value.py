"""A value made of components, by a list of steps that push on a stack.

    ptr make_value(ptr call, ptr steps, i64 step_count, ptr row)      an object of Python, or null
    void clean_links(ptr steps, i64 step_count, ptr row)

`row` has the components. A tensor that is shared is made once; it is known again by the link in its
object, which has the address of the array from then on, until `clean_links` follows the same steps.
The elements of a large tensor that nobody else has stay where they are: the session hands their
memory over, and the array frees it when it goes. Those of others are copied.

Null is an error of Python's; what the steps have pushed is given up then.
"""

from __future__ import annotations

from relay_tune.codegen.builder.control_flow import Block
from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Location, Operand
from relay_tune.codegen.builder.signature import Signature, internal
from relay_tune.codegen.direct.python_objects import (
    ALIGNED,
    ARRAY,
    CAPSULE_POINTER,
    CONTIGUOUS,
    DATA,
    DECREMENT,
    FREE,
    INCREMENT,
    NEW_ARRAY,
    NEW_CAPSULE,
    NEW_TUPLE,
    SET_ITEM,
    SET_OWNER,
    WRAP_ARRAY,
    WRITEABLE,
    PythonObjects,
)
from relay_tune.codegen.direct.words import Call, Layout, Step, StepKind
from relay_tune.program.layouts import LINK, TENSOR_DATA, TENSOR_SHAPE

MAKE_VALUE = internal("ptr", "make_value", "ptr", "ptr", "i64", "ptr")
CLEAN_LINKS = internal("void", "clean_links", "ptr", "i64", "ptr")
DROP = internal("void", "drop", "ptr", "i64")

_FREE_MEMORY = internal("void", "free_memory", "ptr")
_ARRAY_OF_MEMORY = internal("ptr", "array_of_memory", "ptr", "ptr", "i32", "ptr", "ptr")
_HAND_OVER = Signature("ptr", ("ptr",))


def add_make_value(module: NativeModule, python: PythonObjects) -> None:
    """The functions; they need `drop`."""
    with module.define(_FREE_MEMORY) as code:
        code.call(FREE, code.call(CAPSULE_POINTER, code.parameters[0], code.null))
    _add_array_of_memory(module)
    with module.define(MAKE_VALUE) as code:
        _ValueMaker(code, python).write()
    _add_clean_links(module)


def _add_array_of_memory(module: NativeModule) -> None:
    """An array of elements in memory that it frees in the end; takes over memory and dtype."""
    with module.define(_ARRAY_OF_MEMORY) as code:
        memory, elements, rank, shape, dtype = code.parameters
        null = code.null
        owner = code.call(NEW_CAPSULE, memory, null, code.address(_FREE_MEMORY))
        with code.when(owner.is_null()):
            code.call(FREE, memory)
            code.call(DECREMENT, dtype)
            code.ret(null)
        class_, flags = code.symbol(ARRAY), CONTIGUOUS | ALIGNED | WRITEABLE
        array = code.call(WRAP_ARRAY, class_, dtype, rank, shape, null, elements, flags, null)
        with code.when(array.is_null()):
            code.call(DECREMENT, owner)
            code.ret(null)
        with code.when(code.call(SET_OWNER, array, owner).ne(0)):
            code.call(DECREMENT, array)
            code.ret(null)
        code.ret(array)


class _ValueMaker:
    """Writes the function that follows the steps."""

    def __init__(self, code: FunctionBuilder, python: PythonObjects) -> None:
        self._code = code
        self._python = python
        call, self._steps, self._step_count, self._row = code.parameters
        self._layouts, self._made, self._values, self._hand_over = call.words(
            Call.LAYOUTS, Call.MADE, Call.VALUES, Call.HAND_OVER
        )

    def write(self) -> None:
        """The whole body."""
        code, values = self._code, self._values
        top = code.local(0)
        with code.block() as failed:
            with code.count(self._step_count) as each:
                step = self._steps.entry(Step, each.index)
                kind, number = step.words(Step.KIND, Step.PLACE)
                with code.block() as pushed:
                    for one, write in (
                        (StepKind.ARRAY, self._take_array),
                        (StepKind.SCALAR, self._make_scalar),
                        (StepKind.TENSOR, self._make_tensor),
                        (StepKind.OBJECT, self._find_object),
                    ):
                        with code.when(kind.eq(one)):
                            cell = self._row.item("ptr", number)
                            write(step, cell, values.item("ptr", top.value), failed)
                            pushed.leave()
                    tuple_ = code.call(NEW_TUPLE, number)
                    failed.leave_if(tuple_.is_null())
                    top.set(top.value - number)
                    with code.count(number) as item:
                        value = values.item("ptr", top.value + item.index).load()
                        code.call(SET_ITEM, tuple_, item.index, value)
                    values.item("ptr", top.value).store(tuple_)
                top.set(top.value + 1)
            code.ret(values.load("ptr"))
        code.call(DROP, values, top.value)
        code.ret(code.null)

    def _take_array(self, _: Operand, cell: Location, result: Location, _failed: Block) -> None:
        result.store(cell.load())
        cell.clear()

    def _make_scalar(self, step: Operand, cell: Location, result: Location, failed: Block) -> None:
        dtype, bytes_ = step.words(Step.DTYPE, Step.BYTES)
        self._code.call(INCREMENT, dtype)
        scalar = self._code.call(NEW_ARRAY, 0, self._code.null, dtype, 0)
        failed.leave_if(scalar.is_null())
        self._code.copy(self._python.field(scalar, DATA), cell.pointer, bytes_)
        result.store(scalar)

    def _make_tensor(self, step: Operand, cell: Location, result: Location, failed: Block) -> None:
        code, tensor = self._code, cell.load()
        dtype, rank, known_sizes, bytes_ = step.words(Step.DTYPE, Step.RANK, Step.SIZES, Step.BYTES)
        is_shared, link = _is_shared(tensor), tensor.at("ptr", LINK)
        with code.block() as made:
            with code.when(is_shared):
                known = link.load()
                with code.when(~known.is_null()):
                    code.call(INCREMENT, known)
                    result.store(known)
                    made.leave()
            shape = known_sizes.is_null().select(tensor.offset(TENSOR_SHAPE), known_sizes)
            short_rank, source = rank.trunc("i32"), tensor.offset(TENSOR_DATA)
            code.call(INCREMENT, dtype)
            memory = code.call_through(self._hand_over, _HAND_OVER, tensor)
            with code.when(~memory.is_null()):
                wrapped = code.call(_ARRAY_OF_MEMORY, memory, source, short_rank, shape, dtype)
                failed.leave_if(wrapped.is_null())
                result.store(wrapped)
                made.leave()
            array = code.call(NEW_ARRAY, short_rank, shape, dtype, 0)
            failed.leave_if(array.is_null())
            size = code.local(bytes_)
            with code.count(rank) as axis:
                size.set(size.value * shape.item("i64", axis.index).load())
            code.copy(self._python.field(array, DATA), source, size.value)
            with code.when(is_shared):
                link.store(array)
            result.store(array)

    def _find_object(self, _: Operand, cell: Location, result: Location, _failed: Block) -> None:
        code = self._code
        number = cell.pointer.load("i64")
        with code.when(number.slt(0)):
            static = self._layouts.entry(Layout, 0 - number).word(Layout.STATIC).load()
            code.call(INCREMENT, static)
            result.store(static)
        with code.when(number.sge(0)):
            made = self._made.item("ptr", number).load()
            code.call(INCREMENT, made)
            result.store(made)


def _add_clean_links(module: NativeModule) -> None:
    with module.define(CLEAN_LINKS) as code:
        steps, step_count, row = code.parameters
        with code.count(step_count) as each:
            kind, index = steps.entry(Step, each.index).words(Step.KIND, Step.PLACE)
            with code.when(kind.eq(StepKind.TENSOR)):
                tensor = row.item("ptr", index).load()
                with code.when(_is_shared(tensor)):
                    tensor.at("ptr", LINK).clear()


def _is_shared(object_: Operand) -> Operand:
    return object_.load("i32").sgt(1)
