"""Exit codes of the command beside 0, which says that all went well."""

from __future__ import annotations

FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130
TERMINATED = 143
