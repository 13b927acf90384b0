"""Kernels inside programs are tuned like those of networks."""

from pathlib import Path

import numpy as np

from relay_tune.building.program_form import fused_module
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.tuning.tasks import extract_tasks
from relay_tune.tuning.tune import tune
from relay_tune.tuning.tuned_build import Coverage, build
from relay_tune.typing.infer import infer_types

TEXT = """#[version = "0.0.5"]
def @main(%n: int32, %x: Tensor[(4, 8), float32]) {
  let %weight = ones(shape=[8, 8], dtype="float32");
  let %step = fn (%y: Tensor[(4, 8), float32]) { tanh(nn.dense(%y, %weight)) };
  let %loop = fn (%i: int32, %y: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] {
    if (%i < 1) { %y } else {
      match (%step(%y)) { %s => { %loop(%i - 1, %y + sum(%s)) }, }
    }
  };
  %loop(%n, %x)
}
"""


def test_primitives_of_closures_and_branches_are_tasks() -> None:
    tasks = extract_tasks(fused_module(infer_types(parse(TEXT))))
    titles = {task.key.title.split()[0] for task in tasks}
    assert any("dense" in title for title in titles)
    assert any("add" in title for title in titles)
    assert not any("less" in title or "subtract" in title for title in titles)


def test_a_tuned_program_uses_what_was_found(tmp_path: Path) -> None:
    module = parse(TEXT)
    log = tmp_path / "tuning.db"
    tune(module, log=log, trials=6, minutes=0.3, threads=1, seed=0)
    coverage = Coverage()
    model = build(module, log=log, threads=1, coverage=coverage)
    assert coverage.tuned
    x = np.linspace(-0.1, 0.1, 32, dtype="float32").reshape(4, 8)
    np.testing.assert_allclose(model(2, x), interpret(module, 2, x), rtol=1e-4, atol=1e-5)
