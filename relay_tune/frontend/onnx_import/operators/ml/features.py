"""Features of examples: scaled, normalised, encoded, chosen, filled where they are missing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of, shape_of, static_dim
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.ml.scores import as_rows
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.types import is_float
from relay_tune.ir.expr import Expr


def translate_scaler(node: OnnxNode, build: Builder) -> Expr:
    """(x - offset) * scale, for each feature."""
    data = cast_to(build, node.input(0), "float32")
    offset, scale = (_for_each(node, build, data, name) for name in ("offset", "scale"))
    return build.call("multiply", build.call("subtract", data, offset), scale)


def _for_each(node: OnnxNode, build: Builder, data: Expr, name: str) -> Expr:
    """An attribute with one number, or one for each feature."""
    values = node.numbers(name)
    width = static_dim(shape_of(data)[-1]) if rank_of(data) else 1
    if len(values) not in (1, width):
        raise ModelError(f"attribute {name} has {len(values)} numbers for {width} features.")
    return build.constant(np.array(values if len(values) > 1 else values[0]), "float32")


def translate_normalizer(node: OnnxNode, build: Builder) -> Expr:
    """Each example divided by its largest element, its sum of sizes or its length."""
    data = cast_to(build, node.input(0), "float32")
    axis = rank_of(data) - 1
    if axis not in (0, 1):
        raise ModelError(f"expects examples [n, features], but the input has {axis + 1} axes.")
    kind = node.text("norm", "MAX")
    match kind:
        case "MAX":
            size = build.call("max", data, axis=(axis,), keepdims=True)
        case "L1":
            size = build.call("sum", build.call("abs", data), axis=(axis,), keepdims=True)
        case "L2":
            squares = build.call("multiply", data, data)
            size = build.call("sqrt", build.call("sum", squares, axis=(axis,), keepdims=True))
        case _:
            raise ModelError(f"attribute norm must be MAX, L1 or L2, not {kind!r}.")
    is_none = build.call("equal", size, build.like(0, size))
    divisor = build.call("where", is_none, build.like(1, size), size)
    return build.call("divide", data, divisor)


def translate_imputer(node: OnnxNode, build: Builder) -> Expr:
    """Another value where a feature has the one that stands for missing."""
    data = node.input(0)
    if is_float(dtype_of(data)):
        filling, missing = "imputed_value_floats", node.number("replaced_value_float", 0.0)
        values: tuple[float, ...] = node.numbers(filling)
    else:
        filling, missing = "imputed_value_int64s", node.integer("replaced_value_int64", 0)
        values = node.integers(filling)
    if len(values) not in (1, static_dim(shape_of(data)[-1])):
        raise ModelError(f"attribute {filling} has {len(values)} values.")
    new = build.constant(np.array(values if len(values) > 1 else values[0]), dtype_of(data))
    if np.isnan(missing):
        return build.call("where", build.call("isnan", data), new, data)
    return build.call("where", build.call("equal", data, build.like(missing, data)), new, data)


def translate_binarizer(node: OnnxNode, build: Builder) -> Expr:
    """1 above a threshold, else 0."""
    data = node.input(0)
    threshold = node.number("threshold", 0.0)
    compared = data if is_float(dtype_of(data)) else cast_to(build, data, "float64")
    above = build.call("greater", compared, build.like(threshold, compared))
    return cast_to(build, above, dtype_of(data))


def translate_feature_extractor(node: OnnxNode, build: Builder) -> Expr:
    """Some elements of the last axis; a vector becomes a matrix of one row."""
    data, positions = node.input(0), node.input(1)
    chosen = build.call("reshape", positions, newshape=(-1,))
    if rank_of(data) == 1:
        data = build.call("expand_dims", data, axis=0)
    return build.call("take", data, chosen, axis=rank_of(data) - 1)


def translate_feature_vectorizer(node: OnnxNode, build: Builder) -> Expr:
    """Inputs [n, features] side by side, as float32."""
    parts = [as_rows(build, each) for each in node.all_inputs()]
    return parts[0] if len(parts) == 1 else build.call("concatenate", build.tuple_of(parts), axis=1)


def translate_one_hot_encoder(node: OnnxNode, build: Builder) -> Expr:
    """For each element a vector with 1 at its category, float32."""
    data = node.input(0)
    if node.has("cats_strings") or not node.has("cats_int64s"):
        raise UnsupportedOperatorError("categories that are strings are not supported.")
    if not node.flag("zeros", 1):
        raise UnsupportedOperatorError("an encoder that fails for unknown categories (zeros=0).")
    categories = build.constant(np.array(node.integers("cats_int64s"), np.int64))
    column = build.call("expand_dims", cast_to(build, data, "int64"), axis=rank_of(data))
    return cast_to(build, build.call("equal", column, categories), "float32")


_KINDS = {"int64s": ("int64", 0), "floats": ("float32", 0.0)}


def translate_label_encoder(node: OnnxNode, build: Builder) -> Expr:
    """The value that belongs to each key, or a default one."""
    keys, values = _table(node, "keys"), _table(node, "values")
    data = node.input(0)
    if keys.size != values.size or keys.ndim != 1:
        raise ModelError(f"there are {keys.size} keys and {values.size} values.")
    default = build.constant(_default(node, values.dtype), values.dtype.name)
    if not keys.size:
        shape = build.call("zeros_like", cast_to(build, data, values.dtype.name))
        return build.call("add", shape, default)
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    first = np.append(True, keys[1:] != keys[:-1])  # of equal keys the first one counts
    keys, values = keys[first], values[first]
    compared = cast_to(build, data, keys.dtype.name)
    column = build.call("expand_dims", compared, axis=rank_of(data))
    reached = build.call("greater_equal", column, build.constant(keys))
    count = build.call("sum", cast_to(build, reached, "int64"), axis=(rank_of(data),))
    position = build.call("maximum", shifted_down(build, count), build.like(0, count))
    found = build.call("take", build.constant(values), position, axis=0, mode="clip")
    key = build.call("take", build.constant(keys), position, axis=0, mode="clip")
    result = build.call("where", build.call("equal", key, compared), found, default)
    nan = values[np.isnan(keys)] if keys.dtype.kind == "f" else values[:0]
    if nan.size and node.opset >= 4:
        is_nan = build.call("isnan", compared)
        result = build.call("where", is_nan, build.constant(nan[0]), result)
    return result


def shifted_down(build: Builder, count: Expr) -> Expr:
    """One less."""
    return build.call("subtract", count, build.like(1, count))


def _table(node: OnnxNode, name: str) -> np.ndarray:
    if node.has(f"{name}_tensor"):
        return node.tensor(f"{name}_tensor")
    if node.has(f"{name}_int64s"):
        return np.array(node.integers(f"{name}_int64s"), np.int64)
    if node.has(f"{name}_floats"):
        return np.array(node.numbers(f"{name}_floats"), np.float32)
    raise UnsupportedOperatorError(
        f"{name} that are strings are not supported.",
        remedy="Encode strings before the model, and give it numbers.",
    )


def _default(node: OnnxNode, dtype: np.dtype) -> np.ndarray:
    if node.has("default_tensor"):
        return node.tensor("default_tensor").reshape(())
    if dtype.kind == "f":
        return np.array(node.number("default_float", -0.0))
    return np.array(node.integer("default_int64", -1))


FEATURES: Mapping[str, Translator] = {
    "Scaler": translate_scaler,
    "Normalizer": translate_normalizer,
    "Imputer": translate_imputer,
    "Binarizer": translate_binarizer,
    "ArrayFeatureExtractor": translate_feature_extractor,
    "FeatureVectorizer": translate_feature_vectorizer,
    "OneHotEncoder": translate_one_hot_encoder,
    "LabelEncoder": translate_label_encoder,
}
