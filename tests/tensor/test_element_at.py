"""One of several elements by its position."""

from __future__ import annotations

import pytest

from relay_tune.tensor.element_at import element_at
from relay_tune.tensor.expression import Axis, literal
from relay_tune.tensor.scalar_value import scalar_value


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_element_at_each_position(count: int) -> None:
    position = Axis("p", count)
    chosen = element_at([literal(float(10 * n), "float32") for n in range(count)], position)
    found = [float(scalar_value(chosen, {position: n}, {})) for n in range(count)]
    assert found == [10.0 * n for n in range(count)]
