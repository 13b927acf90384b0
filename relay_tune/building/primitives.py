"""The distinct primitives of a network: scheduled, written as LLVM IR, and compiled once each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace

from relay_tune.building.bounded_rows import bounded_rows
from relay_tune.building.default_schedules import DefaultSchedules
from relay_tune.building.in_place import with_shared_memory
from relay_tune.building.kept_kernels import ChooseSchedule, PrimitiveCode, kept_kernels
from relay_tune.building.needless_cases import behind_general, comparable_cases
from relay_tune.building.planned_ahead import planned_ahead
from relay_tune.building.primitive import Primitive, Stretched
from relay_tune.building.size_cases import (
    USUAL_SIZES,
    cases_of_points,
    fixed_case,
    key_at,
    size_cases,
    smaller_sizes,
)
from relay_tune.building.size_points import SizePoint, local_sizes
from relay_tune.building.work import work_on
from relay_tune.building.workers import BuildWorkers, Compiling
from relay_tune.codegen.compiler_pool import CompilerPool
from relay_tune.codegen.target import Target
from relay_tune.errors import NoNativeCodeError
from relay_tune.ir.expr import Function
from relay_tune.op.lower import lower_function
from relay_tune.op.primitive_key import PrimitiveKey, primitive_key, primitive_title
from relay_tune.op.spaced_inputs import spaced_inputs
from relay_tune.program.open_primitive import OpenPrimitive, is_open_primitive, open_primitive
from relay_tune.program.open_programs import (
    Example,
    is_possible,
    no_open_code,
    open_program,
    size_program,
    usual_example,
)
from relay_tune.program.stretched_primitives import (
    StretchedPrimitive,
    stretched_primitives,
)
from relay_tune.remembered import primitive_is_written
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.size import UndecidedSizeError

FEWEST_FOR_WORKERS = 6
LEAST_TEXT_FOR_WORKERS = 1 << 19
"""Fewer primitives, or less text, are compiled here: starting processes would cost more.

A process takes a fifth of a second to start, in which LLVM compiles 400 kB (decision 71).
"""


def primitives_of(
    functions: Iterable[Function],
    sizes: Sequence[int] = USUAL_SIZES,
    points: Sequence[SizePoint] = (),
) -> dict[Function, Primitive]:
    """The primitive of each function; `sizes` of open dimensions get code of their own.

    So do the sizes of `points`, and all up to them.
    """
    return {function: _primitive(function, sizes, points) for function in dict.fromkeys(functions)}


def _primitive(function: Function, sizes: Sequence[int], points: Sequence[SizePoint]) -> Primitive:
    if not is_open_primitive(function):
        return Primitive(primitive_key(function), lower_function(function), function)
    named = open_primitive(function)
    with _in_names_of_the_program(named):
        return _open(function, named, sizes, points)


def require_open_code(functions: Iterable[Function]) -> None:
    """Raise NoNativeCodeError for the first primitive that cannot be lowered for all sizes."""
    seen: set[str] = set()
    for function in filter(is_open_primitive, functions):
        named = open_primitive(function)
        digest = primitive_key(named.function).digest
        if digest not in seen:
            seen.add(digest)
            with _in_names_of_the_program(named):
                usual_example(named)


@contextmanager
def _in_names_of_the_program(named: OpenPrimitive) -> Iterator[None]:
    """Have errors say what the names of sizes are that they mention."""
    try:
        yield
    except UndecidedSizeError as error:
        raise no_open_code(primitive_title(named.function), error.message, named) from error
    except NoNativeCodeError as error:
        raise NoNativeCodeError(
            error.message,
            where=error.where,
            notes=(*error.notes, *named.legend),
            remedy=error.remedy,
        ) from error


def _open(
    function: Function,
    named: OpenPrimitive,
    sizes: Sequence[int],
    points: Sequence[SizePoint],
) -> Primitive:
    usual = usual_example(named)
    plain = primitive_key(named.function)
    # Code for sizes by themselves would take the room of a spaced input to be its size.
    of_points = () if spaced_inputs(function) else points
    local = [(local_sizes(function, named, point), point.is_exact) for point in of_points]
    exact = [fixed_case(named, found) for found, alone in local if found and alone]
    wanted = [found for found, alone in local if found and not alone]
    example = _example(named, usual, wanted)
    key = plain if example == usual else key_at(named, plain, example.own)
    program = open_program(named, example)
    cases = (
        *smaller_sizes(named, plain, example),
        *exact,
        *size_cases(named, plain, program, example, sizes),
        *cases_of_points(named, plain, example, wanted),
        *bounded_rows(named, plain, program, example),
    )
    return Primitive(
        key,
        program,
        named.function,
        open=named,
        example=example,
        cases=cases,
        sizes=_size_primitive(named, key),
        stretched=() if named.found else _stretched(stretched_primitives(function, named)),
    )


def _example(named: OpenPrimitive, usual: Example, wanted: Sequence[Mapping[str, int]]) -> Example:
    """The example for the code of all sizes: the last that is wanted and possible."""
    for sizes in reversed(wanted):
        example = replace(usual, own=sizes)
        if is_possible(open_program(named, example)):
            return example
    return usual


def _stretched(alternatives: Sequence[StretchedPrimitive]) -> tuple[Stretched, ...]:
    """The primitives for sizes of 1 where others must be equal; they have no cases."""
    found: list[Stretched] = []
    for each in alternatives:
        if each.named is None:
            own = Primitive(
                primitive_key(each.function), lower_function(each.function), each.function
            )
        else:
            example = replace(usual_example(each.named), least={})
            own = Primitive(
                primitive_key(each.named.function),
                open_program(each.named, example),
                each.named.function,
                open=each.named,
                example=example,
                stretched=_stretched(each.stretched()),
            )
        found.append(Stretched(each.place, each.function, own))
    return tuple(found)


def _size_primitive(named: OpenPrimitive, key: PrimitiveKey) -> Primitive | None:
    """What finds the sizes of a primitive's results; None if they follow from those of inputs."""
    if not named.found:
        return None
    own = PrimitiveKey(f"{key.digest}s", f"sizes of {key.title}")
    return Primitive(own, size_program(named), named.function, open=named, lower=size_program)


