"""One native function for a whole program: every kernel called in order with its addresses.

    void NAME(ptr buffers, i64 thread, i64 threads)

`buffers` is a table of addresses: inputs, outputs, constants and the workspace. With one thread the
kernels are called one after the other. With more, every thread goes through the same sequence and
works on shares of each kernel that it claims; share i of n is the kernel called with (i, n).
Kernels for one thread that follow each other are one share, so that threads meet once for all of
them (an LSTM of 16 values, 1000 steps, two threads: 76 us instead of 226). Kernels that sweep over
large weights are called share by share with one thread too, in a direction that alternates (see
`relay_tune.codegen.sweeps`). Where sizes are known at run time only, the table has them, and says
which of several calls is the one for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import Variable, function
from relay_tune.codegen.native_runtime.runtime_text import MAXIMUM_QUEUES, SLOT_BYTES, TURN
from relay_tune.codegen.native_runtime.shares import CLAIM, COMPLETE
from relay_tune.codegen.sweeps import (
    LEAST_USES,
    SWEEP_PATIENCE,
    Direction,
    Sweep,
    directions,
    sweep_shares,
)
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.loops import Kernel
from relay_tune.tensor.size import nominal
from relay_tune.tensor.touched import parallel_iterations

LEADING_ZEROS = function("i64", "llvm.ctlz.i64", "i64", "i1", attributes="")

GRAINS = ((4_000_000, 4), (500_000, 2), (0, 1))
"""(points at least, shares for each thread): small kernels are not worth many claims."""


ITEM_BYTES = 4
"""Of an element of a constant; narrow ones count as used several times."""

LONGEST_BLOCK = 64
"""Calls in a row without a branch; compilers take far longer for blocks of thousands."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor lies: a slot of the buffer table and an offset in bytes from it."""

    slot: int
    offset: int = 0


Stretch = tuple[int, int]
"""Where bytes begin, and where they end."""


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A call of a kernel.

    Attributes:
        symbol: the kernel.
        arguments: the places of its arguments.
        grain: the shares for each thread; 0 for a kernel that runs on one thread.
        swept: the place of the weights that it sweeps over, or None.
        shares: into how many shares of all threads the sweep is cut, a power of two.
        own: the bytes of those weights that it reads.
        read: the bytes that it reads of all constants.
        sizes: the slots that hold the sizes which follow the arguments.
        weights: where those constants of which it reads more than rows begin and end in the block
            of all constants, in bytes.
    """

    symbol: str
    arguments: tuple[Place, ...]
    grain: int = 1
    swept: Place | None = None
    shares: int = 0
    sizes: tuple[int, ...] = ()
    own: int = 0
    read: int = 0
    weights: tuple[Stretch, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """Calls of which one sequence is made: the one whose number stands in a slot of the table."""

    slot: int
    alternatives: tuple[tuple[KernelCall, ...], ...]


Calls = Sequence[KernelCall | KernelChoice]
"""What is called one after the other."""


def single_calls(calls: Calls) -> Iterator[KernelCall]:
    """All calls, those of alternatives one after the other."""
    for call in calls:
        if isinstance(call, KernelCall):
            yield call
        else:
            yield from chain.from_iterable(call.alternatives)


def with_symbols(calls: Calls, symbols: Iterator[str]) -> list[KernelCall | KernelChoice]:
    """The calls of other functions, given for all single calls in order."""

    def renamed(call: KernelCall) -> KernelCall:
        return replace(call, symbol=next(symbols))

    return [
        renamed(call)
        if isinstance(call, KernelCall)
        else KernelChoice(call.slot, tuple(tuple(map(renamed, a)) for a in call.alternatives))
        for call in calls
    ]


def call_of(
    kernel: Kernel,
    arguments: Sequence[Place],
    constants: Mapping[Place, int],
    sizes: Sequence[int] = (),
) -> KernelCall:
    """A call of a kernel, cut into as many shares as its size is worth.

    `constants` are the bytes of those arguments that are constants, `sizes` the slots of its open
    sizes. A kernel with open sizes may be a large one.
    """
    places = tuple(arguments)
    iterations = parallel_iterations(kernel.body)
    if iterations is None:
        return KernelCall(kernel.name, places, 0, sizes=tuple(sizes))
    points = nominal(kernel.points)
    grain = next(grain for least, grain in GRAINS if sizes or points >= least)
    read = {place: min(size, points * ITEM_BYTES) for place, size in constants.items()}
    weights = tuple(
        (place.offset, place.offset + size)
        for place, size in constants.items()
        if read[place] >= size * LEAST_USES
    )
    call = KernelCall(
        kernel.name, places, grain, sizes=tuple(sizes), read=sum(read.values()), weights=weights
    )
    largest = max(constants, key=lambda place: constants[place], default=None)
    if largest is None:
        return call
    shares = sweep_shares(constants[largest], points, nominal(iterations), ITEM_BYTES)
    return replace(call, swept=largest, shares=shares, own=read[largest]) if shares else call


@dataclass(frozen=True, slots=True)
class Job:
    """What such a function does.

    Attributes:
        calls: the kernels.
        elsewhere: the bytes of constants that others read between two runs of it, at least.
    """

    calls: Calls
    elsewhere: int = 0


def main_text(name: str, calls: Calls, triple: str) -> str:
    """The LLVM module of a program's main function; kernels and runtime stay external."""
    return jobs_text({name: Job(calls)}, triple)


