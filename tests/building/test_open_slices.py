"""Slices of axes of open sizes, down to none: what numpy gives, or an error for a missing row."""

from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt

END = 2**31 - 1
REST, LAST, FIRST, MIDDLE = (1, END), (-1, END), (0, 1), (1, -1)


@pytest.mark.parametrize("size", ["n", "?"])
@pytest.mark.parametrize(
    "slices",
    [(REST,), (REST, REST), (LAST,), (REST, LAST), (REST, FIRST), (MIDDLE,), ((-2, END),)],
)
@pytest.mark.parametrize("form", ["{}", "let %y = {}; (exp(%y), cumsum(%y, axis=0))"])
def test_slices_down_to_nothing(form: str, slices: tuple[tuple[int, int], ...], size: str) -> None:
    text = "%x"
    for begin, end in slices:
        text = f"strided_slice({text}, begin=[{begin}], end=[{end}])"
    module = rt.parse(f"def @main(%x: Tensor[({size}, 3), float32]) {{ {form.format(text)} }}")
    model = rt.build(module, threads=1)
    for rows in range(5):
        data = np.arange(3 * rows, dtype="float32").reshape(rows, 3)
        part = data
        for begin, end in slices:
            part = part[begin:end]
        if LAST in slices and not len(part):  # the last row is one by its type
            with pytest.raises(rt.InputError, match="strided_slice at .* has no elements"):
                model(data)
            continue
        found = model(data)
        if isinstance(found, tuple):
            np.testing.assert_allclose(found[0], np.exp(part), rtol=1e-5)
            np.testing.assert_allclose(found[1], np.cumsum(part, 0))
        else:
            np.testing.assert_array_equal(found, part)
