"""The memory of a session's heap: regions of the system's allocator.

`relay_tune_new_region(session, class, bytes)` gives a block of so many bytes. Small ones share a
region: the others of it are put into the free list of their class.

A large region begins on the boundary of a large page, and the system is asked for such pages: 4 MB
of small ones are a thousand addresses to translate, and lie in the second cache's sets by chance.

A region begins with the next region and the address of the pointer to this one, so that a region
can leave the list alone. `relay_tune_hand_over(object)` takes a tensor whose only reference is the
caller's, and whose block is a region, out of the session: the result is the memory, which the
caller frees with the system's `free`. The object stays readable until then, and is not counted any
more. The result is null, and nothing has changed, for any other object.
"""

from __future__ import annotations

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import function, internal
from relay_tune.codegen.programs.counts import class_number
from relay_tune.codegen.programs.heap import NEW_REGION, free_list
from relay_tune.codegen.programs.session import REGIONS
from relay_tune.codegen.programs.session_functions import HAND_OVER
from relay_tune.program.layouts import LINK, size_class

REGION_BYTES = 1 << 16
REGION_HEAD_BYTES = 64
LARGEST_CARVED = 1 << 13
"""Blocks up to this size share a region."""

LARGEST_COPIED = 1 << 14
"""Blocks up to this size are not handed over: to copy a few elements is quicker."""

LARGE_PAGE = 1 << 21
"""Bytes of the pages that x86-64, and AArch64 with small pages of 4 KB, translate at once."""

SMALLEST_LARGE = 2 * LARGE_PAGE
"""Regions of so many bytes lie in large pages: they round up to little more memory."""

ADVISE = function("i32", "madvise", "ptr", "i64", "i32")
HUGE_PAGES = 14
"""Linux's MADV_HUGEPAGE. A system without such pages answers with an error, and nothing changes."""

ALIGNED_MEMORY = function("i32", "posix_memalign", "ptr", "i64", "i64")

_JOIN_REGIONS = internal("void", "join_regions", "ptr", "ptr")


def add_regions(module: NativeModule, triple: str) -> None:
    """The functions that take regions from the system of a target, and give one away."""
    _add_new_region(module, asks_for_pages="linux" in triple)
    with module.define(_JOIN_REGIONS) as code:
        pointer, region = code.parameters
        pointer.store(region)
        with code.when(~region.is_null()):
            region.at("ptr", 8).store(pointer)
    with module.define(HAND_OVER) as code:
        (object_,) = code.parameters
        count = object_.at("i32")
        is_large = class_number(object_).ugt(size_class(LARGEST_COPIED))
        code.ret_if(~(count.load().eq(1) & is_large), code.null)
        region = object_.offset(-REGION_HEAD_BYTES)
        code.call(_JOIN_REGIONS, region.at("ptr", 8).load(), region.load("ptr"))
        count.store(-1)
        code.ret(region)


def _add_new_region(module: NativeModule, asks_for_pages: bool) -> None:
    with module.define(NEW_REGION) as code:
        session, class_, bytes_ = code.parameters
        room = code.stack_slot(8)
        size = bytes_.ule(LARGEST_CARVED).select(code.number(REGION_BYTES), bytes_)
        is_large = size.uge(SMALLEST_LARGE) if asks_for_pages else code.number(0, "i1")
        boundary = is_large.select(code.number(LARGE_PAGE), 64)
        failed = code.call(ALIGNED_MEMORY, room, boundary, size + REGION_HEAD_BYTES)
        code.ret_if(failed.ne(0), code.null)
        region, regions = room.load("ptr"), session.offset(REGIONS)
        if asks_for_pages:
            with code.when(is_large):
                code.call(ADVISE, region, size + REGION_HEAD_BYTES, HUGE_PAGES)
        others = regions.load("ptr")
        code.call(_JOIN_REGIONS, regions, region)
        code.call(_JOIN_REGIONS, region, others)
        first, unused = region.offset(REGION_HEAD_BYTES), free_list(session, class_)
        begin = code.local(bytes_)
        with code.loop() as carving:
            end = begin.value + bytes_
            carving.leave_if(end.ugt(size))
            block = first.offset(begin.value)
            block.at("ptr", LINK).store(unused.load())
            unused.store(block)
            begin.set(end)
        code.ret(first)
