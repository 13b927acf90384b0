import errno

import pytest

from relay_tune.errors import SystemLimitError
from relay_tune.system_limits import told_limits


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("can't start new thread"), "no more threads or processes"),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "no more threads"),
        (OSError(errno.EMFILE, "Too many open files"), "no more files"),
    ],
)
def test_limits_are_told_as_what_they_are(error: Exception, message: str) -> None:
    with pytest.raises(SystemLimitError, match=message) as raised, told_limits():
        raise error
    assert raised.value.remedy is not None and "Raise the limit" in raised.value.remedy


@pytest.mark.parametrize("error", [RuntimeError("other"), OSError(errno.ENOENT, "none")])
def test_other_errors_stay_as_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, told_limits():
        raise error
    assert raised.value is error
