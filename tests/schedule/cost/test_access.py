"""Loads that differ by a constant."""

import pytest

from relay_tune.schedule.cost.access import fresh_share, streams
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.space.default_choice import default_choice
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis
from tests.schedule.convolutions import SERVER, convolution_program

T, C = Axis("t", 5), Axis("c", 8)


def window(begins, step):
    return [Affine({T: step * 8, C: 1}, begin * 8) for begin in begins]


@pytest.mark.parametrize(
    ("begins", "step", "share"),
    [
        ([0, 1, 2, 3, 4, 5], 4, 22 / 30),
        ([0, 1, 2, 3], 4, 1.0),
        ([0, 0], 1, 0.5),
        ([7], 1, 1.0),
        ([0, 1000], 4, 1.0),
    ],
)
def test_elements_that_windows_share_count_once(begins, step, share):
    assert fresh_share(window(begins, step), (T, C)) == pytest.approx(share)


def test_it_is_counted_element_by_element_where_rows_do_not_fit():
    forms = [Affine({T: 12, C: 1}, begin) for begin in (0, 5)]
    offsets = {form.constant + 12 * t + c for form in forms for t in range(5) for c in range(8)}
    assert fresh_share(forms, (T, C)) == pytest.approx(len(offsets) / 80)


def test_loads_within_a_page_are_one_stream():
    assert streams([Affine({T: 1}, begin) for begin in (0, 100, 1023, 1024, 5000)], 4) == 3


def test_the_transform_of_a_window_reads_a_part_of_it_again():
    plan = plan_program(convolution_program((1, 56, 56, 64, 64)), WINOGRAD(tile=4, block=14))
    (space, *_) = plan.spaces(SERVER, 1)
    accesses = space.analysis.result_accesses
    assert len(accesses) == 36
    assert [access.fresh for access in accesses] == pytest.approx([6 * 58 / (36 * 14)] * 36)
    assert sum(access.streams for access in accesses) < 36


def test_tiles_of_an_odd_image_are_read_along_channels():
    plan = plan_program(convolution_program((4, 7, 7, 32, 32)), WINOGRAD(tile=2))
    *_, space = plan.spaces(SERVER, 1)
    channels = space.analysis.nest.axes[-1]
    forms = [access.form for access in space.analysis.result_accesses]
    assert forms
    assert all(form is not None and form.coefficient(channels) == 1 for form in forms)
    assert default_choice(space).vector == 3
