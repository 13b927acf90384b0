"""The distinct primitives of a network: scheduled, written as LLVM IR, and compiled once each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from math import prod

from relay_tune.building.open_primitives import (
    FEW_ROWS,
    example_sizes,
    no_open_code,
    open_program,
    size_program,
)
from relay_tune.building.work import work_of
from relay_tune.codegen.compiler import compile_text, module_text
from relay_tune.codegen.compiler_pool import CompilerPool
from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.codegen.target import Target
from relay_tune.first_order.open_primitive import (
    OpenPrimitive,
    is_open_primitive,
    open_primitive,
    with_size,
)
from relay_tune.ir.expr import Function
from relay_tune.op.lower import TensorProgram, lower_function
from relay_tune.op.primitive_key import PrimitiveKey, primitive_key
from relay_tune.runtime.target_machine import machine_of
from relay_tune.runtime.threads import available_processors
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.program import ScheduledProgram
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Reduce
from relay_tune.tensor.size import EXAMPLE_SIZE, UndecidedSizeError
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import axes_of, loads

ChooseSchedule = Callable[[PrimitiveKey, Plan], Schedule | None]
"""The schedule to use for a primitive, or None for the default one.

It is given the primitive's plan under the direct algorithm; the schedule may be for another one.
"""

FEWEST_FOR_WORKERS = 6
"""With fewer primitives, starting worker processes costs more than it saves."""


@dataclass(frozen=True, eq=False, slots=True)
class Primitive:
    """A primitive function with its tensor program.

    Functions of one key share kernels, but each has its own constants.

    Attributes:
        key: the key.
        program: what it computes.
        plan: of the program under the direct algorithm, where it is kept (see `planned`).
        schedule: its schedule, where it is chosen already.
        open: the names of its sizes, where some are known at run time only.
        example: what open sizes are in the example that its schedule is chosen for.
        cases: primitives that do the same for some sizes, in the order in which they are tried.
        sizes: what finds the sizes of its results from its inputs, where an operator does that.
        lower: gives its tensor program for an example.
    """

    key: PrimitiveKey
    program: TensorProgram
    plan: Plan | None = None
    schedule: Schedule | None = None
    open: OpenPrimitive | None = None
    example: int = EXAMPLE_SIZE
    cases: tuple[PrimitiveCase, ...] = ()
    sizes: Primitive | None = None
    lower: Callable[[OpenPrimitive, int], TensorProgram] = open_program

    def with_parts(self) -> tuple[Primitive, ...]:
        """The primitive, those of its cases, and what finds its sizes."""
        sizes = () if self.sizes is None else (self.sizes,)
        return (self, *(case.primitive for case in self.cases), *sizes)


@dataclass(frozen=True, eq=False, slots=True)
class PrimitiveCase:
    """A primitive for the sizes of a symbol among `least` .. `most`.

    Those of a primitive that share their packing read the same copy of its weights.
    """

    symbol: str
    least: int
    most: int
    primitive: Primitive
    shares_packing: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class PrimitiveCode:
    """The kernels of all primitives of one key.

    Attributes:
        key: the key.
        scheduled: the kernels; symbols contain the digest of the key.
        work: what one run has to do.
        text: the kernels as an LLVM module.
        schedule: what the kernels were made with.
    """

    key: PrimitiveKey
    scheduled: ScheduledProgram
    work: KernelWork
    text: str
    schedule: Schedule


LEAST_WEIGHTS = 32 << 10
"""Bytes of weights that do not stay in a first cache."""

USUAL_SIZES = (1,)
"""Sizes of open dimensions that get code of their own: a single sample is the commonest batch."""


def primitives_of(
    functions: Iterable[Function], sizes: Sequence[int] = USUAL_SIZES
) -> dict[Function, Primitive]:
    """The primitive of each function; `sizes` of open dimensions get code of their own."""
    return {function: _primitive(function, sizes) for function in dict.fromkeys(functions)}


def _primitive(function: Function, sizes: Sequence[int]) -> Primitive:
    if not is_open_primitive(function):
        return Primitive(primitive_key(function), lower_function(function))
    named = open_primitive(function)
    key, program = primitive_key(named.function), open_program(named)
    cases = _cases(named, key, program, sizes)
    return Primitive(key, program, open=named, cases=cases, sizes=_size_primitive(named, key))


def _size_primitive(named: OpenPrimitive, key: PrimitiveKey) -> Primitive | None:
    """What finds the sizes of a primitive's results; None if they follow from those of inputs."""
    if not named.found:
        return None
    own = PrimitiveKey(f"{key.digest}s", f"sizes of {key.title}")
    return Primitive(own, size_program(named), open=named, lower=size_program)


