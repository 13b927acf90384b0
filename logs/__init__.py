"""The tuning log: what has been measured, kept in one SQLite file that many processes share.

>>> with open_log("tuning.db") as log:                                     # doctest: +SKIP
...     log.append(record)
...     log.best("matmul-512", "x86_64-linux-gnu:znver5", 8, "1")

Each name is imported when it is first used, so that builds without a log need not import SQLite's
library. `__init__.pyi` tells type checkers what the names are.
"""

from importlib import import_module

_HOMES = {
    "logs.check": ("CheckReport",),
    "logs.claims": ("Claim",),
    "logs.digest": ("canonical_json",),
    "logs.errors": ("LogError",),
    "logs.exchange": ("check_exported",),
    "logs.joining": ("MergeReport",),
    "logs.log": (
        "TuningLog",
        "open_log",
    ),
    "logs.measurements": ("WorkloadSummary",),
    "logs.plausibility": (
        "implausible_message",
        "is_implausible",
        "least_seconds",
    ),
    "logs.process": ("ProcessIdentity",),
    "logs.record": (
        "Key",
        "Record",
        "Status",
    ),
    "logs.runs": (
        "Run",
        "RunState",
    ),
    "logs.schema": ("SCHEMA_VERSION",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> object:
    """A public name, imported on first use (PEP 562)."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'logs' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return list(__all__)
