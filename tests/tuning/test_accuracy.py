from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import logs
from relay_tune.codegen.target import native_target, parse_target
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.errors import InputError
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.module import Module
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.rewrites.dot_products.record import BF16
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.tuning.runner import NativeRunner
from relay_tune.tuning.tasks import Task, extract_tasks
from relay_tune.tuning.tune import tune
from relay_tune.tuning.tuned_build import Coverage, build
from tests.schedule.machines import core


@pytest.fixture
def module() -> Module:
    """A convolution whose layout is the same whatever the accuracy, and the types it reads."""
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 28, 28, 64), float32], %w: Tensor[(3, 3, 64, 64), float32]) {
  nn.conv2d(%x, %w, data_layout="NHWC", kernel_layout="HWIO")
}"""
    weights = np.random.default_rng(0).standard_normal((3, 3, 64, 64)).astype(np.float32)
    return BindParameters({"w": weights})(parse(text))


def convolution(module: Module, accuracy: Accuracy = Accuracy.FAST) -> Task:
    tasks = extract_tasks(default_pipeline()(module), accuracy)
    return next(task for task in tasks if len(task.plan.algorithms) > 1)


def test_tasks_are_searched_under_the_algorithms_of_an_accuracy(module: Module) -> None:
    assert WINOGRAD(tile=4) in convolution(module).plan.algorithms
    assert WINOGRAD(tile=4) not in convolution(module, Accuracy.EXACT).plan.algorithms


def test_an_exact_build_passes_over_what_is_only_fast(module: Module, tmp_path: Path) -> None:
    task, target, path = convolution(module), native_target(), tmp_path / "log.db"
    plan = task.plan.with_algorithm(WINOGRAD(tile=4))
    schedule = plan.default_under_algorithm(core(32, 16), 1)[1]
    with logs.open_log(path) as log:
        log.append(
            logs.Record(
                task.key.digest,
                target.key,
                1,
                CODE_VERSION,
                logs.canonical_json(json.loads(schedule.to_json())),
                status=logs.Status.OK,
                created=1.0,
                source="here",
                seconds=1e-6,
            )
        )
    found = {}
    for accuracy in Accuracy:
        coverage = Coverage()
        build(module, log=path, threads=1, accuracy=accuracy, coverage=coverage)
        found[accuracy] = (task.key.title in coverage.tuned, coverage.skipped.total())
    assert found == {
        Accuracy.EXACT: (False, 1),
        Accuracy.FAST: (True, 0),
        Accuracy.RELAXED: (True, 0),
    }


def test_factors_in_bfloat16_are_a_right_answer_of_what_rounds_them() -> None:
    text = """def @main(%x: Tensor[(16, 64), float32], %w: Tensor[(48, 64), float32]) {
      nn.dense(%x, %w) }"""
    module = default_pipeline()(parse(text))
    (task,) = extract_tasks(module, Accuracy.RELAXED)
    machine = parse_target("x86_64-linux-gnu:cooperlake").machine
    schedule = task.plan.with_algorithm(BF16()).default_under_algorithm(machine, 1)[1]
    runner = NativeRunner(native_target(), 1, seed=0)
    try:
        (prepared,) = runner.prepare(task, [runner.draft(task, schedule)], None)
    finally:
        runner.close()
    assert prepared.failure is None


def test_builds_and_tuning_want_a_known_accuracy(module: Module, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="perfect"):
        build(module, accuracy="perfect")
    with pytest.raises(InputError, match="perfect"):
        tune(module, log=tmp_path / "log.db", accuracy="perfect")
