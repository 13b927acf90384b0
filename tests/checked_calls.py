"""The calls that tests of operators check, for whoever wants them instead of the check.

A plugin that puts a function under `CALLS` into the stash of pytest's configuration is given each
call; the tests then compare nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import Operator

CALLS: pytest.StashKey[Callable[[Operator, Sequence[Any], Attributes], None]] = pytest.StashKey()
