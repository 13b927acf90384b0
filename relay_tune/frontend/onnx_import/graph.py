"""Walking an ONNX graph in order, node by node, into typed expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto

from relay_tune.errors import (
    INITIALIZER,
    ModelError,
    NodeSpan,
    RelayError,
    UnsupportedOperatorError,
)
from relay_tune.frontend.onnx_import.branch_ranks import BranchRanks
from relay_tune.frontend.onnx_import.build import Builder, RunTimeValueError, weight
from relay_tune.frontend.onnx_import.control import CONTROL_OPERATORS
from relay_tune.frontend.onnx_import.functions import (
    has_standard_body,
    local_function,
    standard_body,
)
from relay_tune.frontend.onnx_import.model import (
    FunctionKey,
    checked_text,
    normal_domain,
    opset_versions,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.node_order import in_order, names_read
from relay_tune.frontend.onnx_import.operators.narrow import note_narrow_results, refuse_narrow
from relay_tune.frontend.onnx_import.operators.table import find_translator
from relay_tune.frontend.onnx_import.refusals import (
    REFUSED,
    DependsOnRefusedError,
    Refusals,
    missing_operator,
    require_translated,
)
from relay_tune.frontend.onnx_import.scope import GraphScope, located, node_label
from relay_tune.frontend.onnx_import.subgraph import Subgraph
from relay_tune.frontend.onnx_import.symbolic import with_known_elements
from relay_tune.frontend.onnx_import.tensor import sparse_array, tensor_array
from relay_tune.ir.expr import Constant, Expr

MAXIMUM_EXPANDED_NODES = 100_000


class GraphTranslator:
    """Translates the nodes of one model; what has no translation is noted in `refusals`.

    Attributes:
        build: makes the expressions.
        refusals: what was refused so far.
    """

    def __init__(
        self,
        functions: Mapping[FunctionKey, FunctionProto],
        folder: Path | None,
        refusals: Refusals,
        branch_ranks: BranchRanks,
    ) -> None:
        self.build = Builder(branch_ranks)
        self.refusals = refusals
        self._functions = functions
        self._folder = folder
        self._expanded = 0
        self._weights: dict[int, tuple[GraphProto, Sequence[tuple[str, Expr]]]] = {}

    def define_weights(self, graph: GraphProto, scope: GraphScope) -> None:
        """Name the constants that a graph brings along, the same ones each time that it runs."""
        if id(graph) not in self._weights:
            self._weights[id(graph)] = graph, tuple(self._read_weights(graph))
        for name, value in self._weights[id(graph)][1]:
            scope.define(name, value)

    def _read_weights(self, graph: GraphProto) -> Iterator[tuple[str, Expr]]:
        for tensor in graph.initializer:
            name = checked_text(tensor.name, "initializer name")
            what = f"The initializer {name!r}"
            value: Expr = REFUSED
            try:
                value = _named(weight(tensor_array(tensor, self._folder, what)), name)
                self.build.note_element_type(value, tensor.data_type)
            except UnsupportedOperatorError as error:
                if _is_read(graph, tensor.name):
                    self.refusals.add(error, name)
            yield name, value
        for sparse in graph.sparse_initializer:
            name = checked_text(sparse.values.name, "initializer name")
            what = f"The initializer {name!r}"
            value = REFUSED
            with self.refusals.collecting(name):
                value = _named(weight(sparse_array(sparse, self._folder, what)), name)
            yield name, value

    def run(self, nodes: Sequence[NodeProto], scope: GraphScope) -> None:
        """Translate nodes, each behind those that it needs, and name their outputs."""
        for node in in_order(nodes):
            span = scope.span(node)
            results = self._results_or_refused(node, span, scope)
            with located(span):
                self._define_outputs(node, results, scope)

    def _results_or_refused(
        self, node: NodeProto, span: NodeSpan, scope: GraphScope
    ) -> Sequence[Expr | None]:
        """The results of a node; REFUSED where it has no translation or needs what has none."""
        try:
            with (
                self.refusals.collecting(
                    span.name, span.operator, tuple(node.output), self._collected_errors(node)
                ),
                located(span),
            ):
                return self._run_node(node, scope)
        except DependsOnRefusedError:
            with located(span):
                self._examine_graphs(node, scope)
        return [REFUSED] * len(node.output)

    def _collected_errors(self, node: NodeProto) -> tuple[type[RelayError], ...]:
        """The errors after which the import goes on.

        Malformed calls of functions and graphs end it: they may be nested without end.
        """
        domain = normal_domain(node.domain)
        if local_function(self._functions, domain, node.op_type, node.overload) is not None:
            return (UnsupportedOperatorError,)
        if find_translator(domain, node.op_type) is None:
            return (UnsupportedOperatorError,)
        return (UnsupportedOperatorError, ModelError)

    def _run_node(self, node: NodeProto, scope: GraphScope) -> Sequence[Expr | None]:
        inputs = _inputs(node, scope)
        attributes = _resolved_attributes(node, scope.attributes)
        try:
            return self._results(node, inputs, attributes, scope)
        except RunTimeValueError as error:
            if not error.inputs:
                error.inputs = self.build.inputs_of(error.value)
                error.notes = (f"It depends on the input(s) {', '.join(error.inputs)}.",)
            raise

    def _define_outputs(
        self, node: NodeProto, results: Sequence[Expr | None], scope: GraphScope
    ) -> None:
        for result in results:
            self.build.note_sizes(result)
        outputs = [checked_text(name, "value name") for name in node.output]
        for index, name in enumerate(outputs):
            if index >= len(results) and name:
                raise ModelError(f"output {index} ({name!r}) does not exist.")
            if name:
                scope.define(name, results[index])

    def _examine_graphs(self, node: NodeProto, scope: GraphScope) -> None:
        """Note what has no translation in the graphs of a node that is not translated itself.

        Nothing is known of their inputs. A branch that is known not to be taken is left out.
        """
        if node.op_type == "If" and isinstance(_inputs(node, scope)[0], Constant):
            return
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                inputs = [REFUSED] * len(attribute.g.input)
                self._define_and_run(attribute.g, inputs, scope.inner())

    def _results(
        self,
        node: NodeProto,
        inputs: tuple[Expr | None, ...],
        attributes: Mapping[str, AttributeProto],
        scope: GraphScope,
    ) -> Sequence[Expr | None]:
        domain = normal_domain(node.domain)
        function = local_function(self._functions, domain, node.op_type, node.overload)
        if function is not None:
            return self._call_function(node, function, inputs, attributes, scope)
        opset = scope.opsets.get(domain)
        if opset is None:
            raise ModelError(f"the operator set {domain or 'ai.onnx'!r} is not imported.")
        require_translated(inputs)
        view = self._view(node, opset, inputs, attributes)
        control = CONTROL_OPERATORS.get(node.op_type) if domain == "" else None
        if control is not None:
            refuse_narrow(self.build, node.op_type, inputs)
            return control(view, self.build, lambda graph: self._subgraph(graph, scope))
        translate = find_translator(domain, node.op_type)
        if translate is None:
            return self._expand_standard(node, domain, opset, inputs, attributes, scope)
        result = translate(view, self.build)
        results = (result,) if isinstance(result, Expr) else result
        note_narrow_results(self.build, view, results)
        return with_known_elements(self.build, view, results) if domain == "" else results

    def _view(
        self,
        node: NodeProto,
        opset: int,
        inputs: tuple[Expr | None, ...],
        attributes: Mapping[str, AttributeProto],
    ) -> OnnxNode:
        return OnnxNode(
            name=node_label(node),
            operator=node.op_type,
            opset=opset,
            inputs=inputs,
            wanted=tuple(bool(name) for name in node.output),
            attributes=attributes,
            folder=self._folder,
        )

    def _subgraph(self, graph: GraphProto, scope: GraphScope) -> Subgraph:
        """A body that control flow can run, several times, with other inputs each time."""

        def run(arguments: Sequence[Expr | None]) -> list[Expr]:
            inner = scope.inner()
            if len(arguments) != len(graph.input):
                raise ModelError(
                    f"the subgraph has {len(graph.input)} inputs, but {len(arguments)} are given."
                )
            self._define_and_run(graph, arguments, inner)
            outputs = [_output(inner, value.name) for value in graph.output]
            require_translated(outputs)
            refuse_narrow(self.build, "A subgraph", outputs)
            return outputs

        def bind_captured() -> None:
            names = [name for node in graph.node for name in names_read(node)]
            for name in dict.fromkeys([*names, *(output.name for output in graph.output)]):
                scope.bind_once(name, self.build.once)

        return Subgraph(len(graph.node), len(graph.input), len(graph.output), run, bind_captured)

    def _define_and_run(
        self, graph: GraphProto, arguments: Sequence[Expr | None], inner: GraphScope
    ) -> None:
        self._charge(len(graph.node))
        self.define_weights(graph, inner)
        for value, argument in zip(graph.input, arguments, strict=True):
            inner.define(checked_text(value.name, "value name"), argument)
        self.run(graph.node, inner)

    def _expand_standard(
        self,
        node: NodeProto,
        domain: str,
        opset: int,
        inputs: tuple[Expr | None, ...],
        attributes: Mapping[str, AttributeProto],
        scope: GraphScope,
    ) -> Sequence[Expr | None]:
        if not scope.is_standard and not has_standard_body(domain, node.op_type, opset):
            raise DependsOnRefusedError  # noted before the translation began
        plain = NodeProto()
        plain.CopyFrom(node)
        del plain.attribute[:]
        plain.attribute.extend(attributes.values())
        function = standard_body(domain, opset, plain, inputs)
        if function is None:
            raise missing_operator(domain)
        return self._call_function(node, function, inputs, attributes, scope, is_standard=True)

    def _call_function(
        self,
        node: NodeProto,
        function: FunctionProto,
        inputs: tuple[Expr | None, ...],
        attributes: Mapping[str, AttributeProto],
        scope: GraphScope,
        *,
        is_standard: bool = False,
    ) -> Sequence[Expr | None]:
        self._charge(len(function.node))
        if len(inputs) > len(function.input):
            raise ModelError(
                f"{len(inputs)} inputs are given, but {function.name} takes {len(function.input)}."
            )
        given = {each.name: each for each in function.attribute_proto} | dict(attributes)
        opsets = {**scope.opsets, **opset_versions(function.opset_import)}
        inner = scope.function(opsets, given, scope.span(node), is_standard=is_standard)
        padded = (*inputs, *(None,) * (len(function.input) - len(inputs)))
        for name, value in zip(function.input, padded, strict=True):
            inner.define(checked_text(name, "value name"), value)
        self.run(function.node, inner)
        return [inner.values.get(checked_text(name, "value name")) for name in function.output]

    def _charge(self, nodes: int) -> None:
        self._expanded += nodes
        if self._expanded > MAXIMUM_EXPANDED_NODES:
            raise ModelError(
                f"functions and loops expand to more than {MAXIMUM_EXPANDED_NODES} nodes."
            )


def _is_read(graph: GraphProto, name: str) -> bool:
    """Whether a node or an output of the graph reads a value of this name."""
    outputs = (output.name for output in graph.output)
    return name in outputs or any(name in names_read(node) for node in graph.node)


def _named(value: Constant, name: str) -> Constant:
    """A weight that knows what the file calls it."""
    return replace(value, span=NodeSpan.of(name, INITIALIZER))


def _inputs(node: NodeProto, scope: GraphScope) -> tuple[Expr | None, ...]:
    return tuple(scope.find(checked_text(name, "value name")) for name in node.input)


def _output(scope: GraphScope, name: Any) -> Expr:
    value = scope.find(checked_text(name, "value name"))
    if value is None:
        raise ModelError("an output of a subgraph has no name.")
    return value


def _resolved_attributes(
    node: NodeProto, outer: Mapping[str, AttributeProto]
) -> dict[str, AttributeProto]:
    """The attributes of a node by name; references to those of the function are followed."""
    attributes: dict[str, AttributeProto] = {}
    for attribute in node.attribute:
        name = checked_text(attribute.name, "attribute name")
        if name in attributes:
            raise ModelError(f"attribute {name} is given twice.")
        if not attribute.ref_attr_name:
            attributes[name] = attribute
        elif attribute.ref_attr_name in outer:
            renamed = AttributeProto()
            renamed.CopyFrom(outer[attribute.ref_attr_name])
            renamed.name = name
            attributes[name] = renamed
    return attributes
