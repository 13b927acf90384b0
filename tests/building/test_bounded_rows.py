"""Rows of an open length that have a longest: which code there is, and what it answers."""

from __future__ import annotations

import numpy as np
import pytest

from relay_tune.building.bounded_rows import LONGEST_ROW
from relay_tune.building.build import build
from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import chosen_schedule, primitives_of
from relay_tune.building.program_form import program_kernels, program_module
from relay_tune.codegen.target import native_target
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.program.lower_program import lower_program
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.schedule import Schedule
from relay_tune.typing.infer import infer_types

RNG = np.random.default_rng(0)
OTHERS = parse(
    "def @main(%q: Tensor[(3, n, 16), float32], %k: Tensor[(3, p, 16), float32], "
    "%v: Tensor[(3, p, 16), float32]) { nn.batch_matmul(nn.softmax("
    "nn.batch_matmul(%q, %k, transpose_b=True)), %v, transpose_b=False) }"
)
ITSELF = parse(
    "def @main(%q: Tensor[(b, n, 16), float32], %k: Tensor[(b, n, 16), float32], "
    "%v: Tensor[(b, n, 16), float32]) { nn.batch_matmul(nn.softmax("
    "nn.batch_matmul(%q, %k, transpose_b=True)), %v, transpose_b=False) }"
)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    scores = q.astype("float64") @ k.astype("float64").transpose(0, 2, 1)
    exponents = np.exp(scores - scores.max(-1, keepdims=True))
    return exponents / exponents.sum(-1, keepdims=True) @ v


def attention_kernel(module: Module) -> Primitive:
    program = lower_program(program_module(infer_types(module)))
    found = primitives_of(program_kernels(program)).values()
    return next(each for each in found if "softmax" in each.key.title)


def bounded(primitive: Primitive) -> Primitive:
    return next(e.primitive for e in primitive.cases if e.most == LONGEST_ROW)


@pytest.mark.parametrize("module", [OTHERS, ITSELF])
def test_scores_stay_near_in_blocks_of_rows(module: Module) -> None:
    kernel = attention_kernel(module)
    names = [rewrite.algorithm.name for rewrite in _schedule_of(bounded(kernel)).algorithm.rewrites]
    assert "rows" in names
    assert not _schedule_of(kernel).algorithm.rewrites


def _schedule_of(primitive: Primitive) -> Schedule:
    plan = primitive.plan or plan_program(primitive.program)
    return chosen_schedule(primitive.key, plan, native_target(), 1, None)


def test_the_code_of_longer_rows_comes_last() -> None:
    kernel = attention_kernel(OTHERS)
    assert kernel.at({"s0": 300, "s1": LONGEST_ROW}) is bounded(kernel)
    assert kernel.at({"s0": 300, "s1": LONGEST_ROW + 1}) is kernel


def test_any_number_of_queries_and_keys_gives_the_answer() -> None:
    model = build(OTHERS, threads=2)
    sizes = [(1, 1), (9, 7), (48, 48), (63, 49), (64, 64), (65, 500), (130, 333), (200, 4096)]
    for queries, keys in [*sizes, (70, LONGEST_ROW + 3)]:
        q, k, v = floats(3, queries, 16), floats(3, keys, 16), floats(3, keys, 16)
        expected = attention(q, k, v)
        for model.threads in (1, 2):
            np.testing.assert_allclose(model(q=q, k=k, v=v), expected, atol=1e-5, rtol=0)


def test_any_batch_of_sentences_gives_the_answer() -> None:
    model = build(ITSELF, threads=2)
    for batch, length in [(1, 1), (2, 50), (3, 64), (2, 129), (5, 201)]:
        q, k, v = (floats(batch, length, 16) for _ in range(3))
        np.testing.assert_allclose(model(q=q, k=k, v=v), attention(q, k, v), atol=1e-5, rtol=0)