def planned(primitive: Primitive) -> Primitive:
    """The primitive with its plan, for networks that are built several times.

    Its nests are then the same each time, so that the code of equal schedules is written once. The
    plan holds the constants of every algorithm that was looked at.
    """
    return replace(primitive, plan=plan_program(primitive.program))


def chosen_schedule(
    key: PrimitiveKey, plan: Plan, target: Target, threads: int, choose: ChooseSchedule | None
) -> Schedule:
    """The chosen or the default schedule of a primitive with a direct plan."""
    schedule = choose(key, plan) if choose is not None else None
    return schedule or plan.default_schedule(machine_of(target), threads)


def _has_schedule(
    primitive: Primitive,
    schedule: Schedule,
    target: Target,
    threads: int,
    choose: ChooseSchedule | None,
) -> bool:
    """Whether a primitive has a schedule; not where its sizes leave it none."""
    try:
        plan = primitive.plan or plan_program(primitive.program)
        own = primitive.schedule or chosen_schedule(primitive.key, plan, target, threads, choose)
    except UndecidedSizeError:  # which is said where its code is written
        return False
    if primitive.plan is None:
        plan.forget()
    return own == schedule


def write_primitive(
    primitive: Primitive,
    target: Target,
    threads: int,
    choose: ChooseSchedule | None,
    *,
    without_text: bool = False,
) -> PrimitiveCode:
    """The kernels of a primitive under the chosen or the default schedule.

    Those of known sizes may be left `without_text`. Raises NoNativeCodeError where sizes are open
    and the code, which the text tells, would depend on what they are.
    """
    is_left = without_text and primitive.open is None
    try:
        return _written(primitive, target, threads, choose, is_left)
    except UndecidedSizeError as error:
        raise no_open_code(primitive.key.title, error.message, primitive.open) from error


def _written(
    primitive: Primitive,
    target: Target,
    threads: int,
    choose: ChooseSchedule | None,
    without_text: bool,
) -> PrimitiveCode:
    direct = primitive.plan or plan_program(primitive.program)
    try:
        return _planned_code(primitive, direct, target, threads, choose, without_text)
    finally:
        if primitive.plan is None:
            direct.forget()


