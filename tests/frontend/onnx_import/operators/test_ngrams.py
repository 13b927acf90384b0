from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

Check = Callable[..., None]

POOL: dict[str, Any] = {
    "ngram_counts": [0, 2, 6],
    "pool_int64s": [0, 3, 1, 2, 0, 1, 0, 1, 2, 3, 3, 3],
    "ngram_indexes": [5, 0, 1, 3, 2, 4],
}
WEIGHTS = [0.5, 2.0, 1.5, 0.25, 3.0, 1.0]


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
def test_ngrams_of_numbers(check_node: Check, mode: str) -> None:
    random = np.random.default_rng(2)
    options = {**POOL, "against": "onnxruntime", "mode": mode, "opset": 17}
    for shape, shortest, skips in (((12,), 1, 0), ((2, 9), 2, 1), ((1,), 1, 2), ((3, 2), 2, 5)):
        x = random.integers(0, 4, shape).astype(np.int32 if skips else np.int64)
        lengths = {"min_gram_length": shortest, "max_gram_length": 3, "max_skip_count": skips}
        weights = {} if skips == 1 else {"weights": WEIGHTS}
        check_node("TfIdfVectorizer", x, **lengths, **weights, **options, native=skips == 1)


def test_pools_that_do_not_fit(node_model: Callable[..., Any]) -> None:
    from_pool = {**POOL, "mode": "TF", "min_gram_length": 1, "max_gram_length": 3}
    for wrong in ({"ngram_indexes": [0, 1]}, {"ngram_counts": [0, 2, 5]}, {"mode": "DF"}):
        options = {**from_pool, "max_skip_count": 0, **wrong}
        with pytest.raises(ModelError, match=f"attribute {next(iter(wrong))}"):
            from_onnx(node_model("TfIdfVectorizer", [np.zeros(4, np.int64)], **options))
