"""The instructions on tiles of x86-64."""

from __future__ import annotations

from relay_tune.machine.intrinsic import Intrinsic
from relay_tune.targets.x86.amx.record import AMX_BF16, AMX_INT8

INTRINSICS: tuple[Intrinsic, ...] = (AMX_BF16, *AMX_INT8)
"""In the order in which a nest is matched with them."""
