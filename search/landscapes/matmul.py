"""Landscape of a matrix product (m, k) x (k, n) with a register tile and a blocked reduction."""

import math
from dataclasses import dataclass

from search.choice import Choice
from search.landscapes import machine
from search.landscapes.machine import LANES, Landscape
from search.space import Genome, Space

ROWS = tuple(range(1, 17))
VECTORS = (1, 2, 3, 4, 6, 8)
ORDERS = ("rows_inner", "columns_inner")
UNROLLS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class _Schedule:
    rows: int
    vectors: int
    block: int
    order: str
    unroll: int
    pack: bool

    @property
    def accumulators(self) -> int:
        return self.rows * self.vectors


def matmul_landscape(m: int, n: int, k: int) -> Landscape:
    """The landscape of one matrix product; sizes in elements of 4 bytes."""
    choices = _choices(k)
    name = f"matmul_{m}x{n}x{k}"

    def schedule(genome: Genome) -> _Schedule:
        values = (choice.values[gene] for gene, choice in zip(genome, choices, strict=True))
        return _Schedule(*values)  # type: ignore[arg-type]

    def valid(genome: Genome) -> bool:
        return 8 <= schedule(genome).accumulators <= 36

    def seconds(genome: Genome) -> float:
        return _seconds(m, n, k, schedule(genome)) * machine.ruggedness(name, genome)

    def features(genome: Genome) -> list[float]:
        return _features(m, n, k, schedule(genome))

    return Landscape(name, Space(choices, valid), seconds, features)


def _choices(k: int) -> tuple[Choice, ...]:
    blocks = sorted({min(k, block) for block in (32, 64, 128, 256, 512, 768, 1024, k)})
    return (
        Choice("rows", ROWS),
        Choice("vectors", VECTORS),
        Choice("block", tuple(blocks)),
        Choice("order", ORDERS),
        Choice("unroll", UNROLLS),
        Choice("pack", (False, True)),
    )


def _seconds(m: int, n: int, k: int, schedule: _Schedule) -> float:
    columns = schedule.vectors * LANES
    efficiency = (
        machine.register_efficiency(schedule.accumulators, schedule.vectors + 1)
        * machine.load_efficiency(schedule.accumulators, schedule.rows + schedule.vectors)
        * machine.utilisation(n, columns)
        * math.pow(machine.utilisation(m, schedule.rows), 0.6)
    )
    panel_bytes = 4 * schedule.block * columns
    rows_bytes = 4 * schedule.block * schedule.rows
    stalls = machine.overflow(panel_bytes + rows_bytes, machine.L1_BYTES, 0.05)
    if schedule.order == "columns_inner":
        stalls *= machine.overflow(4 * schedule.block * n, machine.L2_BYTES, 0.30)
    else:
        stalls *= machine.overflow(4 * schedule.block * m, machine.L2_BYTES, 0.15)
    stalls *= machine.code_slowdown(
        schedule.unroll * (schedule.accumulators + schedule.rows + schedule.vectors)
    )
    loop_overhead = 1 + 0.15 / (schedule.unroll * schedule.accumulators)
    compute = 2 * m * n * k / (machine.PEAK_FLOPS * efficiency) * stalls * loop_overhead
    return compute + _traffic_seconds(m, n, k, schedule)


def _traffic_seconds(m: int, n: int, k: int, schedule: _Schedule) -> float:
    blocks = math.ceil(k / schedule.block)
    output = 2 * 4 * m * n * (blocks - 1) / machine.L2_BYTES_PER_SECOND
    packing = 2 * 4 * m * k / machine.L2_BYTES_PER_SECOND if schedule.pack else 0.0
    strided = 0.0
    if not schedule.pack and schedule.block > 512:
        strided = 4 * m * k * schedule.rows / 16 / machine.L3_BYTES_PER_SECOND
    return output + packing + strided


def _features(m: int, n: int, k: int, schedule: _Schedule) -> list[float]:
    columns = schedule.vectors * LANES
    return [
        math.log2(m),
        math.log2(n),
        math.log2(k),
        float(schedule.rows),
        float(schedule.vectors),
        float(schedule.accumulators),
        float(schedule.accumulators + schedule.vectors + 1),
        math.log2(schedule.block),
        float(math.ceil(k / schedule.block)),
        machine.utilisation(n, columns),
        machine.utilisation(m, schedule.rows),
        math.log2(4 * schedule.block * (columns + schedule.rows)),
        schedule.accumulators / (schedule.rows + schedule.vectors),
        float(ORDERS.index(schedule.order)),
        float(schedule.unroll),
        math.log2(schedule.unroll * schedule.accumulators),
        float(schedule.pack),
    ]
