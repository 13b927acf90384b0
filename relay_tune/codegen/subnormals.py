"""Native code rounds results below the smallest normal number to zero.

Float32 numbers below 1.2e-38 in size have fewer digits, and many processors handle them in
microcode, some hundred cycles each. Networks have them where an exponential has nearly vanished: a
softmax whose scores lie 90 apart took 20 times as long, and so did the product that reads it.

    i32  flush_subnormals()              sets the mode of this thread, returns its former one
    void restore_control(i32 control)    back to a former mode

Only results are flushed: inputs and constants that are subnormal keep their values. Processors of
other families than x86-64 compute with subnormal numbers at full speed or nearly so, and are left
alone. (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 10.2.3.3.)
"""

from __future__ import annotations

from relay_tune.codegen.processor_features import architecture

_FLUSH_TO_ZERO = 1 << 15
"""The bit of the control word of vector arithmetic (MXCSR)."""

_X86 = f"""\
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define internal i32 @flush_subnormals() nounwind {{
entry:
  %place = alloca i32, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %place)
  %control = load i32, ptr %place, align 4
  %flushing = or i32 %control, {_FLUSH_TO_ZERO}
  store i32 %flushing, ptr %place, align 4
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret i32 %control
}}

define internal void @restore_control(i32 %control) nounwind {{
entry:
  %place = alloca i32, align 4
  store i32 %control, ptr %place, align 4
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret void
}}
"""

_OTHERS = """\
define internal i32 @flush_subnormals() nounwind {
entry:
  ret i32 0
}

define internal void @restore_control(i32 %control) nounwind {
entry:
  ret void
}
"""


def subnormals_text(triple: str) -> str:
    """The two functions, for a module of LLVM text."""
    return _X86 if architecture(triple) == "x86_64" else _OTHERS
