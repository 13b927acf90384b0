"""One function under construction: parameters, calls, memory, and its end."""

from __future__ import annotations

from relay_tune.codegen.builder.control_flow import ControlFlow
from relay_tune.codegen.builder.operand import Location, Operand
from relay_tune.codegen.builder.signature import Callee, Signature, Variable, function

_COPY = function("void", "llvm.memcpy.p0.p0.i64", "ptr", "ptr", "i64", "i1", attributes="")
_FILL = function("void", "llvm.memset.p0.i64", "ptr", "i8", "i64", "i1", attributes="")


class FunctionBuilder(ControlFlow):
    """Writes a function; its methods give values or write instructions.

    Attributes:
        parameters: the values that it is called with.
        null: no address.
        called: the functions that it calls or refers to.
    """

    def __init__(self, callee: Callee) -> None:
        super().__init__()
        self._callee = callee
        self.called: dict[str, Callee] = {}
        self.parameters = [
            Operand(self, f"%a{n}", type_, self.scope)
            for n, type_ in enumerate(callee.signature.parameters)
        ]
        self.null = Operand(self, "null", "ptr", self.scope)

    def symbol(self, name: str) -> Operand:
        """The address of a variable of the module or of another one."""
        return Operand(self, f"@{name}", "ptr", self.scope)

    def at(self, variable: Variable) -> Location:
        """The value of a variable of the module."""
        return Location(self.symbol(variable.name), variable.type)

    def address(self, callee: Callee) -> Operand:
        """The address of a function."""
        self.called[callee.name] = callee
        return self.symbol(callee.name)

    def call(self, callee: Callee, *arguments: Operand | int, is_tail: bool = False) -> Operand:
        """The result of a call of a function; what follows one that does not return has no way.

        With `is_tail`, no argument is memory of this function's frame.
        """
        address = self.address(callee)
        result = self.call_through(address, callee.signature, *arguments, is_tail=is_tail)
        if not callee.returns:
            self.end_block("unreachable")
        return result

    def call_through(
        self,
        pointer: Operand,
        signature: Signature,
        *arguments: Operand | int,
        is_tail: bool = False,
    ) -> Operand:
        """The result of a call of a function at an address."""
        types, result = signature.parameters, signature.result
        if len(arguments) != len(types):
            raise TypeError(f"{pointer} takes {len(types)} arguments, not {len(arguments)}.")
        pairs = zip(types, arguments, strict=True)
        texts = ", ".join(f"{type_} {self._argument(type_, given)}" for type_, given in pairs)
        text = f"{'tail ' * is_tail}call {result} {pointer.of('ptr')}({texts})"
        if result != "void":
            return self.emit(text, result)
        self.line(text)
        return Operand(self, "", result, self.scope)

    def stack_slot(self, bytes_: int, alignment: int = 8) -> Operand:
        """The address of memory that the function has while it runs."""
        name = self.writer.fresh()
        slot = f"  {name} = alloca [{bytes_} x i8], align {alignment}"
        self.writer.levels[0].hoisted.append(slot)
        return Operand(self, name, "ptr", self.scope)

    def copy(self, target: Operand, source: Operand, bytes_: Operand | int) -> None:
        """Copy bytes between memory that does not overlap."""
        self.call(_COPY, target, source, bytes_, False)

    def fill(self, target: Operand, byte: int, bytes_: Operand | int) -> None:
        """Set bytes."""
        self.call(_FILL, target, byte, bytes_, False)

    def pack(self, *members: Operand) -> Operand:
        """A structure of values."""
        type_ = f"{{ {', '.join(member.type for member in members)} }}"
        whole = Operand(self, "poison", type_, self.scope)
        for number, member in enumerate(members):
            text = f"insertvalue {type_} {whole.read()}, {member.type} {member.read()}, {number}"
            whole = self.emit(text, type_)
        return whole

    def ret(self, value: Operand | int | None = None) -> None:
        """Return a value of the function's type, or nothing."""
        type_ = self._callee.signature.result
        if value is None and type_ != "void":
            raise TypeError(f"{self._callee.name} returns a value of type {type_}.")
        text = "" if value is None else " " + self._argument(type_, value)
        self.end_block(f"ret {type_}{text}")

    def ret_if(self, condition: Operand, value: Operand | int | None = None) -> None:
        """Return where a condition holds."""
        with self.when(condition):
            self.ret(value)

    def text(self) -> str:
        """The whole definition; raises TypeError if a way leads to its end without a result."""
        if self.is_open:
            self.ret()
        callee, own = self._callee, self._callee.signature
        linkage = "internal " if callee.is_internal else ""
        listed = ", ".join(f"{each.type} {each.text}" for each in self.parameters)
        head = f"define {linkage}{own.result} @{callee.name}({listed}) {callee.attributes} {{"
        return f"{head}\nentry:\n{self.writer.text()}\n}}"

    def _argument(self, type_: str, given: Operand | int) -> str:
        return given.of(type_) if isinstance(given, Operand) else self.number(given, type_).text
