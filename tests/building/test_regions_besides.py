"""What other regions of a program read between two runs of one."""

import numpy as np

from relay_tune.building.build import build
from relay_tune.ir.parser.parse import parse
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.typing.infer import infer_types

TEXT = """def @main(%x: Tensor[(?, 64), float32], %z: Tensor[(?, 96), float32],
  %v: Tensor[(96, 64), float32], %w: Tensor[(32, 96), float32]) {
  nn.dense(nn.softmax(nn.dense(%x, %v)) + %z, %w)
}"""


def test_regions_know_what_others_read() -> None:
    weights = {"v": np.ones((96, 64), np.float32), "w": np.ones((32, 96), np.float32)}
    module = infer_types(BindParameters(weights)(parse(TEXT)))
    target = "x86_64-linux-gnu:haswell"  # matrix registers want weights in two parts
    regions = build(module, threads=1, target=target).compiled().regions
    read = {each.elsewhere for each in regions}
    assert len(regions) > 1
    assert {4 * 96 * 64, 4 * 32 * 96} <= read
