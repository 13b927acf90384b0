"""Ways to compute a program other than as it is written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from relay_tune.errors import InputError
from relay_tune.machine.machine import Machine
from relay_tune.machine.pattern import BFLOAT16_PAIRS, TilePattern
from relay_tune.op.lower import TensorProgram
from relay_tune.schedule.accuracy import Accuracy, Exactness, Mixing, is_allowed
from relay_tune.schedule.constant_stages import fold_constant_stages
from relay_tune.schedule.matrix_tiles.stages import matrix_program, ways_to_gather
from relay_tune.schedule.rewrites.rows import grouped_steps, rows_of
from relay_tune.schedule.rewrites.split import can_split, split_program
from relay_tune.schedule.rewrites.strassen.stages import can_be_halved, strassen_program
from relay_tune.schedule.rewrites.winograd.blocks import tile_counts
from relay_tune.schedule.rewrites.winograd.match import Convolution, match_convolution
from relay_tune.schedule.rewrites.winograd.stages import winograd_program
from relay_tune.schedule.rewrites.winograd.transforms import PlaneFiltering, plane_filtering
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.schedule.row_groups.row_blocks import MAXIMUM_LOCAL_BYTES, RowBlocks
from relay_tune.schedule.schedule import DIRECT
from relay_tune.tensor.deferred_array import ConstantData
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Tensor

WINOGRAD: Mapping[str, int] = MappingProxyType({"winograd2": 2, "winograd4": 4})
"""Winograd convolutions, by the extent of the output tiles."""

SPLITS: Mapping[str, int] = MappingProxyType({"split4": 4})
"""Long sums over weights, by the number of their parts; 2 parts were never faster than 4."""

STRASSEN = "strassen"
"""Large products with seven multiplications of halves instead of eight."""

ROWS = "rows"
"""The direct algorithm in blocks of rows: "rows8" has blocks of 8."""

MATRIX_PRODUCTS: Mapping[str, tuple[int, bool]] = MappingProxyType(
    {
        "bf16x3": (2, False),
        "bf16x3_gathered": (2, True),
        "bf16x6": (3, False),
        "bf16x6_gathered": (3, True),
    }
)
"""Sums of 3 or 6 products of bfloat16 on matrix registers: the parts of each factor, and whether
what a row reads is copied to one place."""

LARGE_PRODUCTS = 32_000_000
"""Multiplications from which on a product is worth the rounding of two parts.

Those of small products would add up in networks of many: all of mobilenet_v2's with three products
of bfloat16 moved its outputs by 2e-4, those of resnet50 and bert_base, which are large, by 2e-5 and
4e-5.
"""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """What a user's choice of accuracy, a machine and the size of a program decide about.

    Attributes:
        name: its name without the size of blocks.
        exactness: what it keeps of direct sums.
        least_multiplications: with fewer, in products for matrix registers, it is not offered.
        unless_offered: the algorithm that it is not worth a look beside.
    """

    name: str
    exactness: Exactness = Exactness()
    least_multiplications: int = 0
    unless_offered: str | None = None


_TILED = Exactness(Mixing.TILE, rounds_more=True)
_TWO_PARTS = Exactness(rounds_more=True)

ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(
    {
        found.name: found
        for found in (
            Algorithm(DIRECT),
            Algorithm(ROWS),
            *(Algorithm(name) for name in SPLITS),
            Algorithm(STRASSEN, Exactness(Mixing.SAMPLES, rounds_more=True)),
            Algorithm("bf16x3", _TWO_PARTS, LARGE_PRODUCTS),
            Algorithm("bf16x3_gathered", _TWO_PARTS, LARGE_PRODUCTS),
            Algorithm("bf16x6", unless_offered="bf16x3"),
            Algorithm("bf16x6_gathered", unless_offered="bf16x3_gathered"),
            *(Algorithm(name, _TILED) for name in WINOGRAD),
        )
    }
)
"""All algorithms by name.

