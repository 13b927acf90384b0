"""Networks with a limit of memory: the same bits, never above the limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.errors import InputError

LAYERS = 8

JOINED = """
def @main(%x: Tensor[(64, 32), float32], %w: Tensor[(32, 32), float32],
          %u: Tensor[(512, 32), float32], %v: Tensor[(32, 512), float32]) {
  let %a = nn.softmax(%x);
  let %b = nn.dense(strided_slice(%a, begin=[32, 0], end=[64, 32]), %w);
  let %c = concatenate((nn.softmax(%b), nn.dense(%b, %w)), axis=0);
  let %wide = nn.softmax(nn.dense(nn.dense(%c, %w), %u));
  let %d = nn.dense(%wide, %v);
  let %e = nn.dense(strided_slice(%a, begin=[16, 0], end=[48, 32]), %d);
  (nn.dense(%d, %w), %e, nn.dense(%a, %d), nn.dense(%c, %d))
}"""
"""A softmax that is read before and after something wide, and so are slices and a part of it."""


def deep_network() -> rt.Module:
    """Dense layers with what passes them by."""
    params = ", ".join(f"%w{n}: Tensor[(32, 32), float32]" for n in range(LAYERS))
    lines = [f"let %x{n + 1} = add(%x{n}, tanh(nn.dense(%x{n}, %w{n})));" for n in range(LAYERS)]
    return rt.parse(
        f"def @main(%x0: Tensor[(64, 32), float32], {params}) {{\n"
        + "\n".join(lines)
        + f"\n%x{LAYERS}\n}}"
    )


def training_step(limit: int | None = None, optimiser: Any = None) -> rt.training.TrainingStep:
    generator = np.random.default_rng(0)
    values = {f"w{n}": generator.standard_normal((32, 32), np.float32) / 6 for n in range(LAYERS)}
    return rt.training.step(
        deep_network(), optimiser=optimiser, parameters=values, threads=1, memory_limit=limit
    )


@pytest.mark.parametrize("optimiser", [rt.training.SGD(0.1), rt.training.Adam(0.01)])
def test_training_steps_keep_their_bits(optimiser: Any) -> None:
    plain = training_step(optimiser=optimiser)
    whole = plain.model.workspace_bytes
    generator = np.random.default_rng(1)
    batches = [
        (generator.standard_normal((64, 32), np.float32), generator.integers(0, 32, 64))
        for _ in range(2)
    ]
    losses = [plain(*batch) for batch in batches]
    for share in generator.uniform(0.45, 1.0, 2):
        limit = int(whole * share)
        limited = training_step(limit, optimiser)
        assert limited.model.workspace_bytes <= limit
        assert [limited(*batch) for batch in batches] == losses
        for name, value in plain.parameters.items():
            np.testing.assert_array_equal(limited.parameters[name], value)


def test_joined_and_sliced_results_keep_their_bits() -> None:
    module = rt.parse(JOINED)
    generator = np.random.default_rng(2)
    shapes = ((64, 32), (32, 32), (512, 32), (32, 512))
    inputs = [generator.standard_normal(shape, np.float32) for shape in shapes]
    plain = rt.build(module, threads=1)
    with pytest.raises(InputError) as caught:
        rt.build(module, threads=1, memory_limit=0)
    limit = least(caught.value)
    limited = rt.build(module, threads=1, memory_limit=limit)
    assert limited.workspace_bytes <= limit
    assert runs(limited) > runs(plain)
    for found, wanted in zip(limited(*inputs), plain(*inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)


def least(error: InputError) -> int:
    """The least limit that an error names."""
    return int(error.message.split(" is ")[-1].rstrip(".").replace(",", ""))


def runs(model: rt.Model) -> int:
    """How many kernels a call runs."""
    return sum(len(region.steps) for region in model.compiled().regions)


def test_a_limit_that_cannot_be_kept_names_the_least() -> None:
    with pytest.raises(
        InputError, match=r"limited to 64 bytes; the least .* is [\d,]+\."
    ) as caught:
        training_step(64)
    assert training_step(least(caught.value)).model.workspace_bytes <= least(caught.value)


def test_loops_keep_their_limit_and_their_bits() -> None:
    generator = np.random.default_rng(5)
    shapes = (2, 64, 32), (2, 64)
    batches = generator.standard_normal(shapes[0], np.float32), generator.integers(0, 32, shapes[1])
    single = training_step()
    losses = [single(*batch) for batch in zip(*batches, strict=True)]
    limit = single.model.workspace_bytes // 2
    limited = training_step(limit)
    assert limited.run_many(*batches).tolist() == losses
    (_, model), *_ = limited._many.values()
    assert 0 < model.workspace_bytes <= limit
    for name, value in single.parameters.items():
        np.testing.assert_array_equal(limited.parameters[name], value)


def test_dynamic_sizes_have_no_limit() -> None:
    module = rt.parse(
        "def @main(%x: Tensor[(?, 8), float32], %w: Tensor[(8, 8), float32]) "
        "{ nn.dense(nn.softmax(nn.dense(%x, %w)), %w) }"
    )
    with pytest.raises(InputError, match="cannot be limited where a run tells"):
        rt.build(module, threads=1, memory_limit=1 << 20)


@pytest.mark.parametrize("limit", [-1, 1.5, True])
def test_a_limit_is_a_whole_number(limit: Any) -> None:
    with pytest.raises(InputError, match="memory_limit is .* whole number"):
        rt.build(rt.parse(JOINED), threads=1, memory_limit=limit)


PASSED_BY = """
def @main(%x: Tensor[(64, 32), float32], %w: Tensor[(32, 32), float32],
          %y: Tensor[(32, 64), float32], %v: Tensor[(64, 64), float32],
          %u: Tensor[(32, 32), float32]) {
  let %a = reshape(nn.dense(%x, %w), newshape=[32, 64]);
  let %b = nn.relu(%a + nn.dense(%y, %v));
  let %c = reshape(tanh(reshape(%b, newshape=[64, 32]) + nn.dense(%x, %u)), newshape=[32, 64]);
  (nn.softmax(%c), nn.dense(%c, %v), reshape(nn.softmax(%c), newshape=[64, 32]))
}"""
"""A sum may lie in the memory of a product of another shape, and so may another sum."""


@pytest.mark.parametrize("threads", [1, 2])
def test_results_lie_in_the_memory_of_what_ends_there(threads: int) -> None:
    module = rt.parse(PASSED_BY)
    generator = np.random.default_rng(2)
    shapes = (64, 32), (32, 32), (32, 64), (64, 64), (32, 32)
    inputs = [generator.standard_normal(shape, np.float32) for shape in shapes]
    plain = rt.build(module, threads=threads)
    limit = 64 * 32 * 4
    assert plain.workspace_bytes >= 2 * limit
    limited = rt.build(module, threads=threads, memory_limit=limit)
    assert limited.workspace_bytes == limit
    for _ in range(2):
        for found, wanted in zip(limited(*inputs), plain(*inputs), strict=True):
            np.testing.assert_array_equal(found, wanted)
