"""The imaginary core of the landscapes: 32 vector registers of 16 floats, two caches."""

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from search.space import Genome, Space

LANES = 16
REGISTERS = 32
L1_BYTES = 48 * 1024
L2_BYTES = 2 * 1024 * 1024
HOT_CODE_BYTES = 16 * 1024
PEAK_FLOPS = 267e9
L2_BYTES_PER_SECOND = 200e9
L3_BYTES_PER_SECOND = 90e9
RUGGEDNESS = 0.003


@dataclass(frozen=True, slots=True)
class Landscape:
    """A named space with the run time (seconds) and the features of each of its points."""

    name: str
    space: Space
    seconds: Callable[[Genome], float]
    features: Callable[[Genome], list[float]]


def ruggedness(name: str, genome: Genome) -> float:
    """A fixed factor near 1 for each point: what no model of the machine explains."""
    uniform = zlib.crc32(f"{name} {genome}".encode()) / 2**32
    return 1 + RUGGEDNESS * (2 * uniform - 1)


def utilisation(size: int, tile: int) -> float:
    """Share of useful work when `size` is covered by whole tiles."""
    return size / (math.ceil(size / tile) * tile)


def register_efficiency(accumulators: int, operands: int) -> float:
    """Share of peak that a register tile allows: latency is hidden by accumulators, spills cost.

    `operands` counts the registers needed beside the accumulators.
    """
    hidden = min(1.0, 0.4 + 0.6 * accumulators / 12)
    spilled = max(0, accumulators + operands - REGISTERS)
    return hidden / (1 + 0.25 * math.sqrt(spilled))


def load_efficiency(fused_operations: int, loads: int) -> float:
    """Share of peak left where loads compete: two fused operations and two loads a cycle."""
    return min(1.0, 1.22 * fused_operations / (fused_operations + 0.5 * loads))


def overflow(working_set: float, capacity: int, cost: float) -> float:
    """Slow-down, between 1 and 1 + cost, of a working set (bytes) that outgrows a cache."""
    return 1 + cost / (1 + (capacity / max(working_set, 1.0)) ** 4)


def code_slowdown(instructions: float) -> float:
    """Slow-down of a hot loop of so many instructions (8 bytes each) once it outgrows 16 KB."""
    return overflow(8 * instructions, HOT_CODE_BYTES, 1.2)
