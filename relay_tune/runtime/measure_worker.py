"""The process in which candidates run; whatever they do, only this process suffers.

    python -m relay_tune.runtime.measure_worker '{"memory_bytes": ...}'

It answers two kinds of messages (`measure_message`): `load` brings the data of a task, `measure`
the object files of a candidate of a task; the answer has its status, its time, and the names of
the tasks whose data is still held. Candidates can print: the real output of the process is kept
apart from theirs. The process ends with its input.
"""

from __future__ import annotations

import json
import os
import sys
from typing import IO, Any

from relay_tune.codegen.worker_process import die_with_parent
from relay_tune.errors import BuildError
from relay_tune.runtime.address_limit import limit_address_space
from relay_tune.runtime.cold_constants import ConstantCopies
from relay_tune.runtime.measure_candidate import CandidateRun, OutOfBoundsError, WrongAnswerError
from relay_tune.runtime.measure_inputs import load_inputs
from relay_tune.runtime.measure_message import Slot, read_message, write_message
from relay_tune.runtime.task_memory import HeldTasks

OUT_OF_BOUNDS_EXIT = 70
"""Exit code after a candidate has damaged the memory of this process."""


def main(arguments: dict[str, Any]) -> None:
    """Serve the parent until it goes away."""
    die_with_parent()
    requests, replies = _own_streams()
    tasks, copies = HeldTasks(), ConstantCopies()
    while (message := read_message(requests)) is not None:
        header, blobs = message
        if header["kind"] == "load":
            limit_address_space(arguments["memory_bytes"])
            tasks.put(header["task"], load_inputs(header["data"]))
            limit_address_space(arguments["memory_bytes"])
            write_message(replies, {"status": "loaded", "held": tasks.names})
            continue
        reply = _measured(header, blobs, tasks, copies)
        write_message(replies, {**reply, "held": tasks.names})
        if reply.get("damaged"):
            os._exit(OUT_OF_BOUNDS_EXIT)


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes to the parent, moved to where no candidate finds them by number."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    return requests, replies


def _measured(
    header: dict[str, Any], blobs: list[bytes], tasks: HeldTasks, copies: ConstantCopies
) -> dict[str, Any]:
    try:
        slots = [Slot.from_json(item) for item in header["slots"]]
        run = CandidateRun(blobs, slots, tasks.use(header["task"]), copies, header["threads"])
    except MemoryError:
        return {"status": "memory", "message": "no memory for the candidate's buffers"}
    except BuildError as error:
        reason = " ".join((error.message, *error.notes))
        return {"status": "compile_error", "message": f"linking failed: {reason}"[:500]}
    try:
        timing = run.time(run.check(), header["best"])
    except OutOfBoundsError as error:
        return {"status": "wrong", "message": str(error), "damaged": True}
    except WrongAnswerError as error:
        return {"status": "wrong", "message": str(error)[:500]}
    except MemoryError:
        return {"status": "memory", "message": "no memory left while checking the answer"}
    finally:
        run.close()
        tasks.shrink()
    return {"status": "ok", "message": "", "seconds": timing.seconds, "spread": timing.spread}


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
