"""The thread pool of compiled programs, as LLVM IR that needs libc alone."""
