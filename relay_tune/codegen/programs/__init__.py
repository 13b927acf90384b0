"""First-order programs as LLVM IR: functions, heap, sessions and entry points."""
