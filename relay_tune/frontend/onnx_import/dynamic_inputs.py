"""What an ONNX file declares of its inputs, and sizes that dynamic ones are likely to have.

    x: float32 (N, 3, ?, ?)               1, 3, 224, 224
    ids: int64 (batch, length)            1, 128
    h: float32 (2, ?, 64)                 2, 1, 64

Equal names get equal sizes. Channels and features follow from the weights that read the input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from onnx import GraphProto

from relay_tune.frontend.onnx_import.deciding_inputs import Option, deciding_inputs
from relay_tune.frontend.onnx_import.declared_types import declared_size
from relay_tune.frontend.onnx_import.types import DTYPE_NAMES

BATCH = 1
PAST = 16


@dataclass(frozen=True, slots=True)
class LikelySizes:
    """One guess: the side of an image, the length of a sequence, of a signal of numbers."""

    image: int
    sequence: int
    signal: int


GUESSES = (LikelySizes(224, 128, 512), LikelySizes(640, 32, 16000), LikelySizes(64, 16, 128))
"""In the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class DeclaredInput:
    """An input as the file declares it.

    Attributes:
        sizes: numbers, and names of dynamic sizes, "" for one without; None where the file does
            not tell the rank.
        required: sizes of axes that weights ask for.
    """

    name: str
    dtype: str
    sizes: tuple[int | str, ...] | None
    required: Mapping[int, int]

    @property
    def is_dynamic(self) -> bool:
        """Whether a size is not in the file."""
        return self.sizes is None or any(isinstance(size, str) for size in self.sizes)

    def __str__(self) -> str:
        if self.sizes is None:
            return f"{self.name}: {self.dtype} of any shape"
        sizes = ", ".join(str(size) if size != "" else "?" for size in self.sizes)
        return f"{self.name}: {self.dtype} ({sizes})"


@dataclass(frozen=True, slots=True)
class DeclaredInputs:
    """The inputs that no weight fills, and values of those that decide what runs."""

    inputs: tuple[DeclaredInput, ...]
    deciding: Mapping[str, tuple[Option, ...]]

    @property
    def dynamic(self) -> tuple[DeclaredInput, ...]:
        """Those with a size that is not in the file."""
        return tuple(each for each in self.inputs if each.is_dynamic)

    def likely_shapes(self, guess: LikelySizes) -> dict[str, tuple[int, ...]]:
        """A shape for each dynamic input."""
        known: dict[str, int] = {}
        for each in self.dynamic:
            for axis, size in enumerate(each.sizes or ()):
                if isinstance(size, str) and size and _sum_of(size) is None:
                    known.setdefault(size, _likely_size(each, axis, guess))
        return {each.name: _likely_shape(each, guess, known) for each in self.dynamic}


def declared_inputs(graph: GraphProto) -> DeclaredInputs:
    """The inputs of a graph; raises ModelError where they are malformed."""
    required = _required_sizes(graph)
    weights = {tensor.name for tensor in graph.initializer}
    inputs = []
    for value in graph.input:
        if value.name in weights or not value.type.HasField("tensor_type"):
            continue
        tensor = value.type.tensor_type
        sizes = [declared_size(d, f"the input {value.name!r}") for d in tensor.shape.dim]
        dtype = DTYPE_NAMES.get(tensor.elem_type, "values")
        shape = tuple(sizes) if tensor.HasField("shape") else None
        inputs.append(DeclaredInput(value.name, dtype, shape, required.get(value.name, {})))
    return DeclaredInputs(tuple(inputs), deciding_inputs(graph))


def _required_sizes(graph: GraphProto) -> dict[str, dict[int, int]]:
    """Sizes of the inputs' axes that the weights of nodes that read them have."""
    weights = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    found: dict[str, dict[int, int]] = {}
    for node in graph.node:
        if len(node.input) < 2 or node.input[1] not in weights:
            continue
        integers = {attribute.name: attribute.i for attribute in node.attribute}
        shape = weights[node.input[1]]
        axes = dict(_required_axes(node.op_type, shape, integers))
        found.setdefault(node.input[0], {}).update(axes)
    return found


def _required_axes(
    operator: str, shape: tuple[int, ...], integers: Mapping[str, int]
) -> Iterator[tuple[int, int]]:
    """Axis (negative ones from the end) and size of the data that a weight of a shape asks for.

    None where the weight has too few axes for the operator: its import says what is wrong with it.
    """
    match operator:
        case "Conv" if len(shape) > 1:
            yield 1, shape[1] * integers.get("group", 1)
            yield from ((axis, 0) for axis in range(2, len(shape)))
        case "MatMul" if shape:
            yield -1, shape[-2] if len(shape) > 1 else shape[-1]
        case "Gemm" if len(shape) > 1:
            yield 1, shape[1 if integers.get("transB", 0) else 0]
        case "LSTM" | "GRU" | "RNN" if len(shape) > 2:
            yield 2, shape[2]


def _likely_shape(
    each: DeclaredInput, guess: LikelySizes, known: Mapping[str, int]
) -> tuple[int, ...]:
    sizes = each.sizes
    if sizes is None:  # the weights tell the rank, at the least
        axes = [axis if axis >= 0 else 1 for axis in each.required]
        sizes = ("",) * (max(axes, default=0) + 1)
        each = DeclaredInput(each.name, each.dtype, sizes, each.required)
    shape = []
    for axis, size in enumerate(sizes):
        if isinstance(size, int):
            shape.append(size)
        elif (parts := _sum_of(size)) is not None:
            shape.append(sum(known.get(p, int(p) if p.isdigit() else BATCH) for p in parts))
        else:
            shape.append(known[size] if size else _likely_size(each, axis, guess))
    return tuple(shape)


def _sum_of(label: str) -> tuple[str, ...] | None:
    """The parts of a name such as "past_length + length"; None for other names."""
    parts = tuple(part.strip() for part in label.split("+"))
    return parts if len(parts) > 1 and all(re.fullmatch(r"\w+", part) for part in parts) else None


def _likely_size(each: DeclaredInput, axis: int, guess: LikelySizes) -> int:
    sizes = each.sizes or ()
    rank, label = len(sizes), str(sizes[axis]).lower()
    required = each.required.get(axis) or each.required.get(axis - rank)
    if required:
        return required
    if "batch" in label or (label in ("n", "b", "bs") and rank > 1):
        return BATCH
    if "past" in label or (not label and "past" in each.name.lower() and axis == rank - 2):
        return PAST
    if axis == 0 and (rank > 1 or "int" in each.dtype):
        return BATCH
    if rank == 3 and axis == 1 and isinstance(sizes[0], int) and isinstance(sizes[2], int):
        return BATCH  # the state of a recurrent layer: layers, batch, units
    if rank == 4 and axis == 2 and isinstance(sizes[1], int) and isinstance(sizes[3], int):
        return PAST  # keys or values of earlier steps: batch, heads, steps, features
    if rank > 3:
        return _size_in_image(sizes, axis, guess)
    if rank == 3 or "int" in each.dtype:
        return guess.sequence
    return guess.signal


def _size_in_image(sizes: tuple[int | str, ...], axis: int, guess: LikelySizes) -> int:
    """Channels are the second axis, or the last where that is as small as a number of colours."""
    is_channels_last = sizes[-1] in (1, 3, 4) and not isinstance(sizes[1], int)
    return 3 if axis == 1 and not is_channels_last else guess.image
