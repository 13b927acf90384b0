"""The table of single operators: ours beside others, by any algorithm and directly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

from benchmarks import kernels
from benchmarks.kernels import Convolution, convolution_kernel
from benchmarks.systems import prepare_direct, prepare_ours
from relay_tune import zoo
from relay_tune.frontend.onnx_export.to_onnx import to_onnx


def test_direct_code_gives_what_any_algorithm_gives(tmp_path: Path) -> None:
    module = convolution_kernel(Convolution(32, 32, 3, 20)).module
    path = tmp_path / "conv.onnx"
    onnx.save(to_onnx(module), path)
    inputs = zoo.example_inputs(module)
    (direct,) = prepare_direct(path, inputs, 1)()
    (chosen,) = prepare_ours(None)(path, inputs, 1)()
    np.testing.assert_allclose(direct, chosen, rtol=0, atol=1e-4)
    assert not np.array_equal(direct, chosen), "Winograd's filtering rounds otherwise"


def test_direct_code_has_a_share_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = {"relay_tune direct": 2.0, "limit": 1.0, "limit of a tile": 1.0}

    def medians(runs: Mapping[str, object]) -> dict[str, float]:
        return {name: seconds.get(name, 1.0) for name in runs}

    monkeypatch.setattr(kernels, "interleaved_medians", medians)
    kernels.main(["--match", "matmul 127", "--direct"])
    title, _, line = (text.split(" | ") for text in capsys.readouterr().out.splitlines())
    assert title[-2:] == ["share of the limit", "direct share |"]
    best, direct = (float(cell.strip("%| ")) for cell in line[-2:])
    assert line[0] == "| matmul 127"
    assert best == pytest.approx(2 * direct, abs=1)
