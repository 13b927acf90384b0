"""The machine of a target for cost estimates, measured where it is this one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf, log
from types import MappingProxyType

from relay_tune.codegen.target import Target, native_target
from relay_tune.machine.intrinsic import Intrinsic
from relay_tune.machine.machine import PRIVATE_CACHES, Machine, Memory, MemoryScope
from relay_tune.machine.pattern import WORD_PATTERNS
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.runtime.measure_limits import machine_limits
from relay_tune.tensor.scalar_semantics import is_float

FILLED_SHARES = (2 / 3, 3 / 4)
"""How much of the first and second cache a kernel's data can fill beside what passes by."""

MOST_FILLED = 768 << 10
"""Kernels whose data take more of a private cache were slower than estimated on every machine."""

SHARED_FILLED_SHARE = 1 / 2
"""The same for those farther away, which other cores fill too."""

STEP, SHARED_STEP = 2**0.5, 2.0
"""Rates are rounded to powers of these, so that the same machine gives the same schedules each
time; those of shared caches and of memory depend on neighbours and on the address in memory."""


NOTHING_LOGGED: Mapping[str, float] = MappingProxyType({})


def machine_of(
    target: Target,
    limits: MachineLimits | None = None,
    logged: Mapping[str, float] = NOTHING_LOGGED,
) -> Machine:
    """The figures of a target, with the coefficients that a log has for it.

    Those of the native target are the limits of one thread: the ones that are given, or else what
    is measured in this process, also where they tell of fewer caches than estimates are about.
    Targets that are named get general figures. `logged` are the rows that a tuning log has of the
    target (`relay_tune.machine.coefficients`).
    """
    machine = _machine_of(target, limits)
    known = machine.coefficients.with_entries(logged)
    return machine if known == machine.coefficients else replace(machine, coefficients=known)


def _machine_of(target: Target, limits: MachineLimits | None) -> Machine:
    if target != native_target():
        return target.machine
    if limits is None or len(limits.caches) < PRIVATE_CACHES:
        limits = machine_limits(1)
    return measured_machine(target, limits)


def measured_machine(target: Target, limits: MachineLimits) -> Machine:
    """The figures of a machine with these limits of one thread, whose code `target` is for."""
    general = target.machine
    fused = limits.operations["float32"] / (2 * target.lanes("float32"))
    cycle = general.vectors.fused_per_cycle / fused
    private, shared = limits.caches[:PRIVATE_CACHES], limits.caches[PRIVATE_CACHES:]
    memories = [
        Memory(
            MemoryScope.CORE,
            int(min(cache.bytes * share, MOST_FILLED)),
            _rounded(cache.rate * cycle, STEP),
        )
        for cache, share in zip(private, FILLED_SHARES, strict=False)
    ]
    memories += [
        Memory(
            MemoryScope.SHARED,
            int(cache.bytes * SHARED_FILLED_SHARE),
            _rounded(cache.rate * cycle, SHARED_STEP),
        )
        for cache in shared
    ]
    memories.append(Memory(MemoryScope.MAIN, inf, _rounded(limits.memory * cycle, SHARED_STEP)))
    intrinsics = tuple(_measured(each, limits, cycle) for each in general.intrinsics)
    words = tuple(name for name in general.dot_products if _is_worth_it(name, limits))
    return replace(general, memories=tuple(memories), intrinsics=intrinsics, dot_products=words)


def _is_worth_it(words: str, limits: MachineLimits) -> bool:
    """Whether products of words take no longer than those of their elements as floats.

    Some processors split such an instruction into many steps (116 GFLOP/s beside 241).
    """
    pattern = next(each for each in WORD_PATTERNS if each.name == words)
    floats = limits.operations["float32"]
    if not is_float(pattern.result):
        return True
    return limits.operations.get(pattern.unit, floats) >= floats


def _measured(intrinsic: Intrinsic, limits: MachineLimits, cycle: float) -> Intrinsic:
    """An intrinsic with its own cycles, at most those of its processors' record.

    Cores that share a unit can lower its rate to a third for seconds (decision 193): what is slower
    than the record was disturbed, and would choose other kernels in each build.
    """
    rate = limits.operations.get(intrinsic.pattern.name)
    if rate is None:
        return intrinsic
    measured = _rounded(intrinsic.pattern.operations / rate / cycle, STEP)
    return replace(intrinsic, cycles=min(measured, intrinsic.cycles))


def _rounded(figure: float, step: float) -> float:
    """The power of `step` that is nearest."""
    return step ** round(log(figure, step))
