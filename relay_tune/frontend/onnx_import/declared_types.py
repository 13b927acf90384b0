"""Types and sizes that an ONNX file declares of its inputs."""

from __future__ import annotations

from typing import Any

from onnx import TypeProto

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.model import checked_text
from relay_tune.frontend.onnx_import.sequences import list_of, option_of
from relay_tune.frontend.onnx_import.tensor import MAXIMUM_RANK
from relay_tune.frontend.onnx_import.types import dtype_name
from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.types import TensorType, Type

MAXIMUM_DIM = 2**62

_NO_NAMES = ("None", "none", "unknown", "dynamic")
"""Names that exporters give to any dynamic size, so that equal names do not mean equal sizes."""


class UntypedInputError(UnsupportedOperatorError):
    """An input whose declaration says too little.

    Attributes:
        inputs: its name.
    """

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The elements of the input {name!r} have no shape in the model.",
            remedy="Declare it, or give the value: from_onnx(model, constants={'name': [array]}).",
        )
        self.inputs = (name,)


def declared_value_type(declared: TypeProto, name: str) -> Type:
    """The type of an input: sizes inside of sequences and optionals are numbers or `?`.

    Raises UnsupportedOperatorError for maps, sparse tensors and elements without a shape.
    """
    match declared.WhichOneof("value"):
        case "tensor_type":
            return _tensor_type(declared.tensor_type, name)
        case "sequence_type":
            return list_of(declared_value_type(declared.sequence_type.elem_type, name))
        case "optional_type":
            return option_of(declared_value_type(declared.optional_type.elem_type, name))
        case None:
            raise ModelError(f"The input {name!r} has no type.")
        case kind:
            raise UnsupportedOperatorError(
                f"The input {name!r} is a {kind.removesuffix('_type')}; tensors, sequences and "
                "optionals are supported."
            )


def _tensor_type(tensor: Any, name: str) -> TensorType:
    what = f"The input {name!r}"
    dtype = dtype_name(tensor.elem_type, what)
    if not tensor.HasField("shape"):
        raise UntypedInputError(name)
    if len(tensor.shape.dim) > MAXIMUM_RANK:
        raise ModelError(f"{what} has {len(tensor.shape.dim)} dimensions.")
    sizes = [declared_size(dim, f"an axis of the input {name!r}") for dim in tensor.shape.dim]
    return TensorType(tuple(d if isinstance(d, int) else UNKNOWN for d in sizes), dtype)


def declared_size(dim: Any, what: str) -> int | str:
    """The size of a dimension of an ONNX shape, or its name ("" where it has none).

    Exporters write a dynamic size as a name, as nothing, as -1, or as 0 with a denotation. A name
    without a letter, such as "?", names nothing. Raises ModelError for a size that no tensor has.
    """
    if dim.WhichOneof("value") == "dim_value":
        size = int(dim.dim_value)
        if size > MAXIMUM_DIM:
            raise ModelError(f"The size of {what} is {size}.")
        return "" if size < 0 or (size == 0 and dim.denotation) else size
    label = checked_text(dim.dim_param, "dimension name")
    is_name = any(letter.isalpha() for letter in label) and label not in _NO_NAMES
    return label if is_name else ""
