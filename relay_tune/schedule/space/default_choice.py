"""The choice with the best estimate, which is what a nest gets that was never tuned."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from operator import itemgetter

from relay_tune.machine.machine import Machine
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.space.alternatives import is_small_window
from relay_tune.schedule.space.descent import Chosen, Descent, shuffles
from relay_tune.schedule.space.space import NestSpace

REMEMBERED_DEFAULTS = 2048

WORTH_TURNING = 0.995
"""A start with another order of the window's loops has to be so much better than those before: they
often find tiles that are as good."""

HOPELESS = 2.0
"""A start none of whose tiles comes so near to the best one is left out: blocks, orders and single
steps decide about less."""


def default_choices(spaces: Sequence[NestSpace]) -> tuple[TileChoice, ...]:
    """The default choice of each nest."""
    return with_joined(spaces, [default_choice(space) for space in spaces])


def with_joined(
    spaces: Sequence[NestSpace], choices: Sequence[TileChoice]
) -> tuple[TileChoice, ...]:
    """The choices, but a nest that can share the loops of the one before has the same as that."""
    found: list[TileChoice] = []
    for space, choice in zip(spaces, choices, strict=True):
        found.append(found[-1] if space.analysis.near.joined else choice)
    return tuple(found)


def default_choice(space: NestSpace) -> TileChoice:
    """The combination with the best estimate: coordinate descent from a few starts.

    A last one begins at the best of these, with the next panel asked for: no single change of a
    tile that reads each element once makes several worth it that share a panel.

    The descent looks at pairs of the choices that interact (vector and tile), so that it finds
    the shape of the register tile, and at the others one by one. Spaces of nests that are alike
    share what is found.
    """
    threads = 1 if space.repeats else space.threads  # a group is divided, not its nests
    run = threads, space.repeats
    return _found(space.analysis, space.machine, *run, space.names, space.values, space.opened)


@remembered(REMEMBERED_DEFAULTS)
def _found(
    analysis: NestAnalysis,
    machine: Machine,
    threads: int,
    repeats: float,
    names: tuple[str, ...],
    values: tuple[tuple[object, ...], ...],
    opened: tuple[int, ...],
) -> TileChoice:
    space = NestSpace(analysis, machine, threads, repeats, names, values, opened)
    best: tuple[float, Chosen] | None = None
    choices = dict(zip(space.names, space.values, strict=True))
    first = {name: values[0] for name, values in choices.items()}
    descent = Descent(space)
    for vector, start in product(space.values[0], _starts(space)):
        chosen = {**first, "vector": vector, **start}
        if best is not None and not descent.may_reach(chosen, HOPELESS * best[0]):
            continue
        found = descent.run(chosen)
        worth = WORTH_TURNING if "reduction_order" in start else 1.0
        if best is None or found[0] < best[0] * worth:
            best = found
    assert best is not None
    if _reads_from_afar(space):
        asking = descent.run({**best[1], "prefetch": True, "order": choices["order"][-1]})
        best = min(best, asking, key=itemgetter(0))
    return space.decode(best[1])


def _starts(space: NestSpace) -> list[dict[str, object]]:
    """Where the descent begins: with no blocks, and with many if tiles want other shapes then.

    Small tiles are good where blocks keep the rows of a sliding window in the first cache, tall
    ones where its rows are the innermost loop, since fewer values wait in registers then. Where a
    window shuffles its operands, and in groups, the innermost of the loops that are written out
    decides what these steps share.
    """
    starts: list[dict[str, object]] = [{}]
    choices = dict(zip(space.names, space.values, strict=True))
    if space.analysis.beside_windows:
        blocks = [(name, values) for name, values in choices.items() if name.startswith("blocks")]
        starts += [{name: values[-1]} for name, values in blocks]
        starts += [{"reduction_order": order} for order in choices["reduction_order"][1:]]
    shuffles_window = shuffles(space) and is_small_window(space.analysis.nest)
    if shuffles_window or space.analysis.independent:
        written_out = choices["unroll"][-1]
        orders = choices["reduction_order"]
        starts += [{"reduction_order": order, "unroll": written_out} for order in orders]
    return starts


def _reads_from_afar(space: NestSpace) -> bool:
    """Whether a sum of no window reads data that the second cache does not hold."""
    analysis, second = space.analysis, space.machine.memories[1].bytes
    if analysis.match is not None or analysis.beside_windows or analysis.nest.body is None:
        return False
    far = (a for a in analysis.body_accesses if a.all_bytes > second and not a.is_near)
    return any(not access.constant for access in far)
