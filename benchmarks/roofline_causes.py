"""What keeps a kernel from its limit, as far as the estimate of its schedule tells."""

from __future__ import annotations

from dataclasses import dataclass

from relay_tune.machine.machine import Machine
from relay_tune.runtime.machine_limits import COMPUTE
from relay_tune.runtime.profile import ProfileRow
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.estimate import Estimate
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.schedule import Schedule

MUCH_WASTE = 1.1
MUCH_WAITING = 0.1
LARGEST_PART = 0.8
SHORT_SECONDS = 20e-6
UNKNOWN = "not told by the estimate"


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a kernel runs.

    Attributes:
        machine: what the estimate knows of it.
        threads: how many threads run.
        weight_rate: bytes a second at which the network's weights come, all of them in turn.
    """

    machine: Machine
    threads: int
    weight_rate: float


def causes(plan: Plan, schedule: Schedule, row: ProfileRow, setting: Setting) -> str:
    """The reasons in words, the heaviest nest's first; `plan` has the schedule's algorithm."""
    machine, threads = setting.machine, setting.threads
    spaces = plan.spaces(machine, threads)
    if not spaces:
        return UNKNOWN
    estimates = [s.estimate(c) for s, c in zip(spaces, schedule.choices, strict=True)]
    times = [max(repeat, 1) for repeat in plan.repeats]
    cycles = [found.cycles * count for found, count in zip(estimates, times, strict=True)]
    heaviest = max(range(len(cycles)), key=cycles.__getitem__)
    found = _of_nest(estimates[heaviest], schedule.choices[heaviest], row, machine)
    part = cycles[heaviest] / (sum(cycles) or 1.0)
    if part < LARGEST_PART:
        names = dict.fromkeys(nest.name for n, nest in enumerate(plan.nests) if n != heaviest)
        found.append(f"{1 - part:.0%} of the estimate in {', '.join(names)}")
    waiting = weight_bytes(plan) / setting.weight_rate / row.seconds
    if waiting > MUCH_WAITING:
        size = weight_bytes(plan) / 1e6
        found.append(f"{size:.1f} MB of weights take {waiting:.0%} of the time to come")
    if threads > 1 and not schedule.choices[heaviest].parallel:
        found.append("runs on one thread")
    if row.seconds < SHORT_SECONDS:
        found.append("short: starting it takes its time")
    return "; ".join(found) or UNKNOWN


def weight_bytes(plan: Plan) -> int:
    """The bytes of all constants, as the algorithm of the plan keeps them."""
    return sum(data.nbytes for _, data in plan.program.constants)


def _of_nest(
    estimate: Estimate, choice: TileChoice, row: ProfileRow, machine: Machine
) -> list[str]:
    found = []
    if estimate.waste > MUCH_WASTE:
        found.append(f"edge tiles: {estimate.waste - 1:.0%} computed in vain")
    if estimate.memory_cycles > estimate.compute_cycles and row.bound.name == COMPUTE:
        found.append("the schedule reads more from the caches than it computes")
    loads_bound = machine.vectors.loads_per_cycle / machine.vectors.fused_per_cycle
    if estimate.loads_per_operation > loads_bound and row.bound.name == COMPUTE:
        found.append(f"{estimate.loads_per_operation:.1f} loads for each operation")
    if choice.vector == -1:
        found.append("no vectors")
    if estimate.registers > machine.vectors.registers:
        found.append(f"{estimate.registers} registers of {machine.vectors.registers}")
    return found
