from logs.check import CheckReport as CheckReport
from logs.claims import Claim as Claim
from logs.digest import canonical_json as canonical_json
from logs.errors import LogError as LogError
from logs.exchange import check_exported as check_exported
from logs.joining import MergeReport as MergeReport
from logs.log import TuningLog as TuningLog
from logs.log import open_log as open_log
from logs.measurements import WorkloadSummary as WorkloadSummary
from logs.plausibility import (
    implausible_message as implausible_message,
)
from logs.plausibility import (
    is_implausible as is_implausible,
)
from logs.plausibility import (
    least_seconds as least_seconds,
)
from logs.process import ProcessIdentity as ProcessIdentity
from logs.record import Key as Key
from logs.record import Record as Record
from logs.record import Status as Status
from logs.runs import Run as Run
from logs.runs import RunState as RunState
from logs.schema import SCHEMA_VERSION as SCHEMA_VERSION
