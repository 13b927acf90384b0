"""Objects in LLVM IR: new ones, their fields, their counts, and memory for scalars."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.function_writer import FunctionWriter, Lines
from relay_tune.codegen.kernels.stored_values import from_memory, to_memory
from relay_tune.codegen.llvm_types import BYTES
from relay_tune.codegen.programs.module_writer import ModuleWriter
from relay_tune.codegen.programs.values import stored_type
from relay_tune.program.instructions import Register
from relay_tune.program.kinds import MAXIMUM_OPEN_RANK, Kind, ScalarKind, TensorKind, is_counted
from relay_tune.program.layouts import (
    TENSOR_DATA,
    TENSOR_LAYOUT,
    TENSOR_SHAPE,
    ObjectLayout,
    class_bytes,
    field_bytes,
    size_class,
    tensor_bytes,
)

TOO_MANY_BYTES = 1 << 47
"""As many as a process can address, so that there is no such memory; it still has a size class."""

_MULTIPLY = "declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)"
_WORD_BYTES = {"ptr": 8, "i64": 8, "i32": 4, "i16": 2}


class ObjectWriter:
    """Writes code that handles objects.

    Attributes:
        writer: the function's text.
        names: the LLVM name of each register.
        stack_slots: the entry block's allocations.
        results_in_place: the results that lie in the caller's memory, by register.
        lent_sizes: the sizes of open tensors that are no objects, by LLVM name.
    """

    def __init__(self, module: ModuleWriter) -> None:
        self.writer = FunctionWriter()
        self.names: dict[Register, str] = {}
        self.stack_slots: Lines = []
        self.results_in_place: dict[Register, str] = {}
        self.lent_sizes: dict[str, list[str]] = {}
        self._module = module

    def address(self, base: str, offset: int) -> str:
        """`base` plus bytes."""
        if offset == 0:
            return base
        return self.writer.pure(f"getelementptr i8, ptr {base}, i64 {offset}")

    def load(self, kind: str, base: str, offset: int) -> str:
        """Load a word of an LLVM type."""
        result = self.writer.fresh()
        address = self.address(base, offset)
        self.writer.line(f"{result} = load {kind}, ptr {address}, align {_WORD_BYTES[kind]}")
        return result

    def load_value(self, kind: Kind, base: str, offset: int) -> str:
        """Load a value in its stored form."""
        result = self.writer.fresh()
        address = self.address(base, offset)
        self.writer.line(
            f"{result} = load {stored_type(kind)}, ptr {address}, align {field_bytes(kind)}"
        )
        if isinstance(kind, ScalarKind):
            return from_memory(Arithmetic(self.writer, kind.dtype, 0), result, kind.dtype)
        return result

    def store_value(self, kind: Kind, text: str, base: str, offset: int) -> None:
        """Store a value in its stored form."""
        if isinstance(kind, ScalarKind):
            text = to_memory(Arithmetic(self.writer, kind.dtype, 0), text, kind.dtype)
        address = self.address(base, offset)
        self.writer.line(
            f"store {stored_type(kind)} {text}, ptr {address}, align {field_bytes(kind)}"
        )

    def copy(self, target: str, source: str, size: int | str) -> None:
        """Copy `size` bytes."""
        self.writer.line(
            f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)"
        )

    def stack_slot(self, size: int) -> str:
        """Memory of this activation, 8-byte aligned."""
        name = self.writer.fresh("slot")
        self.stack_slots.append(f"  {name} = alloca [{size} x i8], align 8")
        return name

    def new_tensor(self, kind: TensorKind) -> str:
        """A tensor object of a shape that is known."""
        object_ = self.new_block(tensor_bytes(kind), TENSOR_LAYOUT)
        if self._module.program.is_open:
            self.store_shape(object_, [str(extent) for extent in kind.shape[:MAXIMUM_OPEN_RANK]])
        return object_

    def new_result(self, register: Register) -> str:
        """A tensor of known shape for a register: the caller's memory, or a new object."""
        assert isinstance(register.kind, TensorKind)  # kernels give numbers and tensors
        found = self.results_in_place.get(register)
        return self.new_tensor(register.kind) if found is None else found

    def reused(self, object_: str, kind: TensorKind) -> str:
        """A tensor that has no other reference once more; a new one of its kind where it has."""
        writer, result = self.writer, self.writer.fresh("o")
        count = self.load("i32", object_, 0)
        is_last = writer.pure(f"icmp eq i32 {count}, 1")
        sources = []
        for side in writer.sides(is_last, "reuse", "old", "new"):
            if side == "old":
                self.retain(object_)
            name = object_ if side == "old" else self.new_tensor(kind)
            sources.append(f"[ {name}, %{writer.block} ]")
        writer.line(f"{result} = phi ptr {', '.join(sources)}")
        return result

    def elements_of(self, register: Register) -> str:
        """The address of the elements of a tensor or, in memory of its own, of a number."""
        name = self.names[register]
        if not isinstance(register.kind, ScalarKind):
            return self.data(name)
        slot = self.stack_slot(field_bytes(register.kind))
        self.store_value(register.kind, name, slot, 0)
        return slot

    def new_open_tensor(self, shape: Sequence[str], dtype: str) -> str:
        """A tensor object of a shape that is given by values of type i64."""
        object_ = self.new_open_block(self.bytes_of([*shape, str(BYTES[dtype])]))
        self.store_shape(object_, shape)
        return object_

    def new_open_block(self, size: str) -> str:
        """A tensor object with room for elements of so many bytes."""
        writer, result = self.writer, self.writer.fresh("o")
        is_large = writer.pure(f"icmp ugt i64 {size}, {TOO_MANY_BYTES}")
        size = writer.pure(f"select i1 {is_large}, i64 {TOO_MANY_BYTES}, i64 {size}")
        writer.line(f"{result} = call ptr @allocate_open(ptr %session, i64 {size})")
        return result

    def product(self, factors: Sequence[str]) -> str:
        """The product of values of type i64."""
        total = factors[0]
        for factor in factors[1:]:
            total = self.writer.pure(f"mul i64 {total}, {factor}")
        return total

    def bytes_of(self, factors: Sequence[str]) -> str:
        """The same as a number of bytes, at most TOO_MANY_BYTES."""
        writer, total, bad = self.writer, factors[0], "false"
        for factor in factors[1:]:
            writer.declarations.add(_MULTIPLY)
            both = writer.pure(
                f"call {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64 {total}, i64 {factor})"
            )
            total = writer.pure(f"extractvalue {{ i64, i1 }} {both}, 0")
            over = writer.pure(f"extractvalue {{ i64, i1 }} {both}, 1")
            bad = over if bad == "false" else writer.pure(f"or i1 {bad}, {over}")
        large = writer.pure(f"icmp ugt i64 {total}, {TOO_MANY_BYTES}")
        bad = large if bad == "false" else writer.pure(f"or i1 {bad}, {large}")
        return writer.pure(f"select i1 {bad}, i64 {TOO_MANY_BYTES}, i64 {total}")

    def store_shape(self, object_: str, shape: Sequence[str]) -> None:
        """Write the sizes of a tensor into its object."""
        for axis, size in enumerate(shape):
            address = self.address(object_, TENSOR_SHAPE + 8 * axis)
            self.writer.line(f"store i64 {size}, ptr {address}, align 8")

    def shape(self, object_: str, kind: TensorKind) -> list[str]:
        """The sizes of a tensor: numbers, or what its object has."""
        return [
            str(dim) if isinstance(dim, int) else self.size(object_, axis)
            for axis, dim in enumerate(kind.type.shape)
        ]

    def size(self, object_: str, axis: int) -> str:
        """A size of a tensor, from its object if it is one."""
        if object_ in self.lent_sizes:
            return self.lent_sizes[object_][axis]
        return self.load("i64", object_, TENSOR_SHAPE + 8 * axis)

    def new_block(self, size: int, layout: int) -> str:
        """An object of so many bytes."""
        number = size_class(size)
        result = self.writer.fresh("o")
        self.writer.line(
            f"{result} = call ptr @allocate(ptr %session, i64 {number}, "
            f"i64 {class_bytes(number)}, i32 {number | layout << 16})"
        )
        return result

    def need_passed(self, count: int) -> None:
        """Note that so many values are passed through the session at a time."""
        self._module.passed = max(self._module.passed, count)

    def message_number(self, message: str) -> int:
        """The number of an error of the program."""
        return self._module.message_number(message)

    def require(self, fits: str, message: str, note: Callable[[], None] = lambda: None) -> None:
        """Fail with a message unless a condition holds; `note` writes what is done before."""
        writer = self.writer
        error = self._module.message_number(message)
        label = writer.label("fits")
        writer.line(f"br i1 {fits}, label %{label}, label %{label}.not")
        writer.start_block(f"{label}.not")
        note()
        writer.line(f"call void @fail(ptr %session, i64 {error})")
        writer.line("unreachable")
        writer.start_block(label)

    def data(self, object_: str) -> str:
        """The address of a tensor object's elements."""
        return self.address(object_, TENSOR_DATA)

    def layout_number(self, object_: Register) -> str:
        """The layout number in an object's header."""
        return self.load("i16", self.names[object_], 6)

    def before_data(self, elements: str) -> str:
        """What stands for the object of borrowed elements: `data` gives their address."""
        return self.address(elements, -TENSOR_DATA)

    def retain(self, object_: str) -> None:
        """One more reference."""
        self.writer.line(f"call void @retain(ptr {object_})")

    def release(self, object_: str) -> None:
        """One reference less."""
        self.writer.line(f"call void @release(ptr %session, ptr {object_})")

    def free_tensor(self, object_: str, size: int) -> None:
        """Free a block without fields whose only reference is here."""
        number = size_class(size)
        self.writer.line(f"call void @give_block(ptr %session, ptr {object_}, i64 {number})")

    def unpack(self, object_: str, layout: ObjectLayout, fields: dict[int, Register]) -> None:
        """Read fields and give up the reference to the object."""
        for index, register in fields.items():
            kind = layout.fields[index]
            self.names[register] = self.load_value(kind, object_, layout.offsets[index])
        if not layout.fields:
            self.release(object_)
            return
        writer = self.writer
        count = self.load("i32", object_, 0)
        is_last = writer.pure(f"icmp eq i32 {count}, 1")
        for side in writer.sides(is_last, "unpack", "last", "shared"):
            if side == "last":
                self._free_fields(object_, layout, fields)
                continue
            for index, register in fields.items():
                if is_counted(layout.fields[index]):
                    self.retain(self.names[register])
            writer.line(f"call i1 @lose(ptr {object_})")

    def _free_fields(self, object_: str, layout: ObjectLayout, but: Mapping[int, Register]) -> None:
        """Give up an object whose only reference is here, and those of its fields but some."""
        for index, kind in enumerate(layout.fields):
            if is_counted(kind) and index not in but:
                self.release(self.load_value(kind, object_, layout.offsets[index]))
        self.free_tensor(object_, layout.size)
