import math

import pytest

import logs


def test_equal_fields_make_equal_digests(record):
    assert record().digest == record().digest


@pytest.mark.parametrize(
    "change",
    [
        {"workload": "other"},
        {"target": "other"},
        {"threads": 3},
        {"code_version": "2"},
        {"schedule": "{}"},
        {"status": "crash"},
        {"created": 5.0},
        {"source": "other"},
        {"seconds": 0.0010000000000000002},
        {"spread": 0.0},
        {"message": "slow"},
        {"features": "[1.0]"},
        {"measurements": 2},
    ],
    ids=lambda change: next(iter(change)),
)
def test_digest_covers_every_field(record, change):
    assert record(**change).digest != record().digest


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"seconds": 0.0}, "seconds"),
        ({"seconds": -1.0}, "seconds"),
        ({"seconds": math.inf}, "seconds"),
        ({"seconds": math.nan}, "seconds"),
        ({"seconds": None}, "seconds"),
        ({"seconds": 10**400}, "seconds"),
        ({"seconds": "1"}, "seconds"),
        ({"spread": math.nan}, "spread"),
        ({"spread": -0.1}, "spread"),
        ({"created": -1.0}, "created"),
        ({"threads": 0}, "threads"),
        ({"threads": True}, "threads"),
        ({"threads": 2**63}, "threads"),
        ({"status": "fine"}, "status"),
        ({"workload": ""}, "workload"),
        ({"message": "\ud800"}, "message"),
        ({"message": "x" * (1 << 21)}, "message"),
        ({"schedule": "{"}, "schedule"),
        ({"schedule": "[" * 100_000}, "schedule"),
        ({"schedule": "NaN"}, "schedule"),
        ({"features": "[1, true]"}, "features"),
        ({"features": "[1, Infinity]"}, "features"),
        ({"features": "{}"}, "features"),
        ({"measurements": 0}, "measurements"),
    ],
)
def test_impossible_values_are_refused_by_name(record, change, field):
    with pytest.raises(logs.LogError, match=field):
        record(**change)


def test_a_failure_needs_no_time(record):
    assert record(status="timeout", seconds=None).status is logs.Status.TIMEOUT


def test_key_is_the_unique_part(record):
    assert record(seconds=1.0).key == record(seconds=2.0).key
    assert record(0).key != record(1).key


def test_error_is_one_line():
    error = logs.LogError("it\nbroke", "here", "mend it")
    assert str(error) == "it broke (here): mend it"
