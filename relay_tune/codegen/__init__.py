"""Loop nest to LLVM IR to machine code; targets; the native runtime."""
