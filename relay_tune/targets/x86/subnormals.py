"""Results below the smallest normal number as zeros (`relay_tune.codegen.subnormals`).

Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 10.2.3.3.
"""

from __future__ import annotations

_FLUSH_TO_ZERO = 1 << 15
"""The bit of the control word of vector arithmetic (MXCSR)."""

SUBNORMALS = f"""\
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
