"""Weights of few bits, converted once a panel, as a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters, parameter
from relay_tune.schedule.rewrites.weight_panels.match import StoredProduct, stored_product
from relay_tune.schedule.rewrites.weight_panels.stages import panel_program
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.schedule.row_groups.packed_panels import with_panel_blocks
from relay_tune.schedule.row_groups.row_blocks import MAXIMUM_LOCAL_BYTES, RowBlocks
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import nominal

COLUMNS = (16, 32, 48, 64, 96, 128)
"""Columns of a panel. Tiles of many rows take two to four vectors."""

LEAST_ROWS = 16
"""With fewer rows a weight is as well converted where it is used."""


@dataclass(frozen=True, slots=True)
class Columns(Parameters):
    """Parameters of panels.

    Attributes:
        columns: of a panel.
    """

    columns: int = parameter(among=COLUMNS)


def products(program: TensorProgram) -> list[StoredProduct]:
    """The products of a program with stored weights that have enough rows for panels."""
    constants = {tensor for tensor, _ in program.constants}
    found = (stored_product(stage, constants) for stage in tensors_in_order(program.outputs))
    return [each for each in found if each is not None and nominal(each.rows) >= LEAST_ROWS]


def fits(product: StoredProduct, columns: int, copies: int = 1) -> bool:
    """Whether a product has whole panels of which local memory holds so many copies."""
    return not product.column.extent % columns and (
        copies * columns * product.bytes_of_column <= MAXIMUM_LOCAL_BYTES
    )


def _offers(
    program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
) -> Iterator[Parameters]:
    found = products(program)
    for columns in COLUMNS:
        if found and all(fits(each, columns) for each in found):
            yield Columns(columns)


def _rewritten(program: TensorProgram, parameters: Columns) -> TensorProgram | None:
    return panel_program(program, parameters.columns)


def grouped_panels(
    nests: Sequence[Step], outputs: Sequence[Tensor], parameters: Columns
) -> Sequence[Step | RowBlocks]:
    """The products that read panels in blocks of one panel."""
    return with_panel_blocks(nests, outputs)


def packed_in_columns(choices: Sequence[TileChoice], parameters: Columns) -> Sequence[TileChoice]:
    """Direct choices with tiles as wide as a panel."""
    return [_with_columns(each, parameters.columns) for each in choices]


def _with_columns(choice: TileChoice, columns: int) -> TileChoice:
    if choice.vector < 0:
        return choice
    tile = list(choice.tile)
    tile[choice.vector] = columns
    return replace(choice, tile=tuple(tile))


PANELS = Algorithm(
    "panels",
    _offers,
    Columns,
    rewritten=_rewritten,
    grouped=grouped_panels,
    packing=packed_in_columns,
)
"""Products with weights of few bits: those of a panel of columns become floats once for all rows.

    before:  y[i, o] = sum(k) x[i, k] * (float(q[o, k]) * s[o, k // 32])
    after:   for b in blocks of 48 columns:
               w'[k, j] = float(q[48 * b + j, k]) * s[48 * b + j, k // 32]
               y[i, 48 * b + j] = sum(k) x[i, k] * w'[k, j]

A panel stays in the second cache. Its constants are packed as a product of one row packs them whose
tiles have as many columns, so that both read the same copy.
"""
