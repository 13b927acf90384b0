"""A network that computes in float32 what integers would, with scales and precisions as inputs.

    data:     where(on[i], dequantize(quantize(x, scales[i], zeros[i]), scales[i], zeros[i]), x)
    weights:  where(weights_int8[j], the rounded weights, the weights)

One build serves all choices of scales and of precisions. For each precision that layers can have
there is such a switch of weights, and for bfloat16 also one of data, `narrow`, beside `on`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from relay_tune.ir.expr import Expr, Var
from relay_tune.ir.module import Module
from relay_tune.ir.names import free_name
from relay_tune.ir.traversal import rewrite
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.quantize.annotations import Observation, observation
from relay_tune.op_rules.typed import call, constant_of, reshape, slice_of
from relay_tune.quantization.calibration_files import Arrays
from relay_tune.quantization.precisions import (
    BFLOAT16,
    INT8,
    WEIGHT_BITS,
    Precisions,
    layers_in,
)
from relay_tune.quantization.programs import input_types, native_program, output_tensors, results
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import same_scope, with_body
from relay_tune.transform.quantize.readers import read_tensors
from relay_tune.transform.quantize.rounded_layers import rounded
from relay_tune.transform.quantize.stored_type import StoredType
from relay_tune.transform.quantize.stored_weights import weight_types

Types = Mapping[str, StoredType]
"""How tensors are stored, by name."""

DATA, ROUNDED_DATA = ("scales", "zeros", "on"), "narrow"
"""Inputs that say how data are stored: as integers, and in bfloat16."""


@dataclass(frozen=True, slots=True)
class _Names:
    """What switches are of, in the order of their elements."""

    data: tuple[str, ...]
    weights: tuple[str, ...]


class Simulation:
    """The network for any scales of data and any precisions of its layers."""

    def __init__(
        self,
        annotated: Module,
        types: Types,
        dtype: str,
        threads: int | None = None,
        precisions: Sequence[str] = (INT8,),
    ) -> None:
        """Builds the program; `types` of data are those that biases limit weights by.

        Layers can be in float32, and in `precisions`.
        """
        self._reads = read_tensors(annotated, dtype)
        self._precisions = tuple(precisions)
        self._names = _Names(
            tuple(dict.fromkeys(name for names in self._reads.values() for name in sorted(names))),
            tuple(f"{layer}.weight" for layer in self._reads),
        )
        weights = {
            each: weight_types(annotated, types, dict.fromkeys(self._reads, WEIGHT_BITS[each]))
            for each in precisions
            if each in WEIGHT_BITS
        }
        inputs = self._inputs(input_types(annotated))
        self._input_names = [each.name for each in inputs.values()]
        outputs = _simulated(annotated, self._names, weights, inputs)
        self._program = native_program(annotated, outputs, list(inputs.values()), threads)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that can be computed in integers."""
        return tuple(self._reads)

    def outputs(self, sample: Arrays, types: Types, precisions: Precisions) -> list[np.ndarray]:
        """The outputs for a sample, the layers in these precisions."""
        stored = [types[name] for name in self._names.data]
        rounds = BFLOAT16 in self._precisions
        values = (
            np.asarray([float(each.scale) for each in stored], np.float32),
            np.asarray([int(each.zero) for each in stored], np.int32),
            self._read_by(layers_in(precisions, *WEIGHT_BITS)),
            *([self._read_by(layers_in(precisions, BFLOAT16))] if rounds else []),
            *(
                np.asarray([precisions.get(layer) == each for layer in self._reads], bool)
                for each in self._precisions
            ),
        )
        given = dict(zip(self._input_names, values, strict=True))
        return results(self._program, {**sample, **given})

    def _read_by(self, layers: Iterable[str]) -> np.ndarray:
        """Which data some layers read."""
        read = frozenset().union(*(self._reads[layer] for layer in layers))
        return np.asarray([name in read for name in self._names.data], bool)

    def _inputs(self, taken: Mapping[str, object]) -> dict[str, Var]:
        """The inputs for choices by what they are, in order; those of weights by the precision."""
        data, weights = (len(self._names.data),), (len(self._names.weights),)
        types = dict(zip(DATA, ("float32", "int32", "bool"), strict=True))
        wanted = {name: TensorType(data, dtype) for name, dtype in types.items()}
        if BFLOAT16 in self._precisions:
            wanted[ROUNDED_DATA] = TensorType(data, "bool")
        found = {name: (name, type_) for name, type_ in wanted.items()}
        switch = TensorType(weights, "bool")
        found |= {each: (f"weights_{each}", switch) for each in self._precisions}
        return {
            what: Var(free_name(name, taken), type_, type=type_)
            for what, (name, type_) in found.items()
        }


def _simulated(
    annotated: Module,
    names: _Names,
    weights: Mapping[str, Types],
    inputs: Mapping[str, Var],
) -> list[Expr]:
    scales, zeros, on = (inputs[name] for name in DATA)
    narrow = inputs.get(ROUNDED_DATA)

    def weight(found: Observation, constant: np.ndarray) -> Expr:
        """A weight with the digits that its precision has."""
        position = names.weights.index(found.tensor)
        own = _narrowed(found.data, inputs.get(BFLOAT16), position)
        for precision, types in weights.items():
            integers = _rounded_weight(constant, types[found.tensor], found.axis or 0)
            own = call("where", _number(inputs[precision], position), integers, own)
        return own

    def visit(node: Expr) -> Expr:
        found = observation(node)
        if found is None:
            return node
        if found.is_weight and found.constant is not None:
            return weight(found, found.constant)
        if not found.is_data:
            return found.data
        position = names.data.index(found.tensor)
        scale, zero = _number(scales, position), _number(zeros, position)
        stored = call("qnn.quantize", found.data, scale, zero, out_dtype=found.dtype)
        real = call("qnn.dequantize", stored, scale, zero)
        own = call("where", _number(on, position), real, found.data)
        return _narrowed(own, narrow, position)

    main = annotated.main
    simulated = with_body(main, rewrite(main.body, visit, enter=same_scope))
    return output_tensors(annotated.with_function("main", simulated))


def _narrowed(data: Expr, switches: Var | None, position: int) -> Expr:
    """Data that are rounded to bfloat16 where a switch says so."""
    if switches is None:
        return data
    return call("where", _number(switches, position), rounded(data), data)


def _number(vector: Var, index: int) -> Expr:
    return reshape(slice_of(vector, (index,), (index + 1,)), ())


def _rounded_weight(weight: np.ndarray, type_: StoredType, axis: int) -> Expr:
    shape = [1] * weight.ndim
    shape[axis] = -1
    scale = type_.scale.reshape(shape)
    return constant_of((np.rint(weight / scale) * scale).astype(np.float32))
