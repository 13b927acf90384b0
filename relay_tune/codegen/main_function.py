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
from itertools import groupby

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import Variable, function
from relay_tune.codegen.kernel_calls import Calls, KernelCall, KernelChoice, single_calls, sweeps_of
from relay_tune.codegen.native_runtime.runtime_text import MAXIMUM_QUEUES, SLOT_BYTES, TURN
from relay_tune.codegen.native_runtime.shares import CLAIM, COMPLETE
from relay_tune.codegen.sweeps import SWEEP_PATIENCE, Direction, directions
from relay_tune.quick_dataclass import dataclass

LEADING_ZEROS = function("i64", "llvm.ctlz.i64", "i64", "i1", attributes="")


LONGEST_BLOCK = 64
"""Calls in a row without a branch; compilers take far longer for blocks of thousands."""


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
        tensors = sorted({address.slot for call in single for address in call.arguments})
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
            self._bases[address.slot].offset(address.offset)
            if address.offset
            else self._bases[address.slot]
            for address in call.arguments
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
