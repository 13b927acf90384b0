"""Annotate which tensors are to be stored as integers: the first step of quantization.

before:
    %0 = nn.conv2d(%x, W);
    nn.relu(nn.bias_add(%0, b))

after:
    %0 = qnn.observe(%x, tensor="x", dtype="uint8");
    %1 = qnn.observe(W, tensor="conv2d.weight", axis=0);
    %2 = nn.conv2d(%0, %1);
    %3 = qnn.observe(b, tensor="conv2d.bias", dtype="int32", axis=0,
                     factors=("x", "conv2d.weight"));
    nn.relu(nn.bias_add(%2, %3))

Layers that have a form in integers (`relay_tune.op_rules.quantize`) read bytes; what moves bytes
only, as a maximum over windows does, moves those of its data. Annotations mean nothing to a build.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import ClassVar

from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Expr, Let, Tuple
from relay_tune.ir.module import Module
from relay_tune.ir.provenance import made_for
from relay_tune.ir.traversal import children, rebuild, use_counts
from relay_tune.op_rules.fold.weighted import WeightedLayer
from relay_tune.op_rules.quantize.affine import BYTES
from relay_tune.op_rules.quantize.annotations import added_bias
from relay_tune.op_rules.quantize.questions import passed_through, summed
from relay_tune.op_rules.typed import call, constant_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import with_body
from relay_tune.transform.quantize.layers import (
    Names,
    QuantizableLayer,
    layers_of,
    straight_nodes,
)


@dataclass(frozen=True)
class Annotate:
    """Annotates data, weights and biases of layers.

    Fields:
        activations: the integer type of data, "uint8" or "int8".
        keep: names of layers that stay in float32.
    """

    name: ClassVar[str] = "annotate"
    activations: str = "uint8"
    keep: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.activations not in BYTES:
            raise InputError(
                f"Activations cannot be stored as {self.activations!r}.",
                remedy='Use "uint8" or "int8".',
            )

    def __call__(self, module: Module) -> Module:
        """The module with annotations in its main function."""
        layers = [each for each in layers_of(module, self.activations) if each.reason is None]
        plan = _plan(module, layers, self.activations, self.keep)
        main = module.main
        return module.with_function("main", with_body(main, _annotated(main.body, plan)))


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is observed.

    Attributes:
        dtype: the type of data.
        tensors: names of data, by the expression that computes them.
        layers: by call, with the name of the data that it reads.
        biases: the layer that each addition of a bias follows.
    """

    dtype: str
    tensors: dict[Expr, str] = field(default_factory=dict)
    layers: dict[Expr, tuple[QuantizableLayer, WeightedLayer, str]] = field(default_factory=dict)
    biases: dict[Expr, Expr] = field(default_factory=dict)


def _plan(
    module: Module, layers: Iterable[QuantizableLayer], dtype: str, keep: frozenset[str]
) -> _Plan:
    """What is observed; names of data are the same whatever layers stay in float32."""
    body = module.main.body
    uses, plan = use_counts(body), _Plan(dtype)
    calls = [(layer, each) for layer in layers for each in layer.calls]
    origins = {each: _origins(each.layer.arguments[0], dtype, uses) for _, each in calls}
    names = _names(module, origins.values(), dtype, uses)
    read = [(layer, each) for layer, each in calls if layer.name not in keep]
    plan.tensors.update({tensor: names[tensor] for _, each in read for tensor in origins[each]})
    for tensor in _summed(plan.tensors, dtype, uses):
        plan.tensors[tensor] = names[tensor]
    for layer, each in read:
        plan.layers[each.layer] = layer, each, names[origins[each][0]]
    for node in straight_nodes(body):
        first = node.arguments[0] if isinstance(node, Call) and node.arguments else None
        if first is None or first not in plan.layers or uses.get(first, 1) > 1:
            continue
        if added_bias(node, plan.layers[first][1]) is not None:
            plan.biases[node] = first
    return plan


