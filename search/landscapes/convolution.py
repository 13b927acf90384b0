"""Landscape of a direct convolution on blocks of 16 channels, with a register tile of pixels."""

import math
from dataclasses import dataclass
from itertools import permutations

from search.choice import Choice
from search.landscapes import machine
from search.landscapes.machine import LANES, Landscape
from search.space import Genome, Space

ORDERS = tuple("".join(order) for order in permutations("coh"))
"""Outer loops over blocks of input channels (c), of output channels (o) and over rows (h)."""

MIN_ACCUMULATORS = 10
MAX_ACCUMULATORS = 36


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution with square image (output pixels a side) and square kernel, stride 1."""

    channels_in: int
    channels_out: int
    image: int
    kernel: int


@dataclass(frozen=True, slots=True)
class _Schedule:
    tile_rows: int
    tile_columns: int
    tile_outputs: int
    block: int
    unroll: int
    order: str

    @property
    def pixels(self) -> int:
        return self.tile_rows * self.tile_columns

    @property
    def accumulators(self) -> int:
        return self.pixels * self.tile_outputs


def convolution_landscape(
    channels_in: int, channels_out: int, image: int, kernel: int
) -> Landscape:
    """The landscape of one layer; channels are multiples of 16."""
    layer = Layer(channels_in, channels_out, image, kernel)
    choices = _choices(layer)
    name = f"convolution_{channels_in}x{channels_out}_{image}_{kernel}x{kernel}"

    def schedule(genome: Genome) -> _Schedule:
        values = (choice.values[gene] for gene, choice in zip(genome, choices, strict=True))
        return _Schedule(*values)  # type: ignore[arg-type]

    def valid(genome: Genome) -> bool:
        return MIN_ACCUMULATORS <= schedule(genome).accumulators <= MAX_ACCUMULATORS

    def seconds(genome: Genome) -> float:
        return _seconds(layer, schedule(genome)) * machine.ruggedness(name, genome)

    def features(genome: Genome) -> list[float]:
        return _features(layer, schedule(genome))

    return Landscape(name, Space(choices, valid), seconds, features)


def _choices(layer: Layer) -> tuple[Choice, ...]:
    blocks_in = layer.channels_in // LANES
    return (
        Choice("tile_rows", tuple(t for t in (1, 2, 3, 4, 7) if t <= layer.image)),
        Choice("tile_columns", tuple(t for t in (1, 2, 3, 4, 5, 6, 7, 14) if t <= layer.image)),
        Choice("tile_outputs", (1, 2, 3, 4, 6)),
        Choice("block", tuple(b for b in (1, 2, 4, 8, 16, 32) if b <= blocks_in)),
        Choice("unroll", (1, 2, 4)),
        Choice("order", ORDERS),
    )


def _seconds(layer: Layer, schedule: _Schedule) -> float:
    blocks_out = layer.channels_out // LANES
    efficiency = (
        machine.register_efficiency(schedule.accumulators, schedule.tile_outputs + 1)
        * machine.load_efficiency(schedule.accumulators, schedule.pixels + schedule.tile_outputs)
        * math.pow(machine.utilisation(layer.image, schedule.tile_rows), 0.7)
        * math.pow(machine.utilisation(layer.image, schedule.tile_columns), 0.7)
        * math.pow(machine.utilisation(blocks_out, schedule.tile_outputs), 0.8)
    )
    taps = layer.kernel * schedule.unroll
    stalls = machine.code_slowdown(taps * 1.5 * schedule.accumulators)
    stalls *= machine.overflow(_tile_bytes(layer, schedule), machine.L1_BYTES, 0.04)
    stalls *= machine.overflow(_reused_bytes(layer, schedule), machine.L2_BYTES, 0.35)
    flops = 2 * layer.channels_in * layer.channels_out * layer.image**2 * layer.kernel**2
    overhead = 1 + 0.25 / (schedule.unroll * schedule.accumulators)
    compute = flops / (machine.PEAK_FLOPS * efficiency) * stalls * overhead
    return compute + _partial_sum_seconds(layer, schedule)


def _tile_bytes(layer: Layer, schedule: _Schedule) -> float:
    halo = layer.kernel - 1
    pixels = (schedule.tile_rows + halo) * (schedule.tile_columns + halo)
    weights = layer.kernel**2 * LANES * schedule.tile_outputs
    return 4.0 * LANES * schedule.block * (pixels + weights)


def _reused_bytes(layer: Layer, schedule: _Schedule) -> float:
    """What the innermost of the outer loops passes over before it is needed again."""
    weights = 4.0 * layer.kernel**2 * LANES**2 * schedule.block * schedule.tile_outputs
    match schedule.order[-1]:
        case "h":
            return weights + 4.0 * layer.channels_in * layer.image**2
        case "o":
            rows = schedule.tile_rows + layer.kernel - 1
            image = 4.0 * LANES * schedule.block * rows * layer.image
            return image + weights * layer.channels_out / (LANES * schedule.tile_outputs)
        case _:
            return 4.0 * layer.kernel**2 * layer.channels_in * LANES * schedule.tile_outputs


def _partial_sum_seconds(layer: Layer, schedule: _Schedule) -> float:
    """Partial sums written and read again for each further block of input channels."""
    blocks = math.ceil(layer.channels_in / (LANES * schedule.block))
    output_bytes = 4 * layer.channels_out * layer.image**2
    near = schedule.order[-1] == "c"
    bandwidth = machine.L2_BYTES_PER_SECOND if near else machine.L3_BYTES_PER_SECOND
    return 2 * output_bytes * (blocks - 1) / bandwidth


def _features(layer: Layer, schedule: _Schedule) -> list[float]:
    blocks_out = layer.channels_out // LANES
    return [
        math.log2(layer.channels_in),
        math.log2(layer.channels_out),
        float(layer.image),
        float(layer.kernel),
        float(schedule.tile_rows),
        float(schedule.tile_columns),
        float(schedule.tile_outputs),
        float(schedule.accumulators),
        float(schedule.accumulators + schedule.tile_outputs + 1),
        schedule.accumulators / (schedule.pixels + schedule.tile_outputs),
        machine.utilisation(layer.image, schedule.tile_rows),
        machine.utilisation(layer.image, schedule.tile_columns),
        machine.utilisation(blocks_out, schedule.tile_outputs),
        math.log2(schedule.block),
        float(math.ceil(layer.channels_in / (LANES * schedule.block))),
        float(schedule.unroll),
        math.log2(schedule.unroll * schedule.accumulators * layer.kernel),
        math.log2(_tile_bytes(layer, schedule)),
        *(float(schedule.order[-1] == loop) for loop in "coh"),
        *(float(schedule.order[0] == loop) for loop in "coh"),
    ]
