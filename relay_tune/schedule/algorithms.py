"""Ways to compute a program other than as it is written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from relay_tune.errors import InputError
from relay_tune.op.lower import TensorProgram
from relay_tune.schedule.constant_stages import fold_constant_stages
from relay_tune.schedule.machine import Machine
from relay_tune.schedule.matrix_tiles.stages import matrix_program, ways_to_gather
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.schedule.row_groups.row_blocks import MAXIMUM_LOCAL_BYTES, RowBlocks
from relay_tune.schedule.row_groups.row_plans import grouped_steps, rows_of
from relay_tune.schedule.schedule import DIRECT
from relay_tune.schedule.split_reduction import can_split, split_program
from relay_tune.schedule.strassen.stages import can_be_halved, strassen_program
from relay_tune.schedule.winograd.blocks import tile_counts
from relay_tune.schedule.winograd.match import Convolution, match_convolution
from relay_tune.schedule.winograd.stages import winograd_program
from relay_tune.schedule.winograd.transforms import PlaneFiltering, plane_filtering
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Tensor

WINOGRAD: Mapping[str, int] = MappingProxyType({"winograd2": 2, "winograd4": 4})
"""Winograd's filtering, by the extent of the output tiles."""

SPLITS: Mapping[str, int] = MappingProxyType({"split4": 4})
"""Long sums over weights, by the number of their parts; 2 parts were never faster than 4."""


STRASSEN = "strassen"
"""Large products with seven multiplications of halves instead of eight."""

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


def algorithms(program: TensorProgram) -> tuple[str, ...]:
    """The algorithms that apply to a program with folded constants, the direct one first.

    "winograd4_tiles28" is "winograd4" in blocks of 28 tiles, "split4" adds up sums of 4 parts.
    """
    ways = ways_to_gather(program)
    products = [name for name, (_, gathers) in MATRIX_PRODUCTS.items() if gathers in ways]
    splits = [name for name, parts in SPLITS.items() if can_split(program, parts)]
    splits += [STRASSEN] if can_be_halved(program) else []
    known: dict[Tensor, np.ndarray] = dict(program.constants)
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


def can_run(algorithm: str, machine: Machine) -> bool:
    """Whether a machine has what an algorithm needs."""
    return algorithm not in MATRIX_PRODUCTS or machine.tile_cycles is not None


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
    name, tiles = _name_and_tiles(algorithm)
    if name in WINOGRAD:
        return winograd_program(program, WINOGRAD[name], tiles)
    known = (
        DIRECT,
        *SPLITS,
        STRASSEN,
        *MATRIX_PRODUCTS,
        *WINOGRAD,
        "winograd4_tiles28",
        "rows1 and the like",
    )
    raise InputError(
        f"There is no algorithm {algorithm!r}.",
        notes=(f"Known: {', '.join(known)}.",),
        remedy="Use one of these, or leave the schedule away.",
    )


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
    found = re.fullmatch(r"(.+)_tiles([1-9][0-9]{0,3})", algorithm)
    return (algorithm, None) if found is None else (found[1], int(found[2]))
