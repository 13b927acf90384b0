"""Links code in a process that has one free page beside its libraries; the next are 8 GB away.

Run as a program, it prints what the code computed. A linker that asks for memory section by section
puts the code into this page, and the constants that it reads out of its reach.
"""

import ctypes
import mmap
from pathlib import Path

import numpy as np

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import native_target

ADD_CONSTANTS = """\
define void @add_constants(ptr %p) {
  %v = load <4 x float>, ptr %p, align 4
  %w = fadd <4 x float> %v, <float 1.5, float 2.5, float 3.5, float 4.5>
  store <4 x float> %w, ptr %p, align 4
  ret void
}
"""

MAP_NORESERVE, MAP_FIXED_NOREPLACE = 0x4000, 0x100000
FAR = 8 << 30

SYSTEM = ctypes.CDLL(None)
SYSTEM.mmap.restype = ctypes.c_void_p
SYSTEM.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
SYSTEM.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def main() -> None:
    """Crowd the memory, link, run."""
    image = compile_text(ADD_CONSTANTS, native_target())
    leave_one_page()
    code = LoadedCode([image], ["add_constants"])
    values = np.zeros(4, np.float32)
    code.function("add_constants", ctypes.c_void_p)(values.ctypes.data)
    print(*values)


def leave_one_page() -> None:
    """Reserve all gaps between the libraries, and the space below them up to one page."""
    lowest = reserve_below()
    areas = [area for area in library_areas() if area[0] >= lowest]
    for (_, begin), (end, _) in zip(areas, areas[1:], strict=False):
        if begin < end:
            reserve(begin, end)
    SYSTEM.munmap(lowest - mmap.PAGESIZE, mmap.PAGESIZE)


def reserve_below(attempts: int = 5) -> int:
    """Reserve the space below the libraries, and return where they begin.

    Python itself may take a part of it in the meantime: then they begin lower.
    """
    for left in reversed(range(attempts)):
        lowest = library_areas()[0][0]
        try:
            reserve(lowest - FAR, lowest)
        except MemoryError:
            if not left:
                raise
            continue
        break
    return lowest


def library_areas() -> list[tuple[int, int]]:
    """Begin and end of what is mapped between the widest gap, which is below it, and the stack."""
    areas = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end = (int(part, 16) for part in line.split()[0].split("-"))
        if line.endswith("[stack]"):
            break
        areas.append((begin, end))
    gaps = [below - above for (_, above), (below, _) in zip(areas, areas[1:], strict=False)]
    return areas[gaps.index(max(gaps)) + 1 :]


def reserve(begin: int, end: int) -> None:
    """Take addresses without memory."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE
    found = SYSTEM.mmap(begin, end - begin, 0, flags, -1, 0)
    if found != begin:
        raise MemoryError(f"Addresses {begin:#x} to {end:#x} are not free.")


if __name__ == "__main__":
    main()
