"""The tuning log: what has been measured, kept in one SQLite file that many processes share.

>>> with open_log("tuning.db") as log:                                     # doctest: +SKIP
...     log.append(record)
...     log.best("matmul-512", "x86_64-linux-gnu:znver5", 8, "1")
"""

from logs.check import CheckReport
from logs.claims import Claim
from logs.digest import canonical_json
from logs.errors import LogError
from logs.exchange import check_exported
from logs.joining import MergeReport
from logs.log import TuningLog, open_log
from logs.measurements import WorkloadSummary
from logs.plausibility import implausible_message, is_implausible, least_seconds
from logs.process import ProcessIdentity
from logs.record import Key, Record, Status
from logs.runs import Run, RunState
from logs.schema import SCHEMA_VERSION

__all__ = [
    "SCHEMA_VERSION",
    "CheckReport",
    "Claim",
    "Key",
    "LogError",
    "MergeReport",
    "ProcessIdentity",
    "Record",
    "Run",
    "RunState",
    "Status",
    "TuningLog",
    "WorkloadSummary",
    "canonical_json",
    "check_exported",
    "implausible_message",
    "is_implausible",
    "least_seconds",
    "open_log",
]
