"""Builds in turn write the kernels once that they have in common."""

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.building import primitives
from relay_tune.building.build import build
from relay_tune.building.kept_kernels import PrimitiveCode
from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import write_primitive
from relay_tune.remembered import results_for_one_build
from tests.quantization.networks import bound

pytestmark = pytest.mark.builds_apart

TEXT = """
def @main(%x: Tensor[(2, 16), float32], %w: Tensor[(16, 16), float32],
          %u: Tensor[(8, 16), float32]) {{
  nn.dense(nn.{0}(nn.dense(%x, %w)), %u)
}}"""


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    titles: list[str] = []

    def write(primitive: Primitive, *where: object) -> PrimitiveCode:
        titles.append(primitive.key.title)
        return write_primitive(primitive, *where)

    monkeypatch.setattr(primitives, "write_primitive", write)
    return titles


def test_common_kernels_are_written_once(written: list[str]) -> None:
    x = np.random.default_rng(0).standard_normal((2, 16)).astype("float32")
    with results_for_one_build():
        for operator in ("relu", "softmax"):
            module = bound(TEXT.format(operator))
            np.testing.assert_allclose(
                build(module, threads=1)(x), rt.interpret(module, x), rtol=1e-4, atol=1e-5
            )
    assert len(written) == len(set(written))
    assert sum(title == "dense 2x8" for title in written) == 1


def test_other_weights_of_one_kernel_stay_apart() -> None:
    x = np.ones((2, 16), "float32")
    with results_for_one_build():
        modules = [bound(TEXT.format("relu"), seed) for seed in (1, 2)]
        found = [build(module, threads=1)(x) for module in modules]
    assert not np.allclose(*found)
    for module, each in zip(modules, found, strict=True):
        np.testing.assert_allclose(each, rt.interpret(module, x), rtol=1e-4, atol=1e-5)


def test_nothing_is_kept_behind_a_build(written: list[str]) -> None:
    for _ in range(2):
        build(bound(TEXT.format("relu")), threads=1)
    assert len(written) == 2 * len(set(written))
