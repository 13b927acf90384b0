"""Inputs that an ONNX file declares, with hint values for dynamic sizes.

    x: float32 (N, 3, ?, ?)               1, 3, 224, 224
    ids: int64 (batch, length)            1, 128
    h: float32 (2, ?, 64)                 2, 1, 64

Equal names get equal sizes. Channels and features follow from the weights that read the input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from onnx import GraphProto

from relay_tune.frontend.onnx_import.deciding_inputs import Option, deciding_inputs
from relay_tune.frontend.onnx_import.declared_types import declared_size
from relay_tune.frontend.onnx_import.types import DTYPE_NAMES
from relay_tune.frontend.onnx_import.written_lengths import written_lengths
from relay_tune.quick_dataclass import dataclass

BATCH = 1
PAST = 16
_BATCH_LETTERS = ("n", "b", "bs")


@dataclass(frozen=True, slots=True)
class LikelySizes:
    """One guess: the side of an image, the length of a sequence, of a signal of numbers."""

    image: int
    sequence: int
    signal: int


GUESSES = (LikelySizes(224, 128, 512), LikelySizes(640, 32, 16000), LikelySizes(64, 16, 128))
"""Of any file."""


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
    """The inputs that no weight fills, and values of those that decide what runs.

    `lengths` are written out in the graph, which may have been traced with one of them.
    """

    inputs: tuple[DeclaredInput, ...]
    deciding: Mapping[str, tuple[Option, ...]]
    lengths: tuple[int, ...] = ()

    @property
    def dynamic(self) -> tuple[DeclaredInput, ...]:
        """Those with a size that is not in the file."""
        return tuple(each for each in self.inputs if each.is_dynamic)

    @property
    def guesses(self) -> tuple[LikelySizes, ...]:
        """Likely sizes, in the order in which they are tried."""
        return (*GUESSES, *(LikelySizes(length, length, length) for length in self.lengths))

    def likely_shapes(self, guess: LikelySizes) -> dict[str, tuple[int, ...]]:
        """A shape for each dynamic input."""
        inputs = [_with_rank(each) for each in self.dynamic]
        known: dict[str, int] = {}
        for each in inputs:
            for axis, size in enumerate(each.sizes or ()):
                if isinstance(size, str) and _sum_of(size) is None:
                    known.setdefault(_label(each, axis), _likely_size(each, axis, guess))
        known |= _lengths_with_past(inputs, known)
        return {each.name: _likely_shape(each, known) for each in inputs}


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
    return DeclaredInputs(tuple(inputs), deciding_inputs(graph), written_lengths(graph))


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
        case "Conv" | "ConvTranspose" if len(shape) > 1:
            all_groups = shape[1] * integers.get("group", 1)
            yield 1, all_groups if operator == "Conv" else shape[0]
            yield from ((axis, 0) for axis in range(2, len(shape)))
        case "BatchNormalization" | "InstanceNormalization" if shape:
            yield 1, shape[0]
        case "LayerNormalization" | "RMSNormalization":
            yield from ((axis - len(shape), size) for axis, size in enumerate(shape))
        case "MatMul" if shape:
            yield -1, shape[-2] if len(shape) > 1 else shape[-1]
        case "Gemm" if len(shape) > 1:
            yield 1, shape[1 if integers.get("transB", 0) else 0]
        case "LSTM" | "GRU" | "RNN" if len(shape) > 2:
            yield 2, shape[2]


def _with_rank(each: DeclaredInput) -> DeclaredInput:
    """An input with sizes; where the file has none, the weights tell the rank, at the least."""
    if each.sizes is not None:
        return each
    axes = [axis if axis >= 0 else 1 for axis in each.required]
    return replace(each, sizes=("",) * (max(axes, default=0) + 1))


def _label(each: DeclaredInput, axis: int) -> str:
    """The name of a dynamic size; one without a name gets that of its axis."""
    size = (each.sizes or ())[axis]
    return str(size) if size != "" else f"{each.name}[{axis}]"


def _lengths_with_past(inputs: Iterable[DeclaredInput], known: Mapping[str, int]) -> dict[str, int]:
    """The lengths of a decoder's masks: steps in the cache and new ones.

    ids: (batch, length), mask: (batch, total), keys: (batch, 8, past, 64)   total = past + length
    """
    of_rank = {rank: [each for each in inputs if len(each.sizes or ()) == rank] for rank in (2, 4)}
    past = [label for each in of_rank[4] if (label := _label(each, 2)) in known]
    rows = sorted(of_rank[2], key=lambda each: "mask" in each.name.lower())
    lengths = dict.fromkeys(label for each in rows if (label := _label(each, 1)) in known)
    if not past or len(lengths) < 2:
        return {}
    new, *totals = lengths
    return {total: known[new] + known[past[0]] for total in totals if total != past[0]}


def _likely_shape(each: DeclaredInput, known: Mapping[str, int]) -> tuple[int, ...]:
    shape = []
    for axis, size in enumerate(each.sizes or ()):
        if isinstance(size, int):
            shape.append(size)
        elif (parts := _sum_of(size)) is not None:
            shape.append(sum(known.get(p, int(p) if p.isdigit() else BATCH) for p in parts))
        else:
            shape.append(known[_label(each, axis)])
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
    if _names_batch(sizes, axis):
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


def _names_batch(sizes: Sequence[int | str], axis: int) -> bool:
    """Whether the name of a size is that of a batch: the first of several such letters."""
    if "batch" in (label := str(sizes[axis]).lower()):
        return True
    is_letter = label in _BATCH_LETTERS and len(sizes) > 1
    return is_letter and not any(_names_batch(sizes, earlier) for earlier in range(axis))


def _size_in_image(sizes: tuple[int | str, ...], axis: int, guess: LikelySizes) -> int:
    """Channels are the second axis, or the last where that is as small as a number of colours."""
    is_channels_last = sizes[-1] in (1, 3, 4) and not isinstance(sizes[1], int)
    return 3 if axis == 1 and not is_channels_last else guess.image
