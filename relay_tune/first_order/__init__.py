"""Programs of first-order functions over basic blocks: what control flow and closures become."""
