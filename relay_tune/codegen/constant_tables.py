"""Tables of constants, and C functions that look into them."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import function


def add_pointer_table(module: NativeModule, name: str, contents: Sequence[str]) -> None:
    """The function `ptr NAME(i32)`: the address of constant number i, or null."""
    for number, content in enumerate(contents):
        module.add(f"@{name}.{number} = internal constant {content}, align 8")
    pointers = ", ".join(f"ptr @{name}.{number}" for number in range(len(contents)))
    _add_table(module, name, "ptr", pointers, len(contents))


def add_number_table(module: NativeModule, name: str, kind: str, numbers: Sequence[int]) -> None:
    """The function `kind NAME(i32)`: number i, or -1."""
    listed = ", ".join(f"{kind} {number}" for number in numbers)
    _add_table(module, name, kind, listed, len(numbers))


def _add_table(module: NativeModule, name: str, kind: str, listed: str, count: int) -> None:
    table = f"{name}.table"
    module.add(f"@{table} = internal constant [{count} x {kind}] [{listed}], align 8")
    with module.define(function(kind, name, "i32")) as code:
        index = code.parameters[0]
        code.ret_if(index.uge(count), code.null if kind == "ptr" else -1)
        code.ret(code.symbol(table).item(kind, index.zext("i64")).load())


def integers_constant(numbers: Sequence[int]) -> str:
    """An array of 64-bit numbers as an LLVM constant with its type."""
    listed = ", ".join(f"i64 {number}" for number in numbers)
    return f"[{len(numbers)} x i64] [{listed}]"


def string_constant(text: str) -> str:
    """A C string as an LLVM constant with its type."""
    data = text.encode() + b"\0"
    escaped = "".join(chr(b) if chr(b).isalnum() and b < 128 else f"\\{b:02X}" for b in data)
    return f'[{len(data)} x i8] c"{escaped}"'
