import gc
import sys
from pathlib import Path

import pytest

from relay_tune.codegen.compiler import compile_optimized, compile_text
from relay_tune.codegen.target import native_target

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for its memory")

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


@pytest.mark.parametrize("compiled", [compile_optimized, compile_text])
def test_modules_leave_nothing_behind(compiled):
    """What is left behind is left each time; a heap that grows once is none of it."""
    assert any(grown_kilobytes(compiled) < 500 for _ in range(4))
