"""Typed values of a function under construction.

An operation checks the types of its operands where it is written, and that their values are known
on every way there. Python's integers stand for constants of the other operand's type.
"""

from __future__ import annotations

from typing import Protocol

from relay_tune.codegen.word_table import WORD, Word
from relay_tune.quick_dataclass import dataclass

TYPE_BYTES = {
    "i1": 1,
    "i8": 1,
    "i16": 2,
    "i32": 4,
    "i64": 8,
    "half": 2,
    "float": 4,
    "double": 8,
    "ptr": 8,
}
"""The bytes of values in memory, which are their alignment, too."""

_INTEGER_BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}


class Scope:
    """A part of a function; values that are made in it are known until it ends."""

    __slots__ = ("is_open",)

    def __init__(self) -> None:
        self.is_open = True


class Emitter(Protocol):
    """What writes the instructions of operands."""

    def emit(self, instruction: str, type_: str) -> Operand:
        """The value of an instruction."""

    def line(self, instruction: str) -> None:
        """Write an instruction without a value."""


class Operand:
    """A value of one LLVM type: a constant, a parameter or the result of an instruction."""

    __slots__ = ("emitter", "scope", "text", "type")

    def __init__(self, emitter: Emitter, text: str, type_: str, scope: Scope) -> None:
        self.emitter = emitter
        self.text = text
        self.type = type_
        self.scope = scope

    def __bool__(self) -> bool:
        """Refuse: whether the value is true is known when the code runs."""
        raise TypeError(f"{self} is a value of the generated code, not one of Python.")

    def __repr__(self) -> str:
        return f"{self.type} {self.text}"

    def __add__(self, other: Operand | int) -> Operand:
        return self._binary("add", other)

    def __sub__(self, other: Operand | int) -> Operand:
        return self._binary("sub", other)

    def __mul__(self, other: Operand | int) -> Operand:
        return self._binary("mul", other)

    def __and__(self, other: Operand | int) -> Operand:
        return self._binary("and", other)

    def __or__(self, other: Operand | int) -> Operand:
        return self._binary("or", other)

    def __xor__(self, other: Operand | int) -> Operand:
        return self._binary("xor", other)

    def __lshift__(self, other: Operand | int) -> Operand:
        return self._binary("shl", other)

    def __invert__(self) -> Operand:
        return self ^ True if self.type == "i1" else self ^ -1

    def __rsub__(self, other: int) -> Operand:
        return self.like(other) - self

    def __rlshift__(self, other: int) -> Operand:
        return self.like(other) << self

    def lshr(self, other: Operand | int) -> Operand:
        """The bits shifted down, zeros first."""
        return self._binary("lshr", other)

    def udiv(self, other: Operand | int) -> Operand:
        """The quotient of numbers without a sign."""
        return self._binary("udiv", other)

    def urem(self, other: Operand | int) -> Operand:
        """The remainder of numbers without a sign."""
        return self._binary("urem", other)

    def eq(self, other: Operand | int) -> Operand:
        """Whether both are equal."""
        return self._compare("eq", other)

    def ne(self, other: Operand | int) -> Operand:
        """Whether they differ."""
        return self._compare("ne", other)

    def ult(self, other: Operand | int) -> Operand:
        """Whether it is less, without signs."""
        return self._compare("ult", other)

    def ule(self, other: Operand | int) -> Operand:
        """Whether it is at most the other, without signs."""
        return self._compare("ule", other)

    def ugt(self, other: Operand | int) -> Operand:
        """Whether it is greater, without signs."""
        return self._compare("ugt", other)

    def uge(self, other: Operand | int) -> Operand:
        """Whether it is at least the other, without signs."""
        return self._compare("uge", other)

    def slt(self, other: Operand | int) -> Operand:
        """Whether it is less, with signs."""
        return self._compare("slt", other)

    def sgt(self, other: Operand | int) -> Operand:
        """Whether it is greater, with signs."""
        return self._compare("sgt", other)

    def sge(self, other: Operand | int) -> Operand:
        """Whether it is at least the other, with signs."""
        return self._compare("sge", other)

    def is_null(self) -> Operand:
        """Whether an address is none."""
        return self._pointer().emitter.emit(f"icmp eq ptr {self.read()}, null", "i1")

    def select(self, if_true: Operand, if_false: Operand | int) -> Operand:
        """`if_true` where this bit is set."""
        condition, one = self.of("i1"), if_true.read()
        other = if_true.like(if_false).read()
        type_ = if_true.type
        return self.emitter.emit(f"select i1 {condition}, {type_} {one}, {type_} {other}", type_)

    def zext(self, type_: str) -> Operand:
        """The same number in more bits, without a sign."""
        return self._resized("zext", type_, _bits(type_) - _bits(self.type))

    def sext(self, type_: str) -> Operand:
        """The same number in more bits, with its sign."""
        return self._resized("sext", type_, _bits(type_) - _bits(self.type))

    def trunc(self, type_: str) -> Operand:
        """The lowest bits."""
        return self._resized("trunc", type_, _bits(self.type) - _bits(type_))

    def to_int(self) -> Operand:
        """An address as a number."""
        return self._pointer().emitter.emit(f"ptrtoint ptr {self.read()} to i64", "i64")

    def to_ptr(self) -> Operand:
        """A number as an address."""
        return self.emitter.emit(f"inttoptr i64 {self.of('i64')} to ptr", "ptr")

    def part(self, number: int) -> Operand:
        """A member of a structure."""
        members = self.type.strip("{ }").split(", ")
        if not self.type.startswith("{") or number >= len(members):
            raise TypeError(f"{self} has no member {number}.")
        return self.emitter.emit(
            f"extractvalue {self.type} {self.read()}, {number}", members[number]
        )

    def offset(self, count: Operand | int, type_: str = "i8") -> Operand:
        """The address `count` elements of a type behind this one."""
        base = self._pointer().read()
        if isinstance(count, int):
            text = f"i64 {count}"
        elif _bits(count.type) < 32:
            raise TypeError(f"{count} is no offset.")
        else:
            text = f"{count.type} {count.read()}"
        return self.emitter.emit(f"getelementptr {type_}, ptr {base}, {text}", "ptr")

    def at(self, type_: str, bytes_: int = 0) -> Location:
        """The value of a type so many bytes behind this address."""
        return Location(self.offset(bytes_) if bytes_ else self._pointer(), type_)

    def item(self, type_: str, number: Operand | int) -> Location:
        """Element `number` of an array of a type that begins at this address."""
        return Location(self.offset(number, type_), type_)

    def word(self, word: Word) -> Location:
        """A word of the table at this address."""
        return self.at(word.llvm_type, WORD * word)

    def words(self, *words: Word) -> list[Operand]:
        """The values of words of the table at this address."""
        return [self.word(word).load() for word in words]

    def entry(self, kind: type[Word], number: Operand | int) -> Operand:
        """The address of entry `number` in an array of tables of one kind."""
        return self.offset(number, f"[{len(kind)} x i64]")

    def load(self, type_: str) -> Operand:
        """The value of a type at this address."""
        return self.at(type_).load()

    def store(self, value: Operand) -> None:
        """Write a value to this address."""
        self.at(value.type).store(value)

    def of(self, type_: str) -> str:
        """The text, which must be of a type; raises TypeError."""
        if self.type != type_:
            raise TypeError(f"{self} is not of type {type_}.")
        return self.read()

    def read(self) -> str:
        """The text where its value is known; raises ValueError elsewhere."""
        if not self.scope.is_open:
            raise ValueError(f"{self} is not known on every way to its use.")
        return self.text

    def like(self, value: Operand | int) -> Operand:
        """An operand of the same type as this one; raises TypeError for another type."""
        if isinstance(value, Operand):
            value.of(self.type)
            return value
        if self.type not in _INTEGER_BITS:
            raise TypeError(f"{value} is no value of type {self.type}.")
        text = str(bool(value)).lower() if self.type == "i1" else str(value)
        return Operand(self.emitter, text, self.type, self.scope)

    def _binary(self, instruction: str, other: Operand | int) -> Operand:
        _bits(self.type)
        return self.emitter.emit(
            f"{instruction} {self.type} {self.read()}, {self.like(other).text}", self.type
        )

    def _compare(self, predicate: str, other: Operand | int) -> Operand:
        return self.emitter.emit(
            f"icmp {predicate} {self.type} {self.read()}, {self.like(other).text}", "i1"
        )

    def _resized(self, instruction: str, type_: str, added: int) -> Operand:
        if added <= 0:
            raise TypeError(f"{instruction} of {self} gives no {type_}.")
        return self.emitter.emit(f"{instruction} {self.type} {self.read()} to {type_}", type_)

    def _pointer(self) -> Operand:
        self.of("ptr")
        return self