Two bfloat16 parts of each factor leave out 2^-17 of a product. Tiles of F(4x4, 3x3) have one to
three times the largest error of direct sums.
"""


def algorithm_named(name: str) -> Algorithm:
    """The algorithm of a name with or without the size of blocks ("winograd4_tiles28", "rows8").

    Raises InputError if there is none.
    """
    base = ROWS if rows_of(name) is not None else _name_and_tiles(name)[0]
    if base in ALGORITHMS and name != ROWS:
        return ALGORITHMS[base]
    known = [each for each in ALGORITHMS if each != ROWS]
    raise InputError(
        f"There is no algorithm {name!r}.",
        notes=(f"Known: {', '.join(known)}, winograd4_tiles28, rows1 and the like.",),
        remedy="Use one of these, or omit the schedule.",
    )


def is_offered(name: str, accuracy: Accuracy, multiplications: int) -> bool:
    """Whether an algorithm, in whatever blocks, is worth a look under an accuracy.

    `multiplications` are those of the products that matrix registers can compute.
    """
    algorithm = algorithm_named(name)
    if not is_allowed(algorithm.exactness, accuracy):
        return False
    if multiplications < algorithm.least_multiplications:
        return False
    better = algorithm.unless_offered
    return better is None or not is_offered(better, accuracy, multiplications)


def algorithms(program: TensorProgram) -> tuple[str, ...]:
    """The algorithms that apply to a program with folded constants, the direct one first.

    "winograd4_tiles28" is "winograd4" in blocks of 28 tiles, "split4" adds up sums of 4 parts.
    """
    ways = ways_to_gather(program)
    products = [name for name, (_, gathers) in MATRIX_PRODUCTS.items() if gathers in ways]
    splits = [name for name, parts in SPLITS.items() if can_split(program, parts)]
    splits += [STRASSEN] if can_be_halved(program) else []
    known = dict[Tensor, ConstantData](program.constants)
    stages = tensors_in_order(program.outputs)
    found = [match_convolution(stage, known) for stage in stages]
    convolutions = [convolution for convolution in found if convolution is not None]
    filtered = {name: _filterings(convolutions, size) for name, size in WINOGRAD.items()}
    names = [DIRECT, *splits, *products, *(name for name, found in filtered.items() if found)]
    for name, pairs in filtered.items():
        counts = {count for pair in pairs for count in tile_counts(*pair)}
        names += [f"{name}_tiles{count}" for count in sorted(counts)]
    return tuple(names)


def _filterings(
    convolutions: Sequence[Convolution], outputs: int
) -> list[tuple[Convolution, PlaneFiltering]]:
    """The convolutions that tiles of so many outputs can compute, and how."""
    found = ((c, plane_filtering(outputs, c.stride, c.tap_counts)) for c in convolutions)
    return [(convolution, filtering) for convolution, filtering in found if filtering is not None]


def pattern_of(algorithm: str) -> TilePattern | None:
    """The pattern of the intrinsic that an algorithm has its products run on, if it has one."""
    return BFLOAT16_PAIRS if algorithm in MATRIX_PRODUCTS else None


def can_run(algorithm: str, machine: Machine) -> bool:
    """Whether a machine has what an algorithm needs."""
    pattern = pattern_of(algorithm)
    return pattern is None or machine.intrinsic(pattern) is not None


def prepared_program(program: TensorProgram, algorithm: str) -> TensorProgram:
    """The program that is planned: constants folded, its stages those of an algorithm.

    Programs of one structure give the same constants in the same order, whatever their values.
    Raises InputError if there is no such algorithm, or none for this program.
    """
    folded = fold_constant_stages(program)
    if algorithm == DIRECT or rows_of(algorithm) is not None:
        return folded
    changed = _changed(folded, algorithm)
    if changed is None:
        raise InputError(
            f"The algorithm {algorithm} does not apply to this program.",
            remedy="Use the schedule with the program that it was found for, or none.",
        )
    return changed


def _changed(program: TensorProgram, algorithm: str) -> TensorProgram | None:
    if algorithm in SPLITS:
        return split_program(program, SPLITS[algorithm])
    if algorithm == STRASSEN:
        return strassen_program(program)
    if algorithm in MATRIX_PRODUCTS:
        parts, gathers = MATRIX_PRODUCTS[algorithm]
        return matrix_program(program, parts, gathers)
    name = algorithm_named(algorithm).name
    return winograd_program(program, WINOGRAD[name], _name_and_tiles(algorithm)[1])


def in_steps(
    nests: Sequence[Step], outputs: Sequence[Tensor], algorithm: str
) -> tuple[Step | RowBlocks, ...]:
    """The nests of a prepared program, in groups where the algorithm has blocks.

    Raises InputError if the blocks are too large.
    """
    rows = rows_of(algorithm)
    if rows is not None:
        return grouped_steps(nests, outputs, rows)
    if _name_and_tiles(algorithm)[1] is not None:
        return grouped_steps(nests, outputs, 1, most_row_bytes=MAXIMUM_LOCAL_BYTES)
    return tuple(nests)


def _name_and_tiles(algorithm: str) -> tuple[str, int | None]:
    """The name of an algorithm without its blocks, and the tiles of each block."""
    found = re.fullmatch(rf"({'|'.join(WINOGRAD)})_tiles([1-9][0-9]{{0,3}})", algorithm)
    return (algorithm, None) if found is None else (found[1], int(found[2]))
