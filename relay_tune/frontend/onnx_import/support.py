"""Before anything is translated: which operators of a model have no translation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onnx import AttributeProto, GraphProto, NodeProto

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.control import CONTROL_OPERATORS
from relay_tune.frontend.onnx_import.functions import has_standard_body
from relay_tune.frontend.onnx_import.model import (
    FunctionKey,
    OnnxModel,
    checked_text,
    normal_domain,
    opset_versions,
)
from relay_tune.frontend.onnx_import.operators.table import find_translator
from relay_tune.frontend.onnx_import.scope import node_label

_NAMES_SHOWN = 3


def check_supported(model: OnnxModel) -> None:
    """Raises UnsupportedOperatorError that lists all operators without a translation."""
    missing: dict[str, list[str]] = {}
    for node, opsets in _all_nodes(model):
        if not _is_supported(node, opsets, model):
            missing.setdefault(_full_name(node), []).append(node_label(node))
    if not missing:
        return
    lines = tuple(_line(name, places) for name, places in sorted(missing.items()))
    kinds = ", ".join(sorted(missing))
    raise UnsupportedOperatorError(
        f"The model uses {len(missing)} operator(s) that are not supported: {kinds}.",
        notes=lines,
        remedy="Export the model without them, or replace them by supported operators.",
    )


def _all_nodes(model: OnnxModel) -> Iterator[tuple[NodeProto, Mapping[str, int]]]:
    """Every node of the graph, of its subgraphs, and of the functions that they call, once."""
    visited: set[FunctionKey] = set()
    stack: list[tuple[Sequence[NodeProto], Mapping[str, int]]] = [(model.graph.node, model.opsets)]
    while stack:
        nodes, opsets = stack.pop()
        for node in nodes:
            yield node, opsets
            stack += [(graph.node, opsets) for graph in _subgraphs(node)]
            key = _key(node)
            if key in model.functions and key not in visited:
                visited.add(key)
                function = model.functions[key]
                own = {**opsets, **opset_versions(function.opset_import)}
                stack.append((function.node, own))


def _subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


def _is_supported(node: NodeProto, opsets: Mapping[str, int], model: OnnxModel) -> bool:
    key = _key(node)
    if key in model.functions:
        return True
    domain, operator, _ = key
    if domain not in opsets:
        raise ModelError(
            f"the operator set {domain or 'ai.onnx'!r} is not imported.",
            where=f"node '{node_label(node)}' ({operator})",
        )
    if find_translator(domain, operator) is not None:
        return True
    if domain == "" and operator in CONTROL_OPERATORS:
        return True
    return has_standard_body(domain, operator, opsets[domain])


def _key(node: NodeProto) -> FunctionKey:
    return (
        normal_domain(node.domain),
        checked_text(node.op_type, "operator"),
        checked_text(node.overload, "overload"),
    )


def _full_name(node: NodeProto) -> str:
    domain = normal_domain(node.domain)
    return f"{domain}::{node.op_type}" if domain else str(node.op_type)


def _line(name: str, places: Sequence[str]) -> str:
    shown = ", ".join(repr(place) for place in places[:_NAMES_SHOWN])
    more = ", ..." if len(places) > _NAMES_SHOWN else ""
    return f"{name}: {len(places)} node(s): {shown}{more}"