@dataclass(frozen=True, slots=True)
class Location:
    """A value of a type in memory.

    `order` is LLVM's memory order of an atomic access, empty for a plain one.
    """

    pointer: Operand
    type: str

    def load(self, order: str = "") -> Operand:
        """The value."""
        atomic, suffix = _atomic(order)
        text = f"load{atomic} {self.type}, ptr {self.pointer.read()}{suffix}, align {self._bytes}"
        return self.pointer.emitter.emit(text, self.type)

    def store(self, value: Operand | int, order: str = "") -> None:
        """Write a value."""
        atomic, suffix = _atomic(order)
        text = f"{self.type} {self._own(value)}, ptr {self.pointer.read()}{suffix}"
        self.pointer.emitter.line(f"store{atomic} {text}, align {self._bytes}")

    def clear(self) -> None:
        """Write zero, or no address."""
        zero = "null" if self.type == "ptr" else "0"
        self.pointer.emitter.line(
            f"store {self.type} {zero}, ptr {self.pointer.read()}, align {self._bytes}"
        )

    def update(self, operation: str, value: Operand | int, order: str = "acq_rel") -> Operand:
        """`atomicrmw`: combine with a value at once; gives the value before."""
        text = f"ptr {self.pointer.read()}, {self.type} {self._own(value)} {order}"
        return self.pointer.emitter.emit(f"atomicrmw {operation} {text}", self.type)

    def replace(self, expected: Operand | int, value: Operand | int) -> Operand:
        """`cmpxchg`: write a value if the expected one is there; gives whether it was."""
        both = f"{self.type} {self._own(expected)}, {self.type} {self._own(value)}"
        text = f"cmpxchg ptr {self.pointer.read()}, {both} acq_rel acquire"
        return self.pointer.emitter.emit(text, f"{{ {self.type}, i1 }}").part(1)

    @property
    def _bytes(self) -> int:
        return TYPE_BYTES[self.type]

    def _own(self, value: Operand | int) -> str:
        return value.of(self.type) if isinstance(value, Operand) else str(value)


def _atomic(order: str) -> tuple[str, str]:
    return (" atomic", f" {order}") if order else ("", "")


def _bits(type_: str) -> int:
    bits = _INTEGER_BITS.get(type_)
    if bits is None:
        raise TypeError(f"{type_} is no type of whole numbers.")
    return bits
