"""Type inference as a pass: the first one of every pipeline."""

from __future__ import annotations

from typing import ClassVar

from relay_tune.ir.module import Module
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.infer import infer_types


@dataclass(frozen=True)
class InferTypes:
    """Fills in the types that the other passes read."""

    name: ClassVar[str] = "infer_types"

    def __call__(self, module: Module) -> Module:
        """The typed module; TypeInferenceError where there is no type."""
        return infer_types(module)
