from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.runtime.interpreter.interpret import interpret

Check = Callable[..., None]
NodeModel = Callable[..., onnx.ModelProto]
ROWS, COLUMNS, BLOCK = 5, 7, 16
OPTIONS = {"N": ROWS, "K": COLUMNS, "block_size": BLOCK}


def weights() -> dict[int, np.ndarray]:
    random = np.random.default_rng(0)
    packed = random.integers(0, 256, -(-ROWS * COLUMNS // 2)).astype(np.uint8)
    return {1: packed, 2: random.random(-(-ROWS * COLUMNS // BLOCK)).astype(np.float32)}


@pytest.mark.parametrize("kind", [0, 1])
def test_numbers_of_a_table_times_the_largest_of_a_block(check_microsoft: Check, kind: int) -> None:
    data = np.random.default_rng(1).standard_normal((2, 3, COLUMNS)).astype(np.float32)
    options = {**OPTIONS, "quant_type": kind}
    check_microsoft("MatMulBnb4", data, constants=weights(), **options)


def test_without_a_transpose_they_are_columns(node_model: NodeModel) -> None:
    """onnxruntime 1.32 reads behind the weights here."""
    given: dict[str, Any] = {"constants": weights(), "domain": "com.microsoft", **OPTIONS}
    rows = np.eye(COLUMNS, dtype=np.float32)
    turned = node_model("MatMulBnb4", [rows], quant_type=1, **given)
    whole = interpret(from_onnx(turned), rows)
    columns = np.eye(ROWS, dtype=np.float32)
    plain = node_model("MatMulBnb4", [columns], quant_type=1, transB=0, **given)
    np.testing.assert_array_equal(np.asarray(whole).T, interpret(from_onnx(plain), columns))


def test_weights_of_another_size(node_model: NodeModel) -> None:
    options: dict[str, Any] = {**OPTIONS, "N": ROWS + 1, "quant_type": 0}
    data = np.ones((1, COLUMNS), np.float32)
    model = node_model("MatMulBnb4", [data], constants=weights(), domain="com.microsoft", **options)
    with pytest.raises(ModelError, match="6 x 7 weights"):
        from_onnx(model)