def jobs_text(jobs: Mapping[str, Job], triple: str) -> str:
    """The LLVM module of several such functions."""
    module = NativeModule()
    for name, job in jobs.items():
        calls = job.calls
        slots = max(sum(1 for _ in single_calls(calls)), 1) * SLOT_BYTES
        state = _State(
            Variable(f"slots.{name}", f"[{slots} x i8]", "zeroinitializer"),
            Variable(f"turn.{name}", "i64"),
            Variable(f"turn_alone.{name}", "i64"),
        )
        module.variables(state.slots, state.turn, state.turn_alone)
        with module.define(function("void", name, "ptr", "i64", "i64")) as code:
            _JobWriter(code, state, job).write()
    return module.text(triple)


@dataclass(frozen=True, slots=True)
class _State:
    """What a function keeps between runs: claims, and the directions of sweeps."""

    slots: Variable
    turn: Variable
    turn_alone: Variable


@dataclass(frozen=True, slots=True)
class _Queues:
    """The queue of a thread, how many there are, their number's bits, and the run's direction."""

    own: Operand
    count: Operand
    bits: Operand
    turn: Operand


_WriteCalls = Callable[[Sequence[KernelCall], int], None]


class _JobWriter:
    """Writes one function."""

    def __init__(self, code: FunctionBuilder, state: _State, job: Job) -> None:
        self._code = code
        self._state = state
        self._calls = calls = job.calls
        self._ways = directions(list(sweeps_of(calls)), job.elsewhere)
        buffers = code.parameters[0]
        single = list(single_calls(calls))
        choices = {call.slot for call in calls if isinstance(call, KernelChoice)}
        tensors = sorted({place.slot for call in single for place in call.arguments})
        sizes = sorted({slot for call in single for slot in call.sizes} | choices)
        self._bases = {slot: buffers.item("ptr", slot).load() for slot in tensors}
        self._sizes = {slot: buffers.item("i64", slot).load() for slot in sizes}

    def write(self) -> None:
        """The body: what one thread does, then what each of several does."""
        code = self._code
        _, thread, threads = code.parameters
        with code.when(threads.ult(2)):
            odd = code.number(0)
            if any(way is not None for way in self._ways):
                odd = code.at(self._state.turn_alone).update("add", 1, "monotonic") & 1
            self._write(lambda calls, number: self._alone(calls, number, odd))
            code.ret()
        count = threads.ugt(MAXIMUM_QUEUES).select(code.number(MAXIMUM_QUEUES), threads)
        bits = 64 - code.call(LEADING_ZEROS, count - 1, False)
        turn = code.call(TURN, code.at(self._state.turn).pointer)
        queues = _Queues(thread.urem(count), count, bits, turn)
        self._write(lambda calls, number: self._together(calls, number, queues))

    def _write(self, write: _WriteCalls) -> None:
        """All calls in order; those between two choices together."""
        number = 0
        for is_choice, parts in groupby(self._calls, lambda call: isinstance(call, KernelChoice)):
            if not is_choice:
                straight = [call for call in parts if isinstance(call, KernelCall)]
                write(straight, number)
                number += len(straight)
                continue
            for choice in parts:
                assert isinstance(choice, KernelChoice)
                number = self._choice(choice, number, write)

    def _choice(self, choice: KernelChoice, number: int, write: _WriteCalls) -> int:
        """The calls of the alternative whose number is in the table; gives the next number."""
        *others, last = choice.alternatives
        with self._code.block() as chosen:
            for way, calls in enumerate(others):
                with self._code.when(self._sizes[choice.slot].eq(way)):
                    write(calls, number)
                    chosen.leave()
                number += len(calls)
            write(last, number)
        return number + len(last)

    def _alone(self, calls: Sequence[KernelCall], first: int, odd: Operand) -> None:
        """Calls on one thread."""
        code = self._code
        for number, call in enumerate(calls, start=first):
            if number % LONGEST_BLOCK == LONGEST_BLOCK - 1:
                with code.block():
                    pass
            way = self._ways[number]
            if way is None:
                self._call(call, code.number(0), code.number(1))
                continue
            shares = code.number(call.shares)
            flip = _flip(code, way, odd, code.number(call.shares - 1))
            with code.count(shares) as step:
                self._call(call, step.index ^ flip, shares)

    def _together(self, calls: Sequence[KernelCall], first: int, queues: _Queues) -> None:
        """Calls in shares of all threads, which wait for each other between them."""
        for begin, turn in _turns(calls):
            with self._code.block():
                self._shared(first + begin, turn, queues)

    def _shared(self, number: int, turn: Sequence[KernelCall], queues: _Queues) -> None:
        """Claim shares of a turn and work on them until none is left; wait for those of others."""
        code, call, way = self._code, turn[0], self._ways[number]
        slot = code.at(self._state.slots).pointer.offset(number * SLOT_BYTES)
        own, count = (queues.own, queues.count) if call.grain else (0, code.number(1))
        grain, flip, patience = code.number(max(call.grain, 1)), code.number(0), 0
        if way is not None:
            each = code.number(call.shares).lshr(queues.bits)
            grain = each.eq(0).select(code.number(1), each)
            flip, patience = _flip(code, way, queues.turn, grain - 1), SWEEP_PATIENCE
        shares, done = count * grain, code.local(0)
        with code.loop() as claiming:
            share = code.call(CLAIM, slot, own, count, grain, patience)
            claiming.leave_if(share.slt(0))
            if way is not None:
                share ^= flip
            for each_call in turn:
                self._call(each_call, share, shares)
            done.set(done.value + 1)
        code.call(COMPLETE, slot, done.value, shares)

    def _call(self, call: KernelCall, share: Operand, shares: Operand) -> None:
        """A call; the last one needs no frame of the function around it."""
        pointers = [
            self._bases[place.slot].offset(place.offset)
            if place.offset
            else self._bases[place.slot]
            for place in call.arguments
        ]
        arguments = [*pointers, *(self._sizes[slot] for slot in call.sizes), share, shares]
        types = [argument.type for argument in arguments]
        callee = function("void", call.symbol, *types, attributes="")
        self._code.call(callee, *arguments, is_tail=True)


