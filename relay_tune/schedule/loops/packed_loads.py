"""Which loads of a tiled nest read packed constants, and where they find their elements.

A constant is packed if the reduction reads it along an output axis; its tiles then follow each
other in memory in the order in which the loops consume them. What is spread over the lanes is
packed, too: compilers load neighbours together, and neighbours have to be those of one step. With
the taps of a row beside each other (3 to 64 channels of 64x64, 9x9 taps, channels first) they
loaded so many that sums went to the stack: 820 us instead of 525.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.packing import PackedAxis, PackedConstant, PackRecipe
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import Axis, Load, Tensor
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.loops import Buffer, BufferScope
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import loads

MAXIMUM_PACKED_GROWTH = 4
"""A constant that would grow more than this (all but tiny ones) stays as it is."""


@dataclass(frozen=True, slots=True)
class PackedLoad:
    """A load that goes to a packed constant instead.

    Attributes:
        constant: the packed constant.
        tiled: the output axes that it depends on, in loop order, the vector axis last if it is
            among them.
        plain: the reduction axes that it depends on, in loop order.
    """

    constant: PackedConstant
    tiled: tuple[Axis, ...]
    plain: tuple[Axis, ...]


def packed_loads(
    nest: Nest,
    constants: frozenset[Tensor],
    vector: Axis | None,
    order: Sequence[Axis],
    reduction: Sequence[Axis],
    tiles: Mapping[Axis, int],
) -> dict[Load, PackedLoad]:
    """The loads of a nest's reduction that read packed constants."""
    if nest.body is None or vector is None or not reduction:
        return {}
    found: dict[Load, PackedLoad] = {}
    for load in loads(nest.body):
        form = _packable(load, nest, constants)
        if form is None:
            continue
        tiled = tuple(a for a in order if form.coefficient(a) and a is not vector)
        tiled = (*tiled, vector) if form.coefficient(vector) else tiled
        plain = tuple(axis for axis in reduction if form.coefficient(axis))
        recipe = PackRecipe(
            form.constant,
            tuple(PackedAxis(a.extent, form.coefficient(a), tiles[a]) for a in tiled),
            tuple(PackedAxis(a.extent, form.coefficient(a), 1) for a in plain),
        )
        if recipe.size <= MAXIMUM_PACKED_GROWTH * prod(load.tensor.shape) + 4096:
            found[load] = PackedLoad(_packed_constant(load, recipe), tiled, plain)
    return found


def _packable(load: Load, nest: Nest, constants: frozenset[Tensor]) -> Affine | None:
    """The index of a load of a constant along output axes, or None for any other load.

    An index may also depend on loops around the nest; its constant stays as it is.
    """
    if not isinstance(load.tensor, FlatView) or load.tensor.viewed not in constants:
        return None
    form = axis_affine(load.indices[0])
    if form is None or any(factor < 0 for factor in form.terms.values()):
        return None
    if not form.terms.keys() <= {*nest.axes, *nest.reduction}:
        return None
    if any(isinstance(axis, Axis) and is_symbolic(axis.extent) for axis in form.terms):
        return None
    return form if any(form.coefficient(axis) for axis in nest.axes) else None


def _packed_constant(load: Load, recipe: PackRecipe) -> PackedConstant:
    assert isinstance(load.tensor, FlatView)
    tensor = Buffer(
        name=f"{load.tensor.name}_packed",
        shape=recipe.shape,
        dtype=load.tensor.dtype,
        scope=BufferScope.ARGUMENT,
    )
    return PackedConstant(tensor, load.tensor.viewed, recipe)
