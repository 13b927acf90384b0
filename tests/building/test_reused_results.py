"""Results of regions in the memory of objects that end there."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.interpreter.interpret import interpret
from tests.properties.programs.compare import assert_same_value

KIND = "Tensor[(40, 48), float32]"
LOOP = f"""
def @main(%x: {KIND}, %n: int32) {{
  let %f = fn (%i: int32, %s: {KIND}, %t: {KIND}) -> {KIND} {{
    if (%i < 1) {{ %s + %t }} else {{ BODY }}
  }};
  let %y = exp(%x);
  let %r = %f(%n, %y, STATE);
  (%r, %y)
}}
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("state", ["%x * 2f", "%y"])
@pytest.mark.parametrize(
    "body",
    [
        "%f(%i - 1, %s * 0.5f + %x, %t)",
        "%f(%i - 1, %s + %x, %t - %x)",
        "%f(%i - 1, %t * 0.5f, %s + %x)",
        "%f(%i - 1, %s * 0.5f + nn.matmul(nn.matmul(%x, %x, transpose_b=True), %x) * 0.01f, %t)",
    ],
)
def test_loops_that_write_over_their_state(body: str, state: str, threads: int) -> None:
    """What is still needed, `y`, and what two parameters are, stays as it was."""
    module = parse(LOOP.replace("BODY", body).replace("STATE", state))
    model = build(module, threads=threads)
    x = np.random.default_rng(0).standard_normal((40, 48)).astype("float32")
    for count in (0, 1, 2, 5):
        before = x.copy()
        assert_same_value(model(x, count), interpret(module, x, count))
        np.testing.assert_array_equal(x, before)
