"""The check of the sizes that a caller in C gives with the inputs.

i32 sizes_check(ptr shapes)     0 where all fit, else the error of the first input that does not
"""

from __future__ import annotations

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import internal
from relay_tune.codegen.programs.plain_interface import PlainInterface
from relay_tune.codegen.size_writer import SizeWriter
from relay_tune.ir.dim import Polynomial, Symbol
from relay_tune.ir.dim_arithmetic import symbol_names

CHECK_SIZES = internal("i32", "sizes_check", "ptr")


def add_size_checks(module: NativeModule, plain: PlainInterface, first: int) -> None:
    """The function; `first` is the error of the first input.

    A symbol is the size where it stands first. Arithmetic of symbols comes when all are known.
    """
    with module.define(CHECK_SIZES) as code:
        symbols: dict[str, Operand] = {}
        computed: list[tuple[int, Polynomial, Operand]] = []
        for number, tensor in enumerate(plain.inputs):
            if not tensor.shape:
                continue
            shape = code.parameters[0].item("ptr", number).load()
            for axis, dim in enumerate(tensor.type.shape):
                size = shape.item("i64", axis).load()
                if isinstance(dim, int):
                    code.ret_if(size.ne(dim), first + number)
                    continue
                code.ret_if(size.slt(0), first + number)
                if isinstance(dim, Symbol):
                    known = symbols.setdefault(dim.name, size)
                    if known is not size:
                        code.ret_if(size.ne(known), first + number)
                elif isinstance(dim, Polynomial):
                    computed.append((number, dim, size))
        for number, polynomial, size in computed:
            if symbol_names(polynomial) <= symbols.keys():
                names = {name: known.read() for name, known in symbols.items()}
                sizes = SizeWriter(names, lambda text: code.emit(text, "i64").text)
                wanted = Operand(code, sizes.dim(polynomial), "i64", code.scope)
                code.ret_if(size.ne(wanted), first + number)
        code.ret(0)
