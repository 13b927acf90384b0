"""Mathematical functions on vectors, as LLVM instructions; `functions` is the table of them."""
