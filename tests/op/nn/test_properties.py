"""Convolution and its transpose for shapes that nobody chose: computation against reference."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from relay_tune.op.nn.convolution import conv2d
from relay_tune.op.nn.transposed_convolution import conv2d_transpose

SETTINGS = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@st.composite
def windows(draw):
    """Attributes of a convolution with two spatial axes, and the sizes of its window."""
    pair = st.tuples
    attributes = {
        "strides": draw(pair(st.integers(1, 3), st.integers(1, 3))),
        "dilation": draw(pair(st.integers(1, 2), st.integers(1, 3))),
        "padding": draw(pair(*[st.integers(0, 2)] * 4)),
        "groups": draw(st.sampled_from([1, 2])),
    }
    return attributes, draw(pair(st.integers(1, 4), st.integers(1, 3)))


def _fits(attributes, window, size) -> bool:
    """Whether the window fits into the padded data."""
    room = [size + attributes["padding"][n] + attributes["padding"][n + 2] for n in (0, 1)]
    spans = zip(window, attributes["dilation"], strict=True)
    return all((k - 1) * step < extent for (k, step), extent in zip(spans, room, strict=True))


@SETTINGS
@given(case=windows(), size=st.integers(3, 7))
def test_convolution(check_record, random_array, case, size):
    attributes, window = case
    assume(_fits(attributes, window, size))
    groups = attributes["groups"]
    arrays = [random_array((1, 4, size, size)), random_array((6, 4 // groups, *window))]
    check_record(conv2d, arrays, attributes, 1e-4)


@SETTINGS
@given(case=windows(), size=st.integers(2, 5))
def test_transposed_convolution(check_record, random_array, case, size):
    attributes, window = case
    spans = [(k - 1) * step + 1 for k, step in zip(window, attributes["dilation"], strict=True)]
    full = [
        (size - 1) * stride + span
        for stride, span in zip(attributes["strides"], spans, strict=True)
    ]
    cut = [attributes["padding"][n] + attributes["padding"][n + 2] for n in (0, 1)]
    assume(all(extent > less for extent, less in zip(full, cut, strict=True)))
    arrays = [random_array((1, 4, size, size)), random_array((4, 3, *window))]
    result = check_record(conv2d_transpose, arrays, attributes, 1e-4)
    assert result.shape[2:] == tuple(np.subtract(full, cut))