def _names(
    module: Module, read: Iterable[list[Expr]], dtype: str, uses: Mapping[Expr, int]
) -> dict[Expr, str]:
    """The names of all data that layers could read as bytes, given what each of them reads."""
    joined = list(read)
    wanted = dict.fromkeys(tensor for found in joined for tensor in found)
    wanted.update(dict.fromkeys(_summed(wanted, dtype, uses)))
    names = Names()
    found = {tensor: names.of(tensor) for tensor in _in_order(module, wanted)}
    for tensors in joined:
        found.update(dict.fromkeys(tensors, found[tensors[0]]))  # joined bytes have one scale
    return found


def _summed(tensors: Iterable[Expr], dtype: str, uses: Mapping[Expr, int]) -> list[Expr]:
    """Where the bytes can be stored first that are added up to become tensors."""
    parts = [data for tensor in tensors for data in summed(tensor, dtype)]
    return [origin for data in parts for origin in _origins(data, dtype, uses)]


def _in_order(module: Module, wanted: Mapping[Expr, None]) -> list[Expr]:
    inputs = [param for param in module.main.params if param in wanted]
    nodes = straight_nodes(module.main.body)
    return [*inputs, *(node for node in nodes if node in wanted and node not in inputs)]


def _origins(data: Expr, dtype: str, uses: Mapping[Expr, int]) -> list[Expr]:
    """Where the bytes of a tensor can be stored first; before joints of what nobody else reads."""
    found: list[Expr] = []
    stack = [data]
    while stack:
        node = stack.pop()
        parts = passed_through(node, dtype)
        if parts and (len(parts) == 1 or all(uses.get(part, 1) == 1 for part in parts)):
            stack.extend(reversed(parts))
        else:
            found.append(node)
    return found


def _annotated(body: Expr, plan: _Plan) -> Expr:
    done: dict[Expr, Expr] = {}
    observed: dict[Expr, Expr] = {}

    def stored(node: Expr) -> Expr:
        """What a call reads in place of a node."""
        if node in plan.tensors and node not in observed:
            data, name = done.get(node, node), plan.tensors[node]
            with made_for(node.span):
                observed[node] = call("qnn.observe", data, tensor=name, dtype=plan.dtype)
        return observed.get(node) or done.get(node, node)

    result = body
    while isinstance(result, Let):
        result = result.body
    for node in straight_nodes(body):
        is_kept = isinstance(node, Let) or (isinstance(node, Tuple) and node is result)
        parts = [done.get(c, c) if is_kept else stored(c) for c in children(node)]
        with made_for(node.span):
            if node in plan.layers:
                layer, each, _ = plan.layers[node]
                if layer.weight not in observed:
                    observed[layer.weight] = _observed_weight(layer, each)
                parts[2] = observed[layer.weight]
            is_bias = node in plan.biases
            done[node] = _with_bias(node, plan, parts) if is_bias else rebuild(node, parts)
    return done[body]


def _observed_weight(layer: QuantizableLayer, each: WeightedLayer) -> Expr:
    return call(
        "qnn.observe",
        layer.weight,
        tensor=f"{layer.name}.weight",
        dtype="int8",
        axis=each.output_axis,
    )


def _with_bias(node: Expr, plan: _Plan, parts: list[Expr]) -> Expr:
    """A bias as numbers of the scale of its layer's sums."""
    layer, each, data = plan.layers[plan.biases[node]]
    vector = added_bias(node, each)
    if vector is None:
        return rebuild(node, parts)
    suffix = "" if len(layer.calls) == 1 else f" of {data}"
    observed = call(
        "qnn.observe",
        constant_of(vector),
        tensor=f"{layer.name}.bias{suffix}",
        dtype="int32",
        axis=0,
        factors=(data, f"{layer.name}.weight"),
    )
    return call("nn.bias_add", parts[1], observed, axis=each.channel_axis)
