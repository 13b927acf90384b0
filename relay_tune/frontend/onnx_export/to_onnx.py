"""ONNX out: a module without control flow becomes a model that other systems can run."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import ModelProto, ValueInfoProto, helper

from relay_tune.errors import UnsupportedOperatorError
from relay_tune.frontend.onnx_export.call import OperatorCall, Value
from relay_tune.frontend.onnx_export.graph import GraphWriter, value_info
from relay_tune.frontend.onnx_export.table import OPERATOR_TRANSLATORS
from relay_tune.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    type_name,
)
from relay_tune.ir.known_type import known_type
from relay_tune.ir.module import Module, require_module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order, use_counts
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.typing.infer import infer_types

OPERATOR_SET = 18
IR_VERSION = 8
"""The format that came with the operator set, so that older readers accept the file."""


def to_onnx(module: Module) -> ModelProto:
    """The `main` of a module as an ONNX model of operator set 18.

    The module is typed first where it is not. Inputs and outputs keep their names, weights become
    initializers.

    Raises:
        TypeInferenceError: the module has no type.
        UnsupportedOperatorError: lists all that ONNX, or this export, cannot say.
        InputError: the weights do not fit into one file.
    """
    typed = module if require_module(module).main.type is not None else infer_types(module)
    writer = _FunctionWriter(typed.main)
    writer.run()
    graph = writer.graph.finish(writer.inputs, writer.declare_outputs(_output_names(typed)))
    return helper.make_model(
        graph,
        producer_name="relay_tune",
        ir_version=IR_VERSION,
        opset_imports=[
            helper.make_opsetid("", OPERATOR_SET),
            *(helper.make_opsetid(domain, 1) for domain in writer.graph.domains),
        ],
    )


def _output_names(module: Module) -> tuple[str, ...]:
    """The names that an imported model gave its outputs."""
    names = module.attributes.get("outputs", ())
    return tuple(str(name) for name in names) if isinstance(names, tuple | list) else ()


class _FunctionWriter:
    """Writes one function, node by node, and collects what cannot be written."""

    def __init__(self, function: Function) -> None:
        self.graph = GraphWriter()
        self.inputs: list[ValueInfoProto] = []
        self._function = function
        self._values: dict[Expr, Value] = {}
        self._bound: dict[Var, Expr] = {}
        self._uses = use_counts(function.body)
        self._problems: dict[str, None] = {}

    def run(self) -> None:
        """Write all nodes; raises UnsupportedOperatorError with everything that failed."""
        for param in self._function.params:
            self._declare_input(param)
        nodes = list(post_order(self._function.body, enter=_is_straight))
        self._bound = {node.var: node.value for node in nodes if isinstance(node, Let)}
        for node in nodes:
            if not isinstance(node, Operator):
                self._values[node] = self._written(node)
        if self._problems:
            raise UnsupportedOperatorError(
                f"{len(self._problems)} construct(s) of the module cannot be written as ONNX.",
                notes=tuple(self._problems),
                remedy=(
                    "Export a module of plain operators, before layouts and fusion are chosen, or "
                    "write Relay text (model.relay), which has all of the language."
                ),
            )

    def declare_outputs(self, names: Sequence[str]) -> list[ValueInfoProto]:
        """The outputs; each gets a node of its own, which carries its name."""
        values = self._values[self._function.body]
        fields = values if isinstance(values, tuple) else (values,)
        types = _field_types(self._function.body.type)
        default = ["output"] if len(fields) == 1 else [f"output{n}" for n in range(len(fields))]
        wanted = names if len(names) == len(fields) else default
        return [
            value_info(self.graph.named(value, name), type_)
            for value, name, type_ in zip(fields, wanted, types, strict=True)
        ]

    def _declare_input(self, param: Var) -> None:
        type_ = known_type(param)
        if not isinstance(type_, TensorType):
            self._problems[f"the input {param.name} is no tensor"] = None
            return
        name = self.graph.fresh_name(param.name)
        self._values[param] = name
        self.inputs.append(value_info(name, type_))

    def _written(self, node: Expr) -> Value:
        match node:
            case Var() if node in self._bound:
                return self._values[self._bound[node]]
            case Var():
                return self._values.get(node, node.name)
            case Constant():
                return self.graph.constant(node.data)
            case Tuple():
                return tuple(self._name_of(field) for field in node.fields)
            case TupleGetItem():
                fields = self._values[node.tuple_value]
                return fields[node.index] if isinstance(fields, tuple) else fields
            case Let():
                return self._values[node.body]
            case Call(callee=Operator() as operator):
                return self._written_call(node, operator)
            case _:
                self._problems[_description(node)] = None
                return ""

    def _is_own(self, arguments: Sequence[Expr]) -> bool:
        """Whether these values were computed for one reader only."""
        return all(isinstance(one, Call) and self._uses[one] == 1 for one in arguments)

    def _name_of(self, field: Expr) -> str:
        value = self._values[field]
        if isinstance(value, tuple):
            self._problems["tuples inside of tuples"] = None
            return ""
        return value

    def _written_call(self, node: Call, operator: Operator) -> Value:
        translator = OPERATOR_TRANSLATORS.get(operator.name)
        if translator is None:
            self._problems[f"operator {operator.name}"] = None
            return ("",) * len(_field_types(node.type)) if _is_tuple(node) else ""
        call = OperatorCall(
            graph=self.graph,
            operator=operator.name,
            attributes=node.attributes,
            arguments=tuple(self._values[argument] for argument in node.arguments),
            types=tuple(_known(argument.type) for argument in node.arguments),
            result=_known(node.type),
            owns_input=self._is_own(node.arguments[:1]),
        )
        try:
            return translator(call)
        except UnsupportedOperatorError as error:
            self._problems[f"operator {operator.name}: {error.message}"] = None
            return ("",) * len(_field_types(node.type)) if _is_tuple(node) else ""


def _is_straight(node: Expr) -> bool:
    """Whether a node is written together with what is inside of it."""
    return isinstance(node, Call | Tuple | TupleGetItem | Let)


def _is_tuple(node: Expr) -> bool:
    return isinstance(node.type, TupleType)


def _known(type_: Type | None) -> Type:
    return type_ if type_ is not None else TupleType(())


def _field_types(type_: Type | None) -> tuple[TensorType, ...]:
    fields = type_.fields if isinstance(type_, TupleType) else (type_,)
    return tuple(field for field in fields if isinstance(field, TensorType))


def _description(node: Expr) -> str:
    if isinstance(node, Call):
        return f"a call of {node.callee!r}, which is no operator"
    return f"an expression {type_name(node)}"
