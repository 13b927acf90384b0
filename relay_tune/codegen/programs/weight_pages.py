"""Weights of a library in large pages, from the first session on.

    void large_weights()

The system's loader maps weights from the file in pages of 4 KB. A step of a decoder reads each
weight once, and waits for the translation of addresses then: one for each 4 KB, where a large page
needs one for 2 MB. So what kernels read in whole is copied, a large page at a time, and the copy is
moved to where the page of the file was (mremap): addresses stay, other threads may read all the
while, and as much memory of the file is let go as the copy takes.

    file      | 4 KB | 4 KB | .. 512 of them .. | 4 KB |          copy     | one large page |
                  < - - - - - - - - - - - - - - - - - - - - - - - - - - - - -   mremap

It is a matter of speed alone: where the system refuses a call, or has no large page (mincore tells:
it has one if all of it is there after one byte was written), the rest stays as it is. A second
thread, and a forked child, find weights that are right at any moment, and do not wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import Variable, function, internal
from relay_tune.codegen.constant_tables import integers_constant
from relay_tune.codegen.constants import CONSTANTS_SYMBOL
from relay_tune.codegen.kernel_calls import Stretch, single_calls
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.memory_regions import ADVISE, HUGE_PAGES, LARGE_PAGE
from relay_tune.codegen.programs.stack_switch import MMAP, MUNMAP

LEAST_WEIGHTS = 16 << 20
"""Bytes of weights: fewer may stay in a last cache."""

LARGE_WEIGHTS = internal("void", "large_weights")

_MOVE_PAGE = internal("i1", "move_page", "ptr", "ptr")
_IS_LARGE = internal("i1", "is_large_page", "ptr")

_MOVED = Variable("weights_moved", "i32")
_TABLE = "weight_stretches"

_MREMAP = function("ptr", "mremap", "ptr", "i64", "i64", "i32", "ptr")
_MPROTECT = function("i32", "mprotect", "ptr", "i64", "i32")
_MINCORE = function("i32", "mincore", "ptr", "i64", "ptr")
_ABORT = function("void", "abort", attributes="noreturn nounwind")

_READ, _READ_WRITE = 1, 3
_PRIVATE = 0x02 | 0x20 | 0x4000  # MAP_PRIVATE, ANONYMOUS, NORESERVE
_FIXED = 0x10
_MAY_MOVE_FIXED = 1 | 2

SMALL_PAGES = LARGE_PAGE >> 12
"""Pages of 4 KB in a large one. Systems with other pages say nothing of the last of them."""


def weight_stretches(program: CompiledFunctions) -> tuple[Stretch, ...]:
    """Where weights lie that a program reads in whole; empty if they are too few to be copied.

    What lies between two of them is as good as read if it is less than a large page.
    """
    read = {
        stretch
        for region in program.regions
        for call in single_calls(region.calls)
        for stretch in call.weights
    }
    if sum(end - begin for begin, end in read) < LEAST_WEIGHTS:
        return ()
    return tuple(_joined(sorted(read)))


def add_large_weights(module: NativeModule, triple: str, stretches: Sequence[Stretch]) -> None:
    """The function, which does nothing without stretches, or for another system than Linux."""
    if not stretches or "linux" not in triple:
        with module.define(LARGE_WEIGHTS):
            pass
        return
    numbers = [number for stretch in stretches for number in stretch]
    module.external(CONSTANTS_SYMBOL, "i8", "constant")
    module.add(f"@{_TABLE} = internal constant {integers_constant(numbers)}, align 8")
    module.variables(_MOVED)
    _add_is_large(module)
    _add_move_page(module)
    with module.define(LARGE_WEIGHTS) as code:
        code.ret_if(code.at(_MOVED).update("xchg", 1).ne(0))
        room = 2 * LARGE_PAGE + sum(end - begin for begin, end in stretches)
        mapped = code.call(MMAP, code.null, room, _READ_WRITE, _PRIVATE, -1, 0)
        code.ret_if(mapped.to_int().eq(-1))
        first = _round_up(mapped.to_int() + 1).to_ptr()
        code.call(ADVISE, mapped, room, HUGE_PAGES)
        left = _move_stretches(code, first, len(stretches)).to_int()
        # What was moved is not ours any more: others may have memory there by now.
        code.call(MUNMAP, mapped, first.to_int() - mapped.to_int())
        code.call(MUNMAP, left.to_ptr(), mapped.to_int() + room - left)


def _joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Stretches in order, those that lie near each other as one."""
    found: list[Stretch] = []
    for begin, end in stretches:
        if found and begin - found[-1][1] < LARGE_PAGE:
            begin, end = found[-1][0], max(end, found.pop()[1])
        found.append((begin, end))
    return found


def _move_stretches(code: FunctionBuilder, first: Operand, count: int) -> Operand:
    """Copy large pages to room, and have each take the place of what it is a copy of.

    The result is where the room begins that is left.
    """
    weights, table = code.symbol(CONSTANTS_SYMBOL).to_int(), code.symbol(_TABLE)
    room = code.local(first)
    with code.block() as whole, code.count(count) as each:
        begin, end = (table.item("i64", (each.index << 1) + offset).load() for offset in range(2))
        page, last = code.local(_round_up(weights + begin)), weights + end
        with code.loop() as pages:
            following = page.value + LARGE_PAGE
            pages.leave_if(following.ugt(last))
            whole.leave_if(~code.call(_MOVE_PAGE, room.value, page.value.to_ptr()))
            room.set(room.value.offset(LARGE_PAGE))
            page.set(following)
    return room.value


def _add_move_page(module: NativeModule) -> None:
    """Whether room became a copy of a page, and took its place."""
    with module.define(_MOVE_PAGE) as code:
        room, page = code.parameters
        code.ret_if(~code.call(_IS_LARGE, room), False)
        code.copy(room, page, LARGE_PAGE)
        code.ret_if(code.call(_MPROTECT, room, LARGE_PAGE, _READ).ne(0), False)
        moved = code.call(_MREMAP, room, LARGE_PAGE, LARGE_PAGE, _MAY_MOVE_FIXED, page)
        code.ret_if(moved.to_int().ne(-1), True)
        _restore(code, room, page)
        code.ret(False)


def _restore(code: FunctionBuilder, room: Operand, page: Operand) -> None:
    """A call that fails may have taken the file's page away before: memory is put there anew."""
    flags = _PRIVATE | _FIXED
    mapped = code.call(MMAP, page, LARGE_PAGE, _READ_WRITE, flags, -1, 0)
    with code.when(mapped.to_int().eq(-1)):
        code.call(_ABORT)
    code.copy(page, room, LARGE_PAGE)
    code.call(_MPROTECT, page, LARGE_PAGE, _READ)


def _add_is_large(module: NativeModule) -> None:
    """Whether one byte that is written brings a whole large page."""
    with module.define(_IS_LARGE) as code:
        (room,) = code.parameters
        present = code.stack_slot(SMALL_PAGES)
        code.fill(present, 0, SMALL_PAGES)
        room.at("i8").store(0, "monotonic")
        code.ret_if(code.call(_MINCORE, room, LARGE_PAGE, present).ne(0), False)
        code.ret((present.at("i8", SMALL_PAGES - 1).load() & 1).ne(0))


def _round_up(address: Operand) -> Operand:
    return (address + (LARGE_PAGE - 1)) & -LARGE_PAGE
