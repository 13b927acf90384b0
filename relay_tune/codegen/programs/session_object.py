"""What the machine code of all programs has in common: compiled once in a process.

The functions of sessions, and those that free, make and read objects that are no tensors. What
depends on the program they find under names that the program's own code defines: the size of a
session, the tables of its layouts, its stack and the kernels that wait; where there is nothing to
know about the last three, as in networks, that is compiled once, too. Functions of the heap that
become parts of others are in all.
"""

from __future__ import annotations

from functools import cache

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.compiler import compile_inlined, compile_optimized
from relay_tune.codegen.programs.build_values import add_build
from relay_tune.codegen.programs.counts import add_counts, add_drop, add_drop_tensor
from relay_tune.codegen.programs.heap import add_heap
from relay_tune.codegen.programs.memory_regions import add_regions
from relay_tune.codegen.programs.queue_functions import add_nothing_to_forget
from relay_tune.codegen.programs.read_values import add_read
from relay_tune.codegen.programs.session_functions import add_session_functions
from relay_tune.codegen.programs.stack_switch import add_callers_stack
from relay_tune.codegen.programs.tensor_room import add_tensor_room
from relay_tune.codegen.target import Target


@cache
def heap_part() -> NativeModule:
    """The heap's functions that become parts of others: they take blocks and count references."""
    module = NativeModule()
    add_heap(module)
    add_counts(module)
    add_tensor_room(module)
    return module


@cache
def session_object(target: Target) -> bytes:
    """The object file of what all programs have."""
    module = NativeModule()
    module.include(heap_part())
    add_session_functions(module)
    add_regions(module, target.triple)
    return compile_inlined(module.text(target.triple), target, ())


@cache
def object_functions(target: Target) -> bytes:
    """The object file of what programs have whose objects are not all tensors."""
    module = NativeModule()
    module.include(heap_part())
    add_drop(module)
    add_build(module)
    add_read(module)
    return compile_optimized(module.text(target.triple), target)


@cache
def plain_functions(target: Target) -> bytes:
    """The object file of what programs have that are plain.

    Their stack is the caller's, their objects are tensors, and no kernel waits.
    """
    module = NativeModule()
    module.include(heap_part())
    add_drop_tensor(module)
    add_callers_stack(module)
    add_nothing_to_forget(module)
    return compile_inlined(module.text(target.triple), target, ())
