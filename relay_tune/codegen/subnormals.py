"""Native code rounds results below the smallest normal number to zero.

Float32 numbers below 1.2e-38 in size have fewer digits, and many processors handle them in
microcode, some hundred cycles each. Networks have them where an exponential has nearly vanished: a
softmax whose scores lie 90 apart took 20 times as long, and so did the product that reads it.

    i32  flush_subnormals()              sets the mode of this thread, returns its former one
    void restore_control(i32 control)    back to a former mode

Only results are flushed: inputs and constants that are subnormal keep their values. Processors of
other families than x86-64 compute with subnormal numbers at full speed or nearly so, and are left
alone.
"""

from __future__ import annotations

from relay_tune.codegen.builder.signature import internal
from relay_tune.targets.registry import architecture_of

FLUSH_SUBNORMALS = internal("i32", "flush_subnormals")
RESTORE_CONTROL = internal("void", "restore_control", "i32")


def subnormals_text(triple: str) -> str:
    """The two functions, for a module of LLVM text."""
    return architecture_of(triple).subnormals
