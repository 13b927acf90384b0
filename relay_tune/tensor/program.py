"""A primitive's computation as tensors: the subject of plans."""

from __future__ import annotations

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.deferred_array import ConstantData, array_of
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.scalar_semantics import Array
from relay_tune.tensor.tensor import Input


@dataclass(frozen=True, eq=False, slots=True)
class TensorProgram:
    """The computation of a primitive.

    Attributes:
        inputs: the parameters in order, those of tuple type flattened.
        outputs: the results in order, a tuple flattened.
        constants: tensors of known content that the outputs also depend on.
        data_type: the type that all of its products may round their data to, scaled; empty where
            data keep their digits.
        bounded: constants of bytes with dimensions along which each pair of neighbours that begins
            with an even number adds up to little (`relay_tune.op.bounded_constants`).
        is_decisive: whether conditions of derivatives depend on the results, so that these round as
            direct sums do.
    """

    inputs: tuple[Input, ...]
    outputs: tuple[Tensor, ...]
    constants: tuple[tuple[Input, ConstantData], ...]
    data_type: str = ""
    bounded: tuple[tuple[Tensor, int], ...] = ()
    is_decisive: bool = False

    def constant_arrays(self) -> dict[Tensor, Array]:
        """The elements of each constant."""
        return {tensor: array_of(data) for tensor, data in self.constants}