def _planned_code(
    primitive: Primitive,
    direct: Plan,
    target: Target,
    threads: int,
    choose: ChooseSchedule | None,
    without_text: bool,
) -> PrimitiveCode:
    schedule = primitive.schedule or chosen_schedule(primitive.key, direct, target, threads, choose)
    try:
        code = _applied(primitive, direct, schedule, target)
        return code if without_text else code.written(target)
    except UndecidedSizeError:
        if primitive.schedule is not None or schedule.algorithm == DIRECT:
            raise
    # Under another algorithm the code would depend on the sizes.
    plain = direct.with_algorithm(DIRECT)
    _, schedule = plain.default_under_algorithm(machine_of(target), threads)
    return _applied(primitive, plain, schedule, target).written(target)


def _applied(
    primitive: Primitive, direct: Plan, schedule: Schedule, target: Target
) -> PrimitiveCode:
    # Who chose the schedule has looked at the accuracy that the user allows.
    plan = direct.allowing(schedule.algorithm).with_algorithm(schedule.algorithm)
    scheduled = apply_schedule(plan, schedule, prefix=f"kernel_{primitive.key.digest}")
    scheduled, in_place = with_shared_memory(scheduled, primitive.in_place)
    return PrimitiveCode(primitive.key, scheduled, work_on(target, plan), schedule, in_place)


def scheduled_primitives(
    primitives: Mapping[str, Primitive],
    target: Target,
    threads: int,
    choose: ChooseSchedule | None,
    workers: BuildWorkers,
    defaults: DefaultSchedules | None = None,
) -> dict[str, PrimitiveCode]:
    """The code of each primitive by digest, whose text may not be written yet.

    For those who look at the memory that kernels need before they decide which of them to compile.
    """
    every: Iterable[Primitive] = primitives.values()
    ordered = every if defaults is None else planned_ahead(every, defaults, workers)
    kept = kept_kernels(target, threads, choose)
    codes: dict[str, PrimitiveCode] = {}
    for primitive in ordered:
        code = kept.scheduled(primitive)
        if code is None:
            code = write_primitive(primitive, target, threads, choose, without_text=True)
            kept.keep(primitive, code)
        codes[primitive.key.digest] = code
        primitive_is_written()
    return {digest: codes[digest] for digest in primitives}


def compiled_primitives(
    primitives: Mapping[str, Primitive],
    target: Target,
    threads: int,
    choose: ChooseSchedule | None,
    report: Callable[[str], None],
    compiling: Compiling,
    pool: CompilerPool | None = None,
    defaults: DefaultSchedules | None = None,
    scheduled: Mapping[str, PrimitiveCode] | None = None,
) -> tuple[dict[str, PrimitiveCode], list[Future[bytes]]]:
    """The code of each primitive by digest, and the object files, which may still be compiled.

    By `compiling`, from some text on with the workers, or all by `pool`, for callers who compile
    often. `defaults` are those that `choose` gives, so that workers can find them beforehand.
    `scheduled` are the codes, where there are some already. Cases that are needless have none
    (`relay_tune.building.needless_cases`).
    """
    codes: dict[str, PrimitiveCode] = {}
    objects: dict[str, Future[bytes]] = {}
    text = 0
    workers = compiling.workers
    every: Iterable[Primitive] = primitives.values()
    if defaults is not None and scheduled is None:
        every = planned_ahead(every, defaults, workers)
    comparable = comparable_cases(primitives.values()) if scheduled is None else {}
    kept = kept_kernels(target, threads, choose)
    for number, primitive in enumerate(behind_general(every, comparable), start=1):
        report(f"compile {number}/{len(primitives)}: {primitive.key.title}")
        digest = primitive.key.digest
        known = kept.code(primitive)
        if known is not None:
            codes[digest], objects[digest] = known
            continue
        if scheduled is None:
            general = codes.get(comparable.get(digest, ""))
            if general and _has_schedule(primitive, general.schedule, target, threads, choose):
                continue
            code = write_primitive(primitive, target, threads, choose)
        else:
            code = scheduled[digest].written(target)
        text += len(code.text)
        is_much = text > LEAST_TEXT_FOR_WORKERS and len(primitives) >= FEWEST_FOR_WORKERS
        if is_much or workers.are_started:
            compiling.share()
        objects[digest] = (compiling if pool is None else pool).submit(code.text)
        codes[digest] = code.sent()
        kept.keep(primitive, codes[digest], objects[digest])
        primitive_is_written()
    digests = [digest for digest in primitives if digest in codes]
    return {digest: codes[digest] for digest in digests}, [objects[d] for d in digests]
