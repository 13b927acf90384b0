"""Calls of native programs from Python without Python on the way, in LLVM IR."""
