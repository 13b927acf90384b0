"""The C functions of a library that holds a program; see `library_header`."""

from __future__ import annotations

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import function
from relay_tune.codegen.constant_tables import add_pointer_table, string_constant
from relay_tune.codegen.native_runtime.workers import SHUTDOWN
from relay_tune.codegen.processor_features import IS_ABLE, add_is_able
from relay_tune.codegen.programs.c_interface import CConstructor, c_constructors
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.counts import layout_number
from relay_tune.codegen.programs.kept_sessions import CLOSE_KEPT, FAILED
from relay_tune.codegen.programs.plain_functions import add_plain_functions
from relay_tune.codegen.programs.plain_interface import plain_interface
from relay_tune.codegen.programs.program_text import ENTRY_SYMBOL
from relay_tune.codegen.programs.session import MESSAGES
from relay_tune.codegen.programs.session_functions import NEW_OBJECT, NEW_TENSOR, OPEN_SESSION
from relay_tune.codegen.programs.values import stored_type
from relay_tune.codegen.programs.weight_pages import (
    LARGE_WEIGHTS,
    add_large_weights,
    weight_stretches,
)
from relay_tune.program.layouts import TENSOR_DATA, TENSOR_SHAPE, class_bytes, size_class

_SESSION_WORDS = (
    "close",
    "reset",
    "retain",
    "release",
    "hand_over",
    "tensor",
)

_VALUE_WORDS = ("build", "read", "gather")


def program_library_text(program: CompiledFunctions, name: str) -> str:
    """The LLVM module of the functions of the library `name`."""
    triple, plain = program.target.triple, plain_interface(program.program)
    module = NativeModule()
    add_is_able(module, triple, program.features)
    add_large_weights(module, triple, weight_stretches(program))
    _add_sessions(module, name)
    messages = [string_constant(text) for text in error_messages(program)]
    add_pointer_table(module, f"{name}_message", messages)
    if program.program.is_open:
        _add_open_tensors(module, name)
    for made in c_constructors(program.program):
        _add_constructor(module, made, name)
    if plain is None:
        _add_only_sessions(module, name)
    else:
        add_plain_functions(module, program, plain, name)
    return module.text(triple)


def error_messages(program: CompiledFunctions) -> tuple[str, ...]:
    """What all errors of a library mean, in the order of their numbers."""
    plain = plain_interface(program.program)
    return (*MESSAGES, *program.messages, *(() if plain is None else plain.messages))


def session_aliases(name: str, has_values: bool) -> dict[str, str]:
    """The functions of sessions of the library `name` that are functions of its program.

    With `has_values`, those that make and read values are among them.
    """
    words = (*_SESSION_WORDS, *(_VALUE_WORDS if has_values else ()))
    aliases = {f"{name}_{word}": f"relay_tune_{word}" for word in words}
    return {**aliases, f"{name}_main": ENTRY_SYMBOL}


def _add_only_sessions(module: NativeModule, name: str) -> None:
    """What a library without the plain interface has in its place."""
    with module.define(CLOSE_KEPT):
        pass
    for word, offset in FAILED.items():
        with module.define(function("i64", f"{name}_failed_{word}", "ptr")) as code:
            code.ret(code.parameters[0].at("i64", offset).load())


def _add_constructor(module: NativeModule, made: CConstructor, name: str) -> None:
    layout = made.layout
    fields = list(zip(map(stored_type, layout.fields), layout.offsets, strict=True))
    types = [type_ for type_, _ in fields]
    number = size_class(layout.size)
    with module.define(function("ptr", f"{name}_{made.name}", "ptr", *types)) as code:
        session, *values = code.parameters
        info = number | layout.number << 16
        object_ = code.call(NEW_OBJECT, session, number, class_bytes(number), info)
        with code.when(~object_.is_null()):
            for (type_, offset), value in zip(fields, values, strict=True):
                object_.at(type_, offset).store(value)
        code.ret(object_)
    for n, (type_, offset) in enumerate(fields):
        with module.define(function(type_, f"{name}_{made.name}_{n}", "ptr")) as code:
            code.ret(code.parameters[0].at(type_, offset).load())


def _add_sessions(module: NativeModule, name: str) -> None:
    with module.define(function("ptr", f"{name}_open", "i64")) as code:
        code.ret_if(~code.call(IS_ABLE), code.null)
        code.call(LARGE_WEIGHTS)
        code.ret(code.call(OPEN_SESSION, code.parameters[0]))
    with module.define(function("i32", f"{name}_supported")) as code:
        code.ret(code.call(IS_ABLE).zext("i32"))
    with module.define(function("void", f"{name}_destroy")) as code:
        code.call(CLOSE_KEPT)
        code.call(SHUTDOWN)
    with module.define(function("i32", f"{name}_tag", "ptr")) as code:
        code.ret(layout_number(code.parameters[0]).trunc("i32"))
    with module.define(function("ptr", f"{name}_elements", "ptr")) as code:
        code.ret(code.parameters[0].offset(TENSOR_DATA))


def _add_open_tensors(module: NativeModule, name: str) -> None:
    with module.define(function("ptr", f"{name}_sizes", "ptr")) as code:
        code.ret(code.parameters[0].offset(TENSOR_SHAPE))
    sized = function("ptr", f"{name}_sized_tensor", "ptr", "ptr", "i64", "i64", "ptr")
    with module.define(sized) as code:
        session, elements, bytes_, rank, sizes = code.parameters
        tensor = code.call(NEW_TENSOR, session, elements, bytes_)
        with code.when(~tensor.is_null()):
            code.copy(tensor.offset(TENSOR_SHAPE), sizes, rank << 3)
        code.ret(tensor)
