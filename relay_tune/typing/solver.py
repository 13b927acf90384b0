"""The constraint solver: unification, and a queue of relations that wait for their inputs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from relay_tune.ir.expr import Expr
from relay_tune.ir.types import IncompleteType, Type
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.type_terms import holes
from relay_tune.typing.unify import Unifier


@dataclass(slots=True, eq=False)
class PendingRelation:
    """A rule that will give `output` once enough of `inputs` is known.

    `rule(resolved inputs)` returns the output type, or None; `node` is the expression it types.
    """

    rule: Callable[[Sequence[Type]], Type | None]
    inputs: tuple[Type, ...]
    output: IncompleteType
    node: Expr
    done: bool = False


class Solver(Unifier):
    """A unifier that runs relations as soon as the holes they wait for are filled.

    Attributes:
        running: the relation that runs, or that was run last, to locate an error; None before.
    """

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[IncompleteType, list[PendingRelation]] = {}
        self._queue: deque[PendingRelation] = deque()
        self._unsolved: dict[PendingRelation, None] = {}
        self.running: PendingRelation | None = None

    def add(self, relation: PendingRelation) -> None:
        """Run a relation, now if it can be, else when an input becomes known."""
        self._unsolved[relation] = None
        self._queue.append(relation)
        self.solve()

    def solve(self) -> None:
        """Run all relations that have something new to work with."""
        while self._queue:
            self._run(self._queue.popleft())

    def unsolved(self) -> tuple[PendingRelation, ...]:
        """The relations that still wait, oldest first."""
        return tuple(self._unsolved)

    def on_bound(self, hole: IncompleteType, type_: Type) -> None:
        """Wake what waits for a hole, or let it wait for the hole that it became."""
        waiting = self._waiting.pop(hole, None)
        if waiting is None:
            return
        if isinstance(type_, IncompleteType):
            self._waiting.setdefault(type_, []).extend(waiting)
        else:
            self._queue.extend(waiting)

    def _run(self, relation: PendingRelation) -> None:
        if relation.done:
            return
        inputs = tuple(self.resolve(type_) for type_ in relation.inputs)
        self.running = relation
        output = relation.rule(inputs)
        if output is None:
            self._wait(relation)
        else:
            relation.done = True
            del self._unsolved[relation]
            self.unify(relation.output, output)
        self.running = None

    def _wait(self, relation: PendingRelation) -> None:
        for type_ in relation.inputs:
            for hole in holes(self.resolve(type_)):
                self._waiting.setdefault(hole, []).append(relation)
