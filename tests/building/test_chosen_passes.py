"""Builds with pipelines that the user chooses."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.building.chosen_passes import ChosenPasses
from relay_tune.building.program_form import fused_module, kernel_functions
from relay_tune.errors import BuildError, IndexRangeError, InputError
from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import operator_call
from relay_tune.op_rules.typed import call
from relay_tune.transform.module_pass import rewrite_calls
from relay_tune.transform.pipeline import Pipeline, PipelineOptions
from relay_tune.tuning.tasks import Task
from relay_tune.tuning.tune import tune

LAYERS = """#[version = "0.0.5"]
def @main(%x: Tensor[(3, 8), float32], %w: Tensor[(8, 8), float32]) {
  nn.relu(nn.dense(nn.dropout(nn.relu(nn.dense(%x, %w))), %w))
}"""
LOOKUP = """#[version = "0.0.5"]
def @main(%table: Tensor[(10, 4), float32], %ids: Tensor[(3), int32]) {
  take(%table, cast(%ids, dtype="int64"), axis=0, mode="raise")
}"""
LOOP = """#[version = "0.0.5"]
def @times(%n: int32, %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  if (less(%n, 1)) { %x } else { @times(%n - 1, tanh(exp(%x))) }
}
def @main(%n: int32, %x: Tensor[(4), float32]) { @times(%n, %x) }"""
OPEN = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 8), float32], %y: Tensor[(8, 8), float32]) {
  concatenate((tanh(exp(%x)), nn.relu(%y)), axis=0)
}"""


@dataclass(frozen=True)
class Doubles:
    """A pass that makes the answer another one, of the same type."""

    name: ClassVar[str] = "doubles"

    def __call__(self, module: Module) -> Module:
        return rewrite_calls(module, self._doubled)

    def _doubled(self, node: Expr) -> Expr:
        found = operator_call(node, "nn.relu")
        return node if found is None else call("add", node, node)


def _kernels(text: str, pipeline: str | Pipeline | None) -> int:
    typed = rt.infer_types(rt.parse(text))
    return len(kernel_functions(fused_module(typed, passes=ChosenPasses(pipeline))))


def test_fewer_calls_in_a_kernel() -> None:
    assert _kernels(LAYERS, None) == 2
    assert _kernels(LAYERS, "default{maximum_group_size=1}") == 4
    assert _kernels(LAYERS, "simplify_inference,fuse{maximum_group_size=1}") == 4
    options = PipelineOptions(maximum_group_size=1)
    assert _kernels(LAYERS, rt.default_pipeline(options)) == 4
    assert _kernels(LOOP, None) < _kernels(LOOP, "default{maximum_group_size=1}")


@pytest.mark.parametrize(
    ("text", "pipeline"),
    [
        (LAYERS, "fuse"),
        (OPEN, "default{maximum_group_size=1}"),
        (LOOP, "to_a_normal_form,inline_local,fuse"),
    ],
)
def test_any_pipeline_keeps_the_answer(text: str, pipeline: str) -> None:
    module = rt.parse(text.replace("nn.dropout", ""))
    random = np.random.default_rng(0)
    first: Any = np.int32(3) if text == LOOP else random.standard_normal((3, 8), np.float32)
    second = random.standard_normal((4,) if text == LOOP else (8, 8), np.float32)
    found = rt.build(module, pipeline=pipeline, threads=1)(first, second)
    np.testing.assert_allclose(found, rt.interpret(module, first, second), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pipeline", ["fuse", "check_indices,partial_evaluate,fuse"])
def test_indices_are_checked_whatever_is_chosen(pipeline: str) -> None:
    model = rt.build(rt.parse(LOOKUP), pipeline=pipeline, threads=1)
    table = np.arange(40, dtype=np.float32).reshape(10, 4)
    np.testing.assert_array_equal(model(table, np.array([1, 9, 0], np.int32)), table[[1, 9, 0]])
    with pytest.raises(IndexRangeError):
        model(table, np.array([1, 10, 0], np.int32))


def test_a_pass_of_the_caller() -> None:
    module = rt.parse(LAYERS)
    doubled = rt.build(module, pipeline=rt.default_pipeline().before("fuse", Doubles()), threads=1)
    x, w = (np.ones(shape, np.float32) for shape in ((3, 8), (8, 8)))
    np.testing.assert_allclose(doubled(x, w), 4 * rt.build(module, threads=1)(x, w))


def test_a_pass_that_changes_the_answer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pipeline = rt.default_pipeline().before("fuse", Doubles())
    with pytest.raises(BuildError, match="Pass doubles has broken the program: the answer differs"):
        rt.build(rt.parse(LAYERS), pipeline=pipeline, verify="answers", threads=1)


@pytest.mark.parametrize("text", [LAYERS, LOOKUP, LOOP])
def test_our_passes_are_not_named(text: str) -> None:
    rt.build(rt.parse(text), verify="answers", threads=1)


def test_what_is_no_pipeline() -> None:
    module = rt.parse(LAYERS)
    with pytest.raises(InputError, match="must be a Pipeline or its text, but a value of type int"):
        rt.build(module, pipeline=3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="verify is 'all', but must be one of structure, answers"):
        rt.build(module, verify="all")
    with pytest.raises(InputError, match="has no fuse"):
        rt.tune(module, pipeline=Pipeline(()), log="never.db")
    assert not Path("never.db").exists()


def test_operators_behind_fusion_are_refused() -> None:
    (fuse,) = (each for each in rt.default_pipeline().passes if each.name == "fuse")
    assert isinstance(Doubles()(rt.infer_types(rt.parse(LAYERS))).main.body, Call)
    with pytest.raises(InputError, match="leaves a call of add in no kernel"):
        rt.build(rt.parse(LAYERS), pipeline=Pipeline((fuse, Late())), threads=1)


@dataclass(frozen=True)
class Late:
    """A pass that adds a call outside of kernels."""

    name: ClassVar[str] = "late"

    def __call__(self, module: Module) -> Module:
        main = module.main
        return module.with_function("main", replace(main, body=call("add", main.body, main.body)))


def test_tuning_measures_the_kernels_of_the_pipeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Task] = []

    def stop(tasks: list[Task], *_: object, **__: object) -> None:
        seen.extend(tasks)
        raise InterruptedError

    monkeypatch.setattr(f"{tune.__module__}.tune_tasks", stop)
    with pytest.raises(InterruptedError):
        tune(rt.parse(LAYERS), log=tmp_path / "l.db", pipeline="default{maximum_group_size=1}")
    assert sorted(len(list(post_order(task.function.body))) for task in seen) == [3, 4]
