"""ONNX models in the JSON form of protocol buffers."""

from __future__ import annotations

from pathlib import Path

from google.protobuf.json_format import Parse, ParseError  # type: ignore[import-untyped]
from onnx import ModelProto

from relay_tune.errors import InputError, ModelError
from relay_tune.frontend.onnx_import.model import CHECK_PATH


def read_json(path: Path) -> ModelProto:
    """The model that a JSON file describes.

    Raises InputError if the file cannot be read, ModelError if it is no ONNX model.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"The model file {path} cannot be read: {error.strerror}.", remedy=CHECK_PATH
        ) from error
    except ValueError as error:
        raise ModelError(
            f"{path} is not JSON: {error}.", remedy="Give a file with UTF-8 text."
        ) from error
    try:
        return Parse(text, ModelProto())
    except (ParseError, RecursionError) as error:
        raise ModelError(
            f"{path} is neither an ONNX model in JSON nor a module of ours.",
            notes=(f"As an ONNX model: {' '.join(str(error).split())}",),
            remedy="Write it with onnx.save_model(model, path, format='json') or module.to_json().",
        ) from error
