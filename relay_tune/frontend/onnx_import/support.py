"""Before anything is translated: which operators of a model have no translation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onnx import AttributeProto, GraphProto, NodeProto

from relay_tune.errors import ModelError
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
from relay_tune.frontend.onnx_import.refusals import Refusals, missing_operator
from relay_tune.frontend.onnx_import.scope import node_label


def collect_missing_operators(model: OnnxModel, refusals: Refusals) -> None:
    """Note all nodes whose operators have no translation, sorted by operator."""
    missing = [
        (_full_name(node), node_label(node), node.domain, tuple(node.output))
        for node, opsets in _all_nodes(model)
        if not _is_supported(node, opsets, model)
    ]
    for operator, name, domain, outputs in sorted(missing, key=lambda each: each[0]):
        refusals.add(missing_operator(domain), name, operator, outputs)


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
    name = str(node.op_type) or "(a node without an operator)"
    return f"{domain}::{name}" if domain else name
