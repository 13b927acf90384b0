"""Bodies of operators that are defined by simpler ones: functions of the file, and of ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import FunctionProto, NodeProto, TypeProto

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.model import FunctionKey
from relay_tune.frontend.onnx_import.types import element_type
from relay_tune.ir.expr import Expr
from relay_tune.ir.types import TensorType


def local_function(
    functions: Mapping[FunctionKey, FunctionProto], domain: str, name: str, overload: str
) -> FunctionProto | None:
    """A function that the file defines."""
    return functions.get((domain, name, overload))


def has_standard_body(domain: str, operator: str, opset: int) -> bool:
    """Whether the ONNX standard defines an operator by simpler ones."""
    schema = _schema(domain, operator, opset)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def standard_body(
    domain: str, opset: int, node: NodeProto, inputs: Sequence[Expr | None]
) -> FunctionProto | None:
    """The definition of an operator by simpler ones, for inputs of these types.

    Raises ModelError if the standard refuses the node.
    """
    schema = _schema(domain, node.op_type, opset)
    if schema is None:
        return None
    try:
        content = _body_content(schema, opset, node, inputs)
        return FunctionProto.FromString(content) if content else None
    except (RuntimeError, ValueError, TypeError, IndexError, DecodeError) as error:
        raise ModelError(f"the attributes or inputs do not fit the operator: {error}") from error


def _schema(domain: str, operator: str, opset: int) -> onnx.defs.OpSchema | None:
    try:
        return onnx.defs.get_schema(operator, opset, domain)
    except onnx.defs.SchemaError:
        return None


def _body_content(
    schema: onnx.defs.OpSchema, opset: int, node: NodeProto, inputs: Sequence[Expr | None]
) -> bytes:
    if schema.has_function:
        version = _version(schema.function_opset_versions, opset)
        return bytes(schema.get_function_with_opset_version(version))
    if schema.has_context_dependent_function:
        version = _version(schema.context_dependent_function_opset_versions, opset)
        types = [_type_content(each) for each in inputs]
        return bytes(
            schema.get_context_dependent_function_with_opset_version(
                version, node.SerializeToString(), types
            )
        )
    return b""


def _version(available: Sequence[int], opset: int) -> int:
    """The newest version that the model's operator set knows, or the oldest there is."""
    return max((version for version in available if version <= opset), default=min(available))


def _type_content(expr: Expr | None) -> bytes:
    if expr is None or not isinstance(expr.type, TensorType):
        return bytes(TypeProto().SerializeToString())
    proto = TypeProto()
    proto.tensor_type.elem_type = element_type(expr.type.dtype)
    for dim in expr.type.shape:
        entry = proto.tensor_type.shape.dim.add()
        if isinstance(dim, int):
            entry.dim_value = dim
        else:
            entry.dim_param = str(dim)
    return bytes(proto.SerializeToString())
