"""The process in which candidates run; whatever they do, only this process suffers.

    python -m relay_tune.runtime.measuring.worker '{"memory_bytes": ...}'

It answers three kinds of messages (`relay_tune.runtime.measuring.message`):

- `load` brings the data of a task,
- `check` the object files of a candidate of a task, which are linked, run once and compared with
  the reference; this may happen while other processes are busy,
- `time` times a candidate that was checked, which is best done while nothing else runs.

An answer has a status and the names of the tasks whose data is still held. Candidates can print:
the real output of the process is kept apart from theirs. The process ends with its input.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import IO, Any

from relay_tune.codegen.worker_process import die_with_parent
from relay_tune.errors import BuildError
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.measuring.address_limit import limit_address_space
from relay_tune.runtime.measuring.candidate import CandidateRun, OutOfBoundsError, WrongAnswerError
from relay_tune.runtime.measuring.cold_constants import ConstantCopies
from relay_tune.runtime.measuring.held_candidates import HeldCandidates
from relay_tune.runtime.measuring.inputs import load_inputs
from relay_tune.runtime.measuring.message import FORGOTTEN, Slot, read_message, write_message
from relay_tune.runtime.measuring.task_memory import HeldTasks

OUT_OF_BOUNDS_EXIT = 70
"""Exit code after a candidate has damaged the memory of this process."""


def main(arguments: dict[str, Any]) -> None:
    """Serve the parent until it goes away."""
    die_with_parent()
    requests, replies = _own_streams()
    held = _Held(HeldTasks(), HeldCandidates(), ConstantCopies())
    while (message := read_message(requests)) is not None:
        reply = _answer(*message, held, arguments["memory_bytes"])
        write_message(replies, {**reply, "held": held.tasks.names})
        if reply.get("damaged"):
            os._exit(OUT_OF_BOUNDS_EXIT)


@dataclass(frozen=True, eq=False, slots=True)
class _Held:
    """The state that stays from message to message."""

    tasks: HeldTasks
    candidates: HeldCandidates
    copies: ConstantCopies


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes to the parent, moved to where no candidate finds them by number."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    return requests, replies


def _answer(
    header: dict[str, Any], blobs: list[bytes], held: _Held, memory_bytes: int
) -> dict[str, Any]:
    match header["kind"]:
        case "load":
            limit_address_space(memory_bytes)
            held.tasks.put(header["task"], load_inputs(header["data"]))
            limit_address_space(memory_bytes)
            return {"status": "loaded"}
        case "check":
            return _outcome(lambda: _checked(header, blobs, held))
        case _:
            return _outcome(lambda: _timed(header, held))


def _outcome(action: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The reply to an action on a candidate, failures included."""
    try:
        return action()
    except OutOfBoundsError as error:
        return {"status": "wrong", "message": str(error), "damaged": True}
    except WrongAnswerError as error:
        return {"status": "wrong", "message": str(error)[:500]}
    except MemoryError:
        return {"status": "memory", "message": "no memory for the candidate's buffers"}
    except BuildError as error:
        reason = " ".join((error.message, *error.notes))
        return {"status": "compile_error", "message": f"linking failed: {reason}"[:500]}


def _checked(header: dict[str, Any], blobs: list[bytes], held: _Held) -> dict[str, Any]:
    slots = [Slot.from_json(item) for item in header["slots"]]
    memory = held.tasks.use(header["task"])
    run = CandidateRun(
        blobs,
        slots,
        memory,
        held.copies,
        header["threads"],
        rounds_factors=header["rounds_factors"],
    )
    is_right = False
    try:
        run.check()
        is_right = True
    finally:
        held.tasks.shrink()
        if not is_right:
            run.close()
    held.candidates.put(header["number"], run)
    return {"status": "ok", "message": ""}


def _timed(header: dict[str, Any], held: _Held) -> dict[str, Any]:
    run = held.candidates.get(header["number"])
    if run is None:
        return {"status": FORGOTTEN, "message": ""}
    timing = run.time(header["best"])
    return {"status": "ok", "message": "", "seconds": timing.seconds, "spread": timing.spread}


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
