"""Machines that estimates are tested with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay_tune.machine.machine import SERVER_MEMORIES, Machine, VectorUnit
from relay_tune.targets.x86.intrinsics import INTRINSICS


def core(vector_bytes: int, registers: int) -> Machine:
    """A core with vectors, and the general figures for caches."""
    return Machine(VectorUnit(vector_bytes, registers))


def with_registers(machine: Machine, count: int) -> Machine:
    """The machine with so many vector registers: with few, default tiles are small, and so is code.

    What a program computes does not depend on how many tiles there are.
    """
    return replace(machine, vectors=replace(machine.vectors, registers=count))


def with_rates(machine: Machine, rates: Sequence[float]) -> Machine:
    """The machine with other rates of its memories."""
    pairs = zip(machine.memories, rates, strict=True)
    return replace(machine, memories=tuple(replace(m, rate=rate) for m, rate in pairs))


def with_sizes(machine: Machine, sizes: Sequence[float]) -> Machine:
    """The machine with caches of other sizes."""
    pairs = zip(machine.memories, (*sizes, machine.main.bytes), strict=True)
    return replace(machine, memories=tuple(replace(m, bytes=size) for m, size in pairs))


SIZES = tuple(memory.bytes for memory in SERVER_MEMORIES[:-1])
RATES = tuple(memory.rate for memory in SERVER_MEMORIES)

SERVER = core(64, 32)
"""A core with AVX-512 and the general figures for caches."""

TILES = replace(SERVER, intrinsics=INTRINSICS)
"""The same with matrix registers."""
