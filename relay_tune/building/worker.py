"""A process that works for a build: it chooses schedules and compiles kernels.

    python -m relay_tune.building.worker TARGET MACHINE THREADS ACCURACY

A request is one byte, which says what is wanted, and a tensor program as JSON (`plain_data`), whose
schedule is the answer, also JSON, or an LLVM module, whose object file is. The target and the
machine are JSON, too; a machine that has no such form is `null`, and no schedules are wanted then.
"""

from __future__ import annotations

import gc
import json
import sys

from relay_tune.building.plain_data import decoded
from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.target import Target
from relay_tune.codegen.worker_pool import Answer, serve
from relay_tune.codegen.worker_process import die_with_parent
from relay_tune.machine.machine import Machine
from relay_tune.remembered import primitive_is_written, results_for_one_build
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.plan import plan_program

CHOOSE, COMPILE = b"s", b"c"
"""What a request is for."""

NO_MACHINE = "null"


def works_for(target: Target, machine: Machine | None, threads: int, accuracy: Accuracy) -> Answer:
    """Answers programs with their default schedules, and texts with object files."""

    def answer(request: bytes) -> bytes:
        text = request[1:].decode()
        if request[:1] == COMPILE:
            return compile_text(text, target)
        assert machine is not None
        plan = plan_program(decoded(text)).with_accuracy(accuracy)
        schedule = plan.default_schedule(machine, threads).to_json().encode()
        plan.forget()
        primitive_is_written()
        return schedule

    return answer


if __name__ == "__main__":
    die_with_parent()
    target, machine = Target(**json.loads(sys.argv[1])), sys.argv[2]
    known = None if machine == NO_MACHINE else decoded(machine)
    gc.freeze()  # no garbage is among what was imported
    with results_for_one_build():
        answer = works_for(target, known, int(sys.argv[3]), Accuracy(sys.argv[4]))
        serve(sys.stdin.buffer, sys.stdout.buffer, answer)
