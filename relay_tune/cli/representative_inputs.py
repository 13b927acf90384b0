"""The inputs that verbs run a model on; of dynamic sizes, for each that --shape names."""

from __future__ import annotations

import argparse
from typing import Any

from relay_tune.building.fixed_sizes import with_fixed_sizes
from relay_tune.building.named_sizes import with_named_sizes
from relay_tune.building.program_form import has_open_inputs
from relay_tune.building.size_points import SizePoint, dynamic_inputs, input_shapes, size_points
from relay_tune.cli.options import dynamic_shapes_of
from relay_tune.ir.module import Module
from relay_tune.program.kinds import is_open_type, type_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.infer import infer_types
from relay_tune.zoo import example_inputs


@dataclass(frozen=True, eq=False, slots=True)
class RepresentativeInputs:
    """Random inputs by name.

    Attributes:
        shapes: the shapes of the inputs of dynamic size; none where all sizes are known.
        values: the inputs.
    """

    shapes: dict[str, tuple[int, ...]]
    values: dict[str, Any]

    @property
    def title(self) -> str:
        """The shapes as --shape takes them."""
        return " ".join(f"{name}={','.join(map(str, s))}" for name, s in self.shapes.items())


def representative_inputs(
    module: Module, arguments: argparse.Namespace
) -> list[RepresentativeInputs]:
    """Inputs for each size that --shape says kernels are chosen for.

    Raises InputError where sizes are dynamic and not given, or do not fit.
    """
    typed = with_named_sizes(infer_types(module))
    if not has_open_inputs(typed):
        return [RepresentativeInputs({}, example_inputs(module))]
    points = size_points(typed, dynamic_shapes_of(arguments))
    if not points:
        raise dynamic_inputs(typed, "A model is run")
    return [_inputs(typed, point) for point in points]


def _inputs(typed: Module, point: SizePoint) -> RepresentativeInputs:
    shapes = input_shapes(typed, point)
    values = example_inputs(with_fixed_sizes(typed, shapes))
    dynamic = {param.name for param in typed.main.params if is_open_type(type_of(param))}
    return RepresentativeInputs({n: s for n, s in shapes.items() if n in dynamic}, values)
