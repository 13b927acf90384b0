"""Derivatives of tensors: adjoints (reverse mode) and tangents (forward mode) as tensors."""

from relay_tune.tensor.derivative.adjoints import adjoints
from relay_tune.tensor.derivative.refusal import UnderivableError
from relay_tune.tensor.derivative.tangents import tangents

__all__ = ["UnderivableError", "adjoints", "tangents"]
