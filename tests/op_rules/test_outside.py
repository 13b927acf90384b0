"""Operators of other packages: what a table knows of them, passes do as with ours."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.ir.parser.parse import parse
from relay_tune.op_rules.convolution import add_convolution, add_transposed_convolution
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.pipeline import PipelineOptions, default_pipeline
from tests.documented_diffs import apply_diff, documented_diff
from tests.op_rules.conftest import Copy

ENTER = {"nn.conv2d": add_convolution, "nn.conv2d_transpose": add_transposed_convolution}

NETWORKS = {
    "nn.conv2d": """def @main(%x: Tensor[(1, 16, 32, 32), float32],
    %w: Tensor[(32, 16, 3, 3), float32], %s: Tensor[(32, 1, 1), float32]) {
  %0 = multiply(nn.conv2d(nn.relu(%x), %w, padding=[1, 1]), %s);
  nn.max_pool2d(nn.relu(%0), pool_size=[2, 2], strides=[2, 2])
}""",
    "nn.conv2d_transpose": """def @main(%x: Tensor[(1, 16, 8, 8), float32],
    %w: Tensor[(16, 32, 4, 4), float32], %s: Tensor[(32, 1, 1), float32]) {
  %0 = multiply(nn.conv2d_transpose(%x, %w, strides=[2, 2], padding=[1, 1]), %s);
  transpose(nn.relu(%0), axes=[0, 2, 3, 1])
}""",
}


def fused(text: str) -> str:
    """The network after all passes, its weights being constants."""
    module = parse(text)
    generator = np.random.default_rng(3)
    shapes = {"w": (16, 32, 4, 4) if "transpose" in text else (32, 16, 3, 3), "s": (32, 1, 1)}
    weights = {name: generator.random(shape, np.float32) for name, shape in shapes.items()}
    passes = default_pipeline(PipelineOptions(layout="NHWC"))
    return passes(BindParameters(weights)(module)).astext()


@pytest.mark.parametrize("name", NETWORKS)
def test_a_convolution_is_as_fast_under_another_name(name: str, copied_operator: Copy) -> None:
    expected = fused(NETWORKS[name])
    text = NETWORKS[name].replace(f"{name}(", "mine.conv(")
    operator = copied_operator(name, "mine.conv")
    unknown = fused(text).replace("mine.conv(", f"{name}(")
    ENTER[name](operator)
    assert fused(text).replace("mine.conv(", f"{name}(") == expected != unknown
    with pytest.raises(InputError, match=r"mine\.conv has a rule in this table already"):
        ENTER[name](operator)


@pytest.mark.usefixtures("copied_operator")
def test_an_operator_from_outside_is_a_file_and_a_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply_diff(documented_diff("extending.md", "mine/channel_shuffle.py"), tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    theirs = importlib.import_module("mine.test_channel_shuffle")
    for name in ("mine", "mine.channel_shuffle", "mine.test_channel_shuffle"):
        del sys.modules[name]
    tests = [test for name, test in vars(theirs).items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()
