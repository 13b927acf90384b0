"""Reading an ONNX file: its bytes, its operator sets, its functions, its inputs and weights."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import FunctionProto, GraphProto, ModelProto

from relay_tune.arguments import require_regular
from relay_tune.errors import InputError, ModelError, UnsupportedOperatorError
from relay_tune.quick_dataclass import dataclass

OLDEST_OPSET = 6
NEWEST_OPSET = 28
MAXIMUM_BYTES = 2**31 - 1

ASSUMED_OPSETS = {"com.microsoft": 1}
"""Operator sets that onnxruntime knows without an import, so that files leave it out."""

CHECK_PATH = "Check the path, and that the file may be read."
CHECK_CONTENT = "Check that the file is complete and was written in ONNX's binary format."

ModelSource: TypeAlias = str | os.PathLike[str] | bytes | ModelProto
FunctionKey: TypeAlias = tuple[str, str, str]
"""Domain, name and overload of a function."""


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """A parsed file.

    Attributes:
        graph: the main graph.
        opsets: the version of each imported operator set by domain ("" is ONNX itself).
        functions: the functions that the file defines.
        folder: where the file lies, the location of external data; None if it is not from a file.
    """

    graph: GraphProto
    opsets: Mapping[str, int]
    functions: Mapping[FunctionKey, FunctionProto]
    folder: Path | None


def read_model(source: ModelSource) -> OnnxModel:
    """Parse a model.

    Raises InputError if the file cannot be read, ModelError if it is no ONNX model.
    """
    if isinstance(source, ModelProto):
        return _checked(source, "The given model", None)
    if isinstance(source, bytes):
        return _checked(_parsed(source, "The given value"), "The given value", None)
    if not isinstance(source, str | os.PathLike):
        raise InputError(
            f"An ONNX model cannot be read from a value of type {type(source).__name__}.",
            remedy="Give a path, the bytes of a file, or an onnx.ModelProto.",
        )
    path = Path(source)
    return _checked(_parsed(_content(path), str(path)), str(path), path.parent)


def opset_versions(imports: Iterable[Any]) -> dict[str, int]:
    """The imported operator sets; raises ModelError if one is imported in two versions."""
    versions: dict[str, int] = {}
    for entry in imports:
        domain = normal_domain(entry.domain)
        if not 1 <= entry.version < 2**31:
            raise ModelError(f"The operator set {domain!r} has the version {entry.version}.")
        if versions.setdefault(domain, entry.version) != entry.version:
            raise ModelError(f"The operator set {domain or 'ai.onnx'!r} is imported twice.")
    return versions


def normal_domain(domain: object) -> str:
    """A domain name, where ONNX itself is the empty string."""
    name = checked_text(domain, "domain")
    return "" if name == "ai.onnx" else name


def checked_text(value: object, what: str) -> str:
    """A name of the file; raises ModelError if its bytes are not valid text."""
    if isinstance(value, str):
        return value
    raise ModelError(f"The {what} {value!r} is not valid UTF-8 text.")


def _content(path: Path) -> bytes:
    require_regular(path, "The model file")
    try:
        if path.stat().st_size > MAXIMUM_BYTES:
            raise ModelError(
                f"The file {path} is larger than 2 GiB, the limit of the format.",
                remedy="Save the weights as external data.",
            )
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"The model file {path} cannot be read: {reason}.", remedy=CHECK_PATH
        ) from error


def _parsed(content: bytes, what: str) -> ModelProto:
    try:
        return ModelProto.FromString(content)
    except DecodeError as error:
        raise ModelError(
            f"{what} is not an ONNX model: the content cannot be decoded.",
            remedy=CHECK_CONTENT,
        ) from error


def _checked(model: ModelProto, what: str, folder: Path | None) -> OnnxModel:
    if not model.HasField("graph"):
        raise ModelError(
            f"{what} holds no graph, so it is not an ONNX model.", remedy=CHECK_CONTENT
        )
    opsets = {**ASSUMED_OPSETS, **opset_versions(model.opset_import)}
    version = opsets.get("")
    if version is not None and not OLDEST_OPSET <= version <= NEWEST_OPSET:
        raise UnsupportedOperatorError(
            f"The model uses version {version} of the operator set; supported are {OLDEST_OPSET} "
            f"to {NEWEST_OPSET}.",
            remedy="Convert it with onnx.version_converter.convert_version(model, 17).",
        )
    return OnnxModel(model.graph, opsets, _functions(model), folder)


def _functions(model: ModelProto) -> dict[FunctionKey, FunctionProto]:
    functions: dict[FunctionKey, FunctionProto] = {}
    for function in model.functions:
        key = (
            normal_domain(function.domain),
            checked_text(function.name, "function name"),
            checked_text(function.overload, "overload"),
        )
        if key in functions:
            raise ModelError(f"The function {key[1]!r} of domain {key[0]!r} is defined twice.")
        functions[key] = function
    return functions
