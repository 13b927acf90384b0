import gc
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from relay_tune.codegen.compiler import compile_optimized, compile_text
from relay_tune.codegen.llvm_modules import (
    initialize_llvm,
    inline_parts,
    parsed_module,
    without_strength_reduction,
)
from relay_tune.codegen.target import native_target

LOOP = """\
define i64 @loop{number}(i64 %n) {{
entry:
  br label %again
again:
  %i = phi i64 [0, %entry], [%next, %again]
{body}
  %next = add i64 %i, {number}
  %more = icmp ult i64 %next, %n
  br i1 %more, label %again, label %end
end:
  ret i64 %i
}}
"""
"""Every number makes a module of types and constants of its own."""


def loop_text(number):
    body = (f"  %a{n} = alloca [{number} x [{n + 1} x i8]]" for n in range(300))
    return LOOP.format(number=number, body="\n".join(body))


def resident_kilobytes():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


def grown_kilobytes(compiled):
    """How much memory 80 compilations take for good, after some."""
    sizes = []
    for number in range(1, 101):
        if number in (20, 100):
            sizes.append(resident_kilobytes())
        compiled(loop_text(number), native_target())
    return sizes[1] - sizes[0]


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for its memory")
@pytest.mark.parametrize("compiled", [compile_optimized, compile_text])
def test_modules_leave_nothing_behind(compiled):
    """What is left behind is left each time; a heap that grows once is none of it."""
    assert any(grown_kilobytes(compiled) < 500 for _ in range(4))


PARTS = """\
define internal i64 @part(i64 %x) {
  %y = call i64 @inner(i64 %x)
  ret i64 %y
}
define internal i64 @inner(i64 %x) {
  %y = add i64 %x, 1
  ret i64 %y
}
define internal i64 @unused(i64 %x) {
  ret i64 %x
}
define internal i64 @cold(i64 %x) noinline {
  ret i64 %x
}
define internal i64 @apart(i64 %x) {
  %y = call i64 @part(i64 %x)
  ret i64 %y
}
define i64 @whole(i64 %x) {
  %a = call i64 @part(i64 %x)
  %b = call i64 @cold(i64 %a)
  %c = call i64 @apart(i64 %b)
  %d = call i64 @apart(i64 %c)
  %e = call i64 @once(i64 %d) alwaysinline
  ret i64 %e
}
define internal i64 @once(i64 %x) {
  %y = call i64 @apart(i64 %x)
  ret i64 %y
}
"""


def test_parts_are_inlined_but_those_that_stay_apart():
    initialize_llvm()
    machine = llvm.Target.from_triple(native_target().triple).create_target_machine()
    with parsed_module(PARTS) as module:
        inline_parts(module, machine, {"apart", "once"})
        module.verify()
        assert {each.name for each in module.functions} == {"whole", "cold", "apart"}
        (apart,) = (each for each in module.functions if each.name == "apart")
        assert "add i64" in str(apart) and "call" not in str(apart)


STEPS = """\
define void @steps(ptr %p, i64 %n) {
entry:
  br label %again
again:
  %i = phi i64 [0, %entry], [%next, %again]
  %apart = mul i64 %i, 160
  %at = getelementptr i8, ptr %p, i64 %apart
  %v = load i64, ptr %at
  %w = add i64 %v, 1
  store i64 %w, ptr %at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %again, label %end
end:
  ret void
}
"""


def test_only_code_of_ours_is_without_strength_reduction():
    target = native_target()
    initialize_llvm()
    machine = llvm.Target.from_triple(target.triple).create_target_machine(opt=1)

    def compiled():
        with parsed_module(STEPS) as module:
            return machine.emit_object(module)

    usual = compiled()
    with without_strength_reduction():
        other = compiled()
        pool = ThreadPoolExecutor(1)
        waiting = pool.submit(compiled)
        wait([waiting], timeout=0.2)
        assert not waiting.done()
    assert waiting.result() == compiled() == usual != other
