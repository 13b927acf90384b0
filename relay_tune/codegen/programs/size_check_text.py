"""The check of the sizes that a caller in C gives with the inputs, as LLVM IR.

i32 check_sizes(ptr shapes)     0 where all fit, else the error of the first input that does not
"""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.programs.plain_interface import PlainInterface, PlainTensor
from relay_tune.codegen.size_writer import SizeWriter
from relay_tune.ir.dim import Dim, Polynomial, Symbol
from relay_tune.ir.dim_arithmetic import symbol_names
from relay_tune.tensor.size import size_value, symbolic_size


def size_check_text(plain: PlainInterface, first: int) -> str:
    """The function; `first` is the error of the first input."""
    writer = _SizeChecks(first)
    for number, each in enumerate(plain.inputs):
        writer.write_known(number, each)
    for number, each in enumerate(plain.inputs):
        writer.write_computed(number, each)
    return writer.text()


class _SizeChecks:
    """Writes comparisons of the sizes of inputs with their types.

    A symbol is the size where it stands first. Arithmetic of symbols comes when all are known.
    """

    def __init__(self, first: int) -> None:
        """`first` is the error of the first input."""
        self._first = first
        self._writer = FunctionWriter()
        self._sizes: dict[tuple[int, int], str] = {}
        self._symbols: dict[str, str] = {}

    def write_known(self, number: int, tensor: PlainTensor) -> None:
        """Compare the sizes of an input with numbers and symbols."""
        writer = self._writer
        if not tensor.shape:
            return
        shape = _loaded(writer, number)
        for axis, dim in enumerate(tensor.type.shape):
            address = writer.pure(f"getelementptr i64, ptr {shape}, i64 {axis}")
            size = writer.pure(f"load i64, ptr {address}, align 8")
            self._sizes[number, axis] = size
            if isinstance(dim, int):
                self._require(f"icmp eq i64 {size}, {dim}", number)
                continue
            self._require(f"icmp sge i64 {size}, 0", number)
            if isinstance(dim, Symbol):
                known = self._symbols.setdefault(dim.name, size)
                if known != size:
                    self._require(f"icmp eq i64 {size}, {known}", number)

    def write_computed(self, number: int, tensor: PlainTensor) -> None:
        """Compare the sizes of an input with arithmetic of symbols."""
        for axis, dim in enumerate(tensor.type.shape):
            if isinstance(dim, Polynomial) and symbol_names(dim) <= self._symbols.keys():
                wanted = _computed(dim, self._symbols, self._writer)
                self._require(f"icmp eq i64 {self._sizes[number, axis]}, {wanted}", number)

    def text(self) -> str:
        """The whole function."""
        head = "define internal i32 @check_sizes(ptr %shapes) nounwind {\nentry:\n"
        return f"{head}{self._writer.text()}\n  ret i32 0\n}}"

    def _require(self, condition: str, number: int) -> None:
        writer = self._writer
        fits, label = writer.pure(condition), writer.fresh("fits").removeprefix("%")
        writer.line(f"br i1 {fits}, label %{label}, label %{label}.not")
        writer.start_block(f"{label}.not")
        writer.line(f"ret i32 {self._first + number}")
        writer.start_block(label)


def _computed(dim: Dim, symbols: Mapping[str, str], writer: FunctionWriter) -> str:
    """A size as an operand."""
    sizes = {name: symbolic_size(Symbol(name), 1) for name in symbols}
    return SizeWriter(symbols, writer.pure).text(size_value(dim, sizes))


def _loaded(writer: FunctionWriter, number: int) -> str:
    """Where the sizes of an input are."""
    place = writer.pure(f"getelementptr ptr, ptr %shapes, i64 {number}")
    return writer.pure(f"load ptr, ptr {place}, align 8")
