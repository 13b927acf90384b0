from __future__ import annotations

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.building.fixed_sizes import with_fixed_sizes
from relay_tune.errors import RelayError, TypeInferenceError
from relay_tune.ir.parser.parse import parse
from relay_tune.typing.infer import infer_types

FORGOTTEN = """
#[version = "0.0.5"]
def @main(%x: Tensor[(n, c, t), float32], %w: Tensor[(4, 3, 3), float32]) {
  let %v0: Tensor[(n, ?, t), float32] = nn.relu(%x);
  let %v1: Tensor[(n, 6, t), float32] = %v0;
  nn.conv1d(%v1, %w, groups=2, channels=4, kernel_size=(3,))
}
"""


def test_forgotten_sizes_are_compared_before_code_is_made_for_them() -> None:
    typed = infer_types(parse(FORGOTTEN))
    with_fixed_sizes(typed, {"x": (1, 6, 5), "w": (4, 3, 3)})
    with pytest.raises(TypeInferenceError, match="dimension 1 is 6 and 4"):
        with_fixed_sizes(typed, {"x": (1, 4, 5), "w": (4, 3, 3)})


def test_code_for_one_shape_never_reads_outside_of_it() -> None:
    model = build(parse(FORGOTTEN), threads=1)
    inputs = np.ones((1, 4, 5), np.float32), np.ones((4, 3, 3), np.float32)
    with pytest.raises(TypeInferenceError, match="dimension 1 is 6 and 4"):
        model.specialize(*inputs)
    with pytest.raises(RelayError, match="size"):
        model(*inputs)
