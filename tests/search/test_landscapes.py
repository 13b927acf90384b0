import math

import pytest

from search.landscapes import (
    Landscape,
    convolution_landscape,
    matmul_landscape,
    sample_table,
)


@pytest.mark.parametrize(
    "landscape",
    [matmul_landscape(128, 768, 768), convolution_landscape(128, 128, 28, 3)],
    ids=lambda landscape: landscape.name,
)
def test_good_points_are_rare_but_there(landscape: Landscape) -> None:
    table = sample_table(landscape, rows=1500, seed=0)
    shares = sorted(value or 0.0 for value in table.throughputs.values())
    assert len(shares) == 1500
    assert 0.001 < sum(share >= 0.99 for share in shares) / 1500 < 0.05
    assert shares[750] < 0.9
    assert all(math.isfinite(x) for row in table.rows for x in row.features)


def test_a_landscape_is_the_same_each_time() -> None:
    first, second = (sample_table(matmul_landscape(64, 64, 64), 50, seed=1) for _ in range(2))
    assert first == second