def _cases(
    named: OpenPrimitive, key: PrimitiveKey, program: TensorProgram, sizes: Sequence[int]
) -> tuple[PrimitiveCase, ...]:
    """Some sizes, and few rows, of a product with weights: reading these takes most of the time.

    A fixed size has a schedule, and a record in the tuning log, of its own. Where a size is a
    number of rows, each small one is fixed.
    """
    if len(named.symbols) != 1:
        return ()
    (symbol,) = named.symbols
    rows = _rows_of_products(program)
    if not rows:
        return ()
    known = [_fixed_case(named, symbol, size) for size in dict.fromkeys(sizes)]
    if rows == {example_sizes(named)[symbol]}:
        others = [size for size in range(1, FEW_ROWS + 1) if size not in sizes]
        cases = [_fixed_case(named, symbol, size) for size in others]
        return (*known, *(replace(case, shares_packing=True) for case in cases))
    few = PrimitiveKey(f"{key.digest}f{FEW_ROWS}", key.title)
    small = Primitive(few, open_program(named, FEW_ROWS), open=named, example=FEW_ROWS)
    return (*known, PrimitiveCase(symbol, 1, FEW_ROWS, small))


def _fixed_case(named: OpenPrimitive, symbol: str, size: int) -> PrimitiveCase:
    fixed = with_size(named, symbol, size)
    own = Primitive(primitive_key(fixed), lower_function(fixed))
    return PrimitiveCase(symbol, size, size, own)


def _rows_of_products(program: TensorProgram) -> set[int]:
    """For each reduction that reads large constants, how many results read the same element."""
    known = {tensor for tensor, data in program.constants if data.nbytes >= LEAST_WEIGHTS}
    found: set[int] = set()
    for tensor in tensors_in_order(program.outputs):
        if not isinstance(tensor, Computed) or not isinstance(tensor.body, Reduce):
            continue
        for load in loads(tensor.body):
            if load.tensor in known:
                used = axes_of(*load.indices)
                found.add(prod(axis.extent for axis in tensor.axes if axis not in used))
    return found


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


def write_primitive(
    primitive: Primitive, target: Target, threads: int, choose: ChooseSchedule | None
) -> PrimitiveCode:
    """The kernels of a primitive under the chosen or the default schedule.

    Raises NoNativeCodeError where sizes are open and the code would depend on what they are.
    """
    if primitive.open is None:
        return _written(primitive, target, threads, choose)
    title = primitive.key.title
    try:
        code = _written(primitive, target, threads, choose)
        program = primitive.lower(primitive.open, primitive.example + 1)
        other = Primitive(primitive.key, program)
        schedule = code.schedule
        again = _written(other, target, threads, lambda key, plan: schedule)
    except UndecidedSizeError as error:
        raise no_open_code(title, error.message) from error
    if again.text != code.text:
        raise no_open_code(title, "Its code depends on the example for which it was made.")
    return code


def _written(
    primitive: Primitive, target: Target, threads: int, choose: ChooseSchedule | None
) -> PrimitiveCode:
    direct = primitive.plan or plan_program(primitive.program)
    schedule = primitive.schedule or chosen_schedule(primitive.key, direct, target, threads, choose)
    plan = direct.with_algorithm(schedule.algorithm)
    scheduled = apply_schedule(plan, schedule, prefix=f"kernel_{primitive.key.digest}")
    text = module_text(scheduled.kernels, target)
    return PrimitiveCode(primitive.key, scheduled, work_of(plan), text, schedule)


def compile_primitives(
    primitives: Mapping[str, Primitive],
    target: Target,
    threads: int,
    choose: ChooseSchedule | None,
    report: Callable[[str], None],
    pool: CompilerPool | None = None,
) -> tuple[dict[str, PrimitiveCode], list[bytes]]:
    """The code of each primitive by digest, and the object files.

    `pool` compiles them, for callers who compile often; else processes are started if they pay.
    """

    def written() -> Iterator[PrimitiveCode]:
        for number, primitive in enumerate(primitives.values(), start=1):
            report(f"compile {number}/{len(primitives)}: {primitive.key.title}")
            yield write_primitive(primitive, target, threads, choose)

    if pool is not None:
        return _compiled_by(pool, written())
    if len(primitives) < FEWEST_FOR_WORKERS:
        codes = {code.key.digest: code for code in written()}
        return codes, [compile_text(code.text, target) for code in codes.values()]
    with CompilerPool(target, available_processors()) as own:
        return _compiled_by(own, written())


def _compiled_by(
    pool: CompilerPool, written: Iterable[PrimitiveCode]
) -> tuple[dict[str, PrimitiveCode], list[bytes]]:
    codes: dict[str, PrimitiveCode] = {}
    futures: list[Future[bytes]] = []
    for code in written:
        codes[code.key.digest] = code
        futures.append(pool.submit(code.text))
    return codes, [future.result() for future in futures]
