"""Records of attributes for one, two and three spatial axes."""

import copy
import pickle

import pytest

from relay_tune.op.nn.convolution import Conv2DAttributes, Conv3DAttributes, ConvAttributes
from relay_tune.op.nn.pool import AvgPool1DAttributes, AvgPool3DAttributes


def test_defaults_have_a_number_and_a_letter_for_each_axis() -> None:
    record = Conv3DAttributes()
    assert (record.strides, record.padding) == ((1, 1, 1), (0, 0, 0))
    assert (record.data_layout, record.kernel_layout) == ("NCDHW", "OIDHW")
    assert (record.groups, record.out_layout) == (1, "")
    assert AvgPool1DAttributes().layout == "NCW"


@pytest.mark.parametrize("kind", [Conv2DAttributes, AvgPool3DAttributes])
def test_records_are_found_under_their_names(kind: type[ConvAttributes]) -> None:
    record = kind(padding=(1, 2))
    assert copy.deepcopy(record) == pickle.loads(pickle.dumps(record)) == record
    assert repr(record).startswith(f"{kind.__name__}(")
