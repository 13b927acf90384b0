"""A network that computes in float32 what integers would, with scales and precisions as inputs.

    data:     where(on[i], dequantize(quantize(x, scales[i], zeros[i]), scales[i], zeros[i]), x)
    weights:  where(weights_on[j], the rounded weights, the weights)

One build serves all choices of scales and of layers that stay in float32. If layers can be in
bfloat16, too, there are `narrow` and `weights_narrow` beside `on` and `weights_on`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from relay_tune.ir.expr import Expr, Var
from relay_tune.ir.module import Module
from relay_tune.ir.names import free_name
from relay_tune.ir.traversal import rewrite
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.quantize.annotations import observation
from relay_tune.op_rules.typed import call, constant_of, reshape, slice_of
from relay_tune.quantization.calibration_files import Arrays
from relay_tune.quantization.programs import input_types, native_program, output_tensors, results
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import same_scope, with_body
from relay_tune.transform.quantize.readers import read_tensors
from relay_tune.transform.quantize.rounded_layers import rounded
from relay_tune.transform.quantize.stored_type import StoredType
from relay_tune.transform.quantize.stored_weights import weight_types

Types = Mapping[str, StoredType]
"""How tensors are stored, by name."""

SWITCHES, ROUNDING = ("scales", "zeros", "on", "weights_on"), ("narrow", "weights_narrow")
"""Inputs for the choices of integers, and of bfloat16."""


@dataclass(frozen=True, slots=True)
class _Names:
    """Switches, in the order of the inputs."""

    data: tuple[str, ...]
    weights: tuple[str, ...]
    inputs: tuple[str, ...]


class Simulation:
    """The network for any scales of data and any set of layers in integers."""

    def __init__(
        self,
        annotated: Module,
        types: Types,
        dtype: str,
        threads: int | None = None,
        *,
        rounds: bool = False,
        weight_bits: int = 8,
    ) -> None:
        """Builds the program; `types` of data are those that biases limit weights by.

        With `rounds`, layers can be in bfloat16, too.
        """
        self._reads = read_tensors(annotated, dtype)
        self._weights = weight_types(annotated, types, weight_bits)
        taken = input_types(annotated)
        self._names = _Names(
            tuple(dict.fromkeys(name for names in self._reads.values() for name in sorted(names))),
            tuple(f"{layer}.weight" for layer in self._reads),
            tuple(free_name(each, taken) for each in (*SWITCHES, *(ROUNDING if rounds else ()))),
        )
        inputs = self._inputs()
        outputs = _simulated(annotated, self._names, self._weights, inputs)
        self._program = native_program(annotated, outputs, inputs, threads)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that can be computed in integers."""
        return tuple(self._reads)

    def outputs(
        self, sample: Arrays, types: Types, layers: Iterable[str], narrow: Iterable[str] = ()
    ) -> list[np.ndarray]:
        """The outputs for a sample with some layers in integers, and others in bfloat16."""
        stored = [types[name] for name in self._names.data]
        values = (
            np.asarray([float(each.scale) for each in stored], np.float32),
            np.asarray([int(each.zero) for each in stored], np.int32),
            *self._chosen(layers),
            *self._chosen(narrow),
        )
        given = dict(zip(self._names.inputs, values, strict=False))
        return results(self._program, {**sample, **given})

    def _chosen(self, layers: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
        """Which data some layers read, and which weights are theirs."""
        chosen = set(layers)
        read = frozenset().union(*(self._reads[layer] for layer in chosen))
        return (
            np.asarray([name in read for name in self._names.data], bool),
            np.asarray([layer in chosen for layer in self._reads], bool),
        )

    def _inputs(self) -> list[Var]:
        sizes = len(self._names.data), len(self._names.weights)
        switches = TensorType((sizes[0],), "bool"), TensorType((sizes[1],), "bool")
        numbers = TensorType((sizes[0],), "float32"), TensorType((sizes[0],), "int32")
        pairs = zip(self._names.inputs, (*numbers, *switches, *switches), strict=False)
        return [Var(name, type_, type=type_) for name, type_ in pairs]


def _simulated(
    annotated: Module, names: _Names, weights: Types, inputs: Sequence[Var]
) -> list[Expr]:
    scales, zeros, on, weights_on, *rounding = inputs
    narrow, weights_narrow = rounding or (None, None)

    def visit(node: Expr) -> Expr:
        found = observation(node)
        if found is None:
            return node
        if found.is_weight and found.constant is not None:
            position = names.weights.index(found.tensor)
            integers = _rounded_weight(found.constant, weights[found.tensor], found.axis or 0)
            own = _narrowed(found.data, weights_narrow, position)
            return call("where", _number(weights_on, position), integers, own)
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


def _number(vector: Var, place: int) -> Expr:
    return reshape(slice_of(vector, (place,), (place + 1,)), ())


def _rounded_weight(weight: np.ndarray, type_: StoredType, axis: int) -> Expr:
    shape = [1] * weight.ndim
    shape[axis] = -1
    scale = type_.scale.reshape(shape)
    return constant_of((np.rint(weight / scale) * scale).astype(np.float32))
