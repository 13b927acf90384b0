"""Names for the sizes of a program's inputs that are `?`.

    before:  def @main(%x: Tensor[(?, 8), float32]) { %x + nn.relu(%x) }
    after:   def @main(%x: Tensor[(x_0, 8), float32]) { %x + nn.relu(%x) }

What is computed from one input then has sizes that are known to be equal, so more is fused, and
nothing has to be compared at run time.
"""

from __future__ import annotations

from relay_tune.errors import TypeInferenceError
from relay_tune.ir.dim import Dim, Symbol, UnknownDim
from relay_tune.ir.known_type import known_type
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.transform.fix_input_shapes import FixInputShapes
from relay_tune.typing.infer import infer_types


def with_named_sizes(typed: Module) -> Module:
    """A typed module with symbols for the unknown sizes of main's inputs.

    The module as it is where the symbols would have to be equal to each other or to numbers.
    """
    shapes: dict[str, tuple[Dim, ...]] = {}
    for param in typed.main.params:
        type_ = known_type(param)
        if isinstance(type_, TensorType) and any(isinstance(d, UnknownDim) for d in type_.shape):
            shapes[param.name] = tuple(
                Symbol(f"{param.name}_{axis}") if isinstance(dim, UnknownDim) else dim
                for axis, dim in enumerate(type_.shape)
            )
    if not shapes:
        return typed
    try:
        return infer_types(FixInputShapes(shapes)(typed))
    except TypeInferenceError:
        return typed
