"""ONNX models in the JSON form of protocol buffers."""

from __future__ import annotations

from google.protobuf.json_format import Parse, ParseError  # type: ignore[import-untyped]
from onnx import ModelProto

from relay_tune.errors import ModelError


def model_of_json(text: str, source_name: str) -> ModelProto:
    """The model that a JSON text describes; raises ModelError if it is no ONNX model."""
    try:
        model: ModelProto = Parse(text, ModelProto())
    except (ParseError, RecursionError) as error:
        raise _foreign(source_name, " ".join(str(error).split())) from error
    if not model.HasField("graph"):
        raise _foreign(source_name, "it holds no graph.")
    return model


def _foreign(source_name: str, reason: str) -> ModelError:
    return ModelError(
        f"{source_name} is neither an ONNX model in JSON nor a module of ours.",
        notes=(f"As an ONNX model: {reason}",),
        remedy="Write it with onnx.save_model(model, path, format='json') or rt.to_json(module).",
    )
