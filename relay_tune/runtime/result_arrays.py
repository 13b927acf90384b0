"""Arrays of the caller that results are written into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import TensorType
from relay_tune.runtime.dlpack import array_of_tensor
from relay_tune.typing.type_text import type_text

OUT_REMEDY = "Give an array for each output, in order: out=array, or out=[first, second]."


def result_arrays(out: object, types: Mapping[str, TensorType]) -> list[np.ndarray]:
    """The arrays of `out`, one for each output; InputError where one does not fit.

    Sizes that the type leaves open are checked by `put`.
    """
    given = list(out) if isinstance(out, list | tuple) else [out]
    if len(given) != len(types):
        raise InputError(
            f"There are {len(types)} outputs, but {len(given)} arrays for them were given.",
            remedy=OUT_REMEDY,
        )
    named = zip(given, types.items(), strict=True)
    return [_array(value, name, type_) for value, (name, type_) in named]


def _array(value: object, name: str, type_: TensorType) -> np.ndarray:
    array = _memory(value, name)
    known = zip(array.shape, type_.shape, strict=False)
    fits = array.dtype == DTYPES[type_.dtype] and array.ndim == len(type_.shape)
    if not fits or any(isinstance(dim, int) and dim != size for size, dim in known):
        raise _misfit(array, name, type_)
    if not array.flags.writeable:
        raise InputError(
            f"The array for output {name!r} is read-only.", remedy="Give one that may be written."
        )
    return array


def _memory(value: object, name: str) -> np.ndarray:
    if isinstance(value, np.ndarray):
        return value
    if not hasattr(value, "__dlpack__") or isinstance(value, np.generic):
        raise InputError(
            f"Output {name!r} cannot be written into a value of type {type(value).__name__}.",
            remedy=OUT_REMEDY,
        )
    try:
        return array_of_tensor(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"Output {name!r} cannot be written into this {type(value).__name__}: {error}.",
            remedy="Give a tensor in CPU memory that needs no gradient.",
        ) from error


def _misfit(array: np.ndarray, name: str, type_: TensorType) -> InputError:
    given = type_text(TensorType(array.shape, array.dtype.name))
    shape = ", ".join(map(str, type_.shape)) + ("," if len(type_.shape) == 1 else "")
    return InputError(
        f"The array for output {name!r} must be {type_text(type_)}, but is {given}.",
        remedy=f'Make it as the output is: numpy.empty(({shape}), "{type_.dtype}").',
    )


def can_be_written_directly(outputs: Sequence[np.ndarray], inputs: Sequence[np.ndarray]) -> bool:
    """Whether a program may write its results there while it reads the inputs."""
    if not all(array.flags.c_contiguous and array.flags.aligned for array in outputs):
        return False
    others = [*inputs, *outputs]
    return not any(
        np.may_share_memory(one, other)
        for index, one in enumerate(outputs)
        for other in others[: len(inputs) + index]
    )


def put(
    results: Sequence[np.ndarray], outputs: Sequence[np.ndarray], types: Mapping[str, TensorType]
) -> None:
    """Copy results to where they are wanted; InputError, before any is, where a size differs."""
    for result, output, (name, type_) in zip(results, outputs, types.items(), strict=True):
        if result.shape != output.shape:
            raise _misfit(output, name, TensorType(result.shape, type_.dtype))
    for result, output in zip(results, outputs, strict=True):
        np.copyto(output, result)
