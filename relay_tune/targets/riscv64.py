"""RISC-V of 64 bits, without vector instructions: kernels run in this process only."""

from __future__ import annotations

from relay_tune.machine.architecture import Architecture, Vectors

SCALAR = Vectors(128, 16)
"""Short vectors, which LLVM takes apart."""

RISCV64 = Architecture(name="riscv64", vectors=lambda _cpu, _features: SCALAR)
