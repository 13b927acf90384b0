"""Tuning models of dynamic sizes: a task for each size, measured there, used by builds."""

from pathlib import Path

import numpy as np
import pytest

from relay_tune.building.input_sizes import InputSizes
from relay_tune.building.named_sizes import with_named_sizes
from relay_tune.building.program_form import fused_module
from relay_tune.building.size_points import size_points
from relay_tune.errors import InputError, NoNativeCodeError
from relay_tune.frontend.relay_text import parse
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.tuning import tasks as tasks_of_models
from relay_tune.tuning.tasks import Task, extract_tasks
from relay_tune.tuning.tune import tune
from relay_tune.tuning.tuned_build import Coverage, build
from relay_tune.typing.infer import infer_types

RNG = np.random.default_rng(0)
TEXT = """
def @main(%x: Tensor[(1, n, 24), float32], %w: Tensor[(16, 24, 3), float32]) {
  nn.softmax(nn.conv1d(transpose(%x, axes=[0, 2, 1]), %w, padding=[1, 1], channels=16,
    kernel_size=[3]))
}
"""
MODULE = BindParameters({"w": RNG.standard_normal((16, 24, 3)).astype("float32")})(parse(TEXT))
RANGE: InputSizes = {"x": (1, range(16, 129), 24)}


def tasks(named: InputSizes) -> list[Task]:
    typed = with_named_sizes(infer_types(MODULE))
    return extract_tasks(fused_module(typed), points=size_points(typed, [named]))


def test_each_point_is_a_task_of_the_code_that_runs_there() -> None:
    found = [(task.title, tuple(task.sizes.values())) for task in tasks(RANGE)]
    convolutions = [(title, sizes) for title, sizes in found if "conv1d" in title]
    assert [sizes for _, sizes in convolutions] == [(128,), (16,)]
    assert "1x128x16, dynamic" in convolutions[0][0]
    for name in ("softmax", "pad "):  # zeros around the input are stored by a kernel of their own
        assert [sizes for title, sizes in found if name in title] == [(128,), (16,)]
    assert len(found) == 6


def test_a_size_alone_is_a_task_of_fixed_sizes() -> None:
    found = tasks({"x": (1, 100, 24)})
    assert [dict(task.sizes) for task in found] == [{}, {}, {}]


def test_dynamic_sizes_have_to_be_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="inputs of dynamic size: x"):
        tune(MODULE, log=tmp_path / "tuning.db")


def test_what_has_no_code_for_all_sizes_is_refused_before_it_is_tuned(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise NoNativeCodeError("The sizes of an operation do not fit.", notes=("In add.",))

    monkeypatch.setattr(tasks_of_models, "primitives_of", refuse)
    with pytest.raises(InputError, match="between sizes: The sizes of an operation") as found:
        tune(MODULE, log=tmp_path / "tuning.db", minutes=1, shapes=RANGE)
    assert found.value.notes == ("In add.",)
    assert not (tmp_path / "tuning.db").exists()


def test_a_build_for_the_same_sizes_uses_what_was_measured(tmp_path: Path) -> None:
    log = tmp_path / "tuning.db"
    result = tune(MODULE, log=log, trials=6, minutes=5, threads=1, shapes=RANGE)
    measured = [task for task in result.tasks if task.best_seconds is not None]
    assert measured
    assert result.network is not None and result.network.tuned <= result.network.untuned
    assert all(task.holds is not None for task in result.tasks)
    coverage = Coverage()
    model = build(MODULE, log=log, threads=1, shapes=RANGE, coverage=coverage)
    assert len(coverage.tuned) >= len(measured)  # beside other work some time may be implausible
    assert not coverage.untuned  # as what holds in the network is noted all the same
    for n in (1, 15, 16, 17, 100, 128, 200):
        x = RNG.standard_normal((1, n, 24)).astype("float32")
        np.testing.assert_allclose(model(x), interpret(MODULE, x), rtol=1e-4, atol=1e-6)
