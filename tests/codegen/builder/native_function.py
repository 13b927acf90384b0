"""Runs functions that tests write with the builder."""

import ctypes
from collections.abc import Callable

import llvmlite.binding as llvm

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import function
from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import native_target

TRIPLE = native_target().triple


def native(write: Callable[[FunctionBuilder], None], parameters: int) -> Callable[..., int]:
    """The function of integers that `write` writes; LLVM has found nothing wrong with it."""
    module = NativeModule()
    with module.define(function("i64", "tested", *["i64"] * parameters)) as code:
        write(code)
    return load(module)


def load(module: NativeModule) -> Callable[..., int]:
    """The function `tested` of a module."""
    text = module.text(TRIPLE)
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as parsed:
        parsed.verify()
    code = LoadedCode([compile_text(text, native_target())], ["tested"])
    called = ctypes.CFUNCTYPE(ctypes.c_int64)(code.address("tested"))

    def run(*arguments: int, code: LoadedCode = code) -> int:
        """A call; `code` lives as long as this function."""
        return int(called(*map(ctypes.c_int64, arguments)))

    return run
