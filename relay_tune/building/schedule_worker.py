"""A process that chooses schedules: tensor programs on standard input, schedules on its output.

    python -m relay_tune.building.schedule_worker MACHINE THREADS ACCURACY

The machine and the programs are JSON (`plain_data`), and so are the schedules.
"""

from __future__ import annotations

import sys

from relay_tune.building.plain_data import decoded
from relay_tune.codegen.worker_pool import Answer, serve
from relay_tune.codegen.worker_process import die_with_parent
from relay_tune.machine.machine import Machine
from relay_tune.remembered import results_for_one_build
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.plan import plan_program


def chooses_for(machine: Machine, threads: int, accuracy: Accuracy) -> Answer:
    """Answers programs with their default schedules."""

    def answer(request: bytes) -> bytes:
        plan = plan_program(decoded(request.decode())).with_accuracy(accuracy)
        return plan.default_schedule(machine, threads).to_json().encode()

    return answer


if __name__ == "__main__":
    die_with_parent()
    machine, accuracy = decoded(sys.argv[1]), Accuracy(sys.argv[3])
    with results_for_one_build():
        answer = chooses_for(machine, int(sys.argv[2]), accuracy)
        serve(sys.stdin.buffer, sys.stdout.buffer, answer)