def _flip(code: FunctionBuilder, way: Direction, turn: Operand, last: Operand) -> Operand:
    """What share numbers are xor-ed with: 0 forward, the last number of 2^n shares backward."""
    if not way.alternates:
        return last if way.backward else code.number(0)
    return last & (turn - 1 if way.backward else 0 - turn)


def bytes_read(calls: Calls) -> int:
    """The bytes of constants that a run of some calls reads."""
    return sum(each.read for each in sweeps_of(calls))


def sweeps_of(calls: Calls) -> Iterator[Sweep]:
    """What each single call reads; a run meets one of several alternatives, the first counts."""
    for number, call in enumerate(calls):
        if isinstance(call, KernelCall):
            yield Sweep(call.swept, call.own, call.read)
            continue
        for way, alternative in enumerate(call.alternatives):
            for each in alternative:
                weights = None if each.swept is None else (number, way, each.swept)
                yield Sweep(weights, each.own, 0 if way else each.read)


def _turns(calls: Sequence[KernelCall]) -> Iterator[tuple[int, Sequence[KernelCall]]]:
    """The calls between which threads wait for each other, and the number of the first one."""
    begin = 0
    while begin < len(calls):
        end = begin + 1
        most = min(begin + LONGEST_BLOCK, len(calls)) if not calls[begin].grain else end
        while end < most and not calls[end].grain:
            end += 1
        yield begin, calls[begin:end]
        begin = end
