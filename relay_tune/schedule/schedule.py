"""Schedules as data: one choice for each nest of a program, with a JSON form.

A schedule replays to the same code on any machine. What comes from a tuning log is checked against
the nests before it is obeyed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields

from relay_tune.errors import InputError
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.choices import tile_misfit
from relay_tune.schedule.intrinsics.match import intrinsic_match
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.schedule.rewrites.algorithm import (
    DIRECT,
    Algorithm,
    AppliedAlgorithm,
    read_algorithm,
)
from relay_tune.schedule.rewrites.table import ALGORITHMS

MAXIMUM_LANES = 64
MAXIMUM_TILE_POINTS = 4096
MAXIMUM_UNROLL = 64
MAXIMUM_WRITTEN_POINTS = 4096
"""Vectors in one loop body; more is no kernel but an attack on the compiler's time."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How a program is computed.

    Attributes:
        choices: for the nests of the program under the algorithm, in their order.
        algorithm: where its stages and groups come from.
    """

    choices: tuple[TileChoice, ...]
    algorithm: AppliedAlgorithm = DIRECT

    def to_json(self) -> str:
        """The canonical JSON text: equal schedules have equal texts."""
        data: dict[str, object] = {
            "nests": [
                {f.name: getattr(choice, f.name) for f in fields(choice)} for choice in self.choices
            ]
        }
        if self.algorithm != DIRECT:
            data["algorithm"] = self.algorithm.to_json()
        return json.dumps(data, sort_keys=True, separators=(",", ":"))

    @staticmethod
    def from_json(
        text: str, nests: Sequence[Nest], known: Sequence[Algorithm] = ALGORITHMS
    ) -> Schedule:
        """The schedule of a text, checked for the nests of a plan with its algorithm.

        Raises InputError where the text is malformed or does not fit them.
        """
        algorithm = algorithm_of(text, known)
        try:
            data = json.loads(text)
            choices = tuple(_choice(item) for item in data["nests"])
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise InputError(
                f"The schedule is malformed: {error!r}.",
                remedy="Use the text that the schedule's JSON form gave, unchanged.",
            ) from error
        if len(choices) != len(nests):
            raise InputError(
                f"The schedule has {len(choices)} choices, but the program has {len(nests)} nests.",
                remedy="Use the schedule with the program that it was found for, or none.",
            )
        for choice, nest in zip(choices, nests, strict=True):
            reason = misfit(choice, nest)
            if reason is not None:
                raise InputError(
                    f"The schedule does not fit nest {nest.name}: {reason}.",
                    remedy="Use the schedule with the program that it was found for, or none.",
                )
        return Schedule(choices, algorithm)


def algorithm_of(text: str, known: Sequence[Algorithm] = ALGORITHMS) -> AppliedAlgorithm:
    """The algorithm of a schedule's JSON text, of those that are known.

    Raises InputError where the text is malformed, or there is no such algorithm.
    """
    try:
        return read_algorithm(json.loads(text).get("algorithm", []), known)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"The schedule is malformed: {error!r}.",
            remedy="Use the text that the schedule's JSON form gave, unchanged.",
        ) from error


def misfit(choice: TileChoice, nest: Nest) -> str | None:
    """Why a choice cannot be applied to a nest, or None if it can."""
    rank, reduced = len(nest.axes), len(nest.reduction)
    if not -2 <= choice.vector < rank:
        return f"vector axis {choice.vector} of {rank}"
    if choice.vector == -2 and not reduced:
        return "lanes of a reduction where nothing is reduced"
    if not 1 <= choice.lanes <= MAXIMUM_LANES or choice.lanes & (choice.lanes - 1):
        return f"{choice.lanes} lanes"
    if choice.vector == -1 and choice.lanes != 1:
        return f"{choice.lanes} lanes without a vector axis"
    if choice.vector == -2 and choice.lanes == 1:
        return "a reduction along a single lane"
    if len(choice.tile) != rank or sorted(choice.order) != list(range(rank)):
        return "a tile or order of another rank"
    if sorted(choice.reduction_order) != list(range(reduced)):
        return "a reduction order of another rank"
    points = 1
    for axis, extent in zip(nest.axes, choice.tile, strict=True):
        if not 1 <= extent <= max(axis.extent, 1):
            return f"a tile of {extent} on an axis of {axis.extent}"
        points *= extent
    if points > MAXIMUM_TILE_POINTS:
        return f"a tile of {points} points"
    if not 1 <= choice.unroll <= MAXIMUM_UNROLL:
        return f"unrolling by {choice.unroll}"
    if points * choice.unroll > MAXIMUM_WRITTEN_POINTS * choice.lanes:
        return f"{points} points written out {choice.unroll} times"
    if len(choice.blocks) != rank:
        return "blocks of another rank"
    for axis, count in zip(nest.axes, choice.blocks, strict=True):
        if not 1 <= count <= max(axis.extent, 1):
            return f"{count} blocks on an axis of {axis.extent}"
    loops = outer_loops(nest.axes, choice)
    if not 0 <= choice.parallel <= len(loops):
        return f"{choice.parallel} parallel loops of {len(loops)}"
    parts = {position for position, axis in enumerate(nest.axes) if axis in nest.carried}
    if choice.vector in parts or any(choice.tile[position] > 1 for position in parts):
        return "a tile of several parts that are added up one after the other"
    if any(loop.place in parts for loop in loops[: choice.parallel]):
        return "parts in parallel that are added up one after the other"
    match = intrinsic_match(nest)
    return None if match is None else tile_misfit(choice, match)


def _choice(item: object) -> TileChoice:
    if not isinstance(item, dict):
        raise TypeError("a choice is no object")
    return TileChoice(
        vector=_integer(item["vector"]),
        lanes=_integer(item["lanes"]),
        tile=_integers(item["tile"]),
        order=_integers(item["order"]),
        blocks=_integers(item["blocks"]),
        reduction_order=_integers(item["reduction_order"]),
        unroll=_integer(item["unroll"]),
        parallel=_integer(item["parallel"]),
        prefetch=_truth(item["prefetch"]),
    )


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is no truth value")
    return value


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no integer")
    return value


def _integers(value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    return tuple(_integer(item) for item in value)
