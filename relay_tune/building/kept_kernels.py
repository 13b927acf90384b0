"""The code of primitives, and kernels that builds in turn have in common."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import field, replace

from relay_tune.building.primitive import Primitive
from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.target import Target
from relay_tune.machine.intrinsic import Intrinsic, used_in
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import remembered
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.program import ScheduledProgram
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.touched import as_called

ChooseSchedule = Callable[[PrimitiveKey, Plan], Schedule | None]
"""The schedule to use for a primitive, or None for the default one.

It is given the primitive's plan under the direct algorithm; the schedule may be for another one.
"""


@dataclass(frozen=True, eq=False, slots=True)
class PrimitiveCode:
    """The kernels of all primitives of one key.

    Attributes:
        key: the key.
        scheduled: the kernels, without bodies once their text is on its way to the compiler;
            symbols contain the digest of the key.
        work: what one run has to do.
        text: the kernels as an LLVM module; empty before it is written, and once it is compiled,
            or on its way.
        schedule: what the kernels were made with.
        in_place: inputs and outputs by number that may lie in the same memory.
        used: the intrinsics that the text has.
    """

    key: PrimitiveKey
    scheduled: ScheduledProgram
    work: KernelWork
    schedule: Schedule
    in_place: frozenset[tuple[int, int]] = frozenset()
    text: str = ""
    used: tuple[Intrinsic, ...] = ()

    def written(self, target: Target) -> PrimitiveCode:
        """The code with its text."""
        text = self.text or module_text(self.scheduled.kernels, target)
        return replace(self, text=text, used=tuple(used_in(target.intrinsics, (text,))))

    def sent(self) -> PrimitiveCode:
        """The code once its text is on its way to the compiler: what calls of it have to know."""
        kernels = tuple(map(as_called, self.scheduled.kernels))
        return replace(self, text="", scheduled=replace(self.scheduled, kernels=kernels))


@dataclass(frozen=True, slots=True)
class KeptKernels:
    """Kernels with their object files, for builds in turn that have primitives in common.

    They are kept as long as other results of a build (`relay_tune.remembered`). What is planned
    or scheduled by the caller, or has code for several sizes, is written anew each time.
    """

    _known: dict[
        tuple[str, frozenset[tuple[int, int]]], tuple[PrimitiveCode, Future[bytes] | None]
    ] = field(default_factory=dict)

    def scheduled(self, primitive: Primitive) -> PrimitiveCode | None:
        """The kernels of an equal primitive of an earlier build, compiled or not.

        Not those whose text was sent to a compiler that did not give an object.
        """
        code, compiled = self._found(primitive)
        return code if compiled is None or _is_done(compiled) else None

    def code(self, primitive: Primitive) -> tuple[PrimitiveCode, Future[bytes]] | None:
        """The kernels of an equal primitive of an earlier build, if they were compiled."""
        code, compiled = self._found(primitive)
        if code is None or compiled is None or not _is_done(compiled):
            return None
        return code, compiled

    def _found(self, primitive: Primitive) -> tuple[PrimitiveCode | None, Future[bytes] | None]:
        known = self._known.get((primitive.key.digest, primitive.in_place))
        return (None, None) if known is None or not _is_plain(primitive) else known

    def keep(
        self, primitive: Primitive, code: PrimitiveCode, compiled: Future[bytes] | None = None
    ) -> None:
        """Keep the kernels of a primitive, which may not be compiled yet."""
        if _is_plain(primitive):
            self._known[primitive.key.digest, primitive.in_place] = code, compiled


def _is_done(compiled: Future[bytes]) -> bool:
    """Whether there is an object file."""
    return compiled.done() and not compiled.cancelled() and compiled.exception() is None


def _is_plain(primitive: Primitive) -> bool:
    """Whether its code depends on nothing but its key and who chooses its schedule."""
    return primitive.open is None and primitive.plan is None and primitive.schedule is None


@remembered(4, lasts=True)
def kept_kernels(target: Target, threads: int, choose: ChooseSchedule | None) -> KeptKernels:
    """The kernels of the builds with one way to choose schedules."""
    return KeptKernels()
