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

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from relay_tune.codegen.native_runtime.runtime_text import MAXIMUM_QUEUES, SLOT_BYTES
from relay_tune.codegen.sweeps import SWEEP_PATIENCE, Direction, directions, sweep_shares
from relay_tune.tensor.loops import Kernel
from relay_tune.tensor.size import nominal
from relay_tune.tensor.touched import parallel_iterations

GRAINS = ((4_000_000, 4), (500_000, 2), (0, 1))
"""(points at least, shares for each thread): small kernels are not worth many claims."""


LONGEST_BLOCK = 64
"""Calls in a row without a branch; compilers take far longer for blocks of thousands."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor lies: a slot of the buffer table and an offset in bytes from it."""

    slot: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A call of a kernel.

    Attributes:
        symbol: the kernel.
        arguments: the places of its arguments.
        grain: the shares for each thread; 0 for a kernel that runs on one thread.
        swept: the place of the weights that it sweeps over, or None.
        shares: into how many shares of all threads the sweep is cut, a power of two.
        sizes: the slots that hold the sizes which follow the arguments.
    """

    symbol: str
    arguments: tuple[Place, ...]
    grain: int = 1
    swept: Place | None = None
    shares: int = 0
    sizes: tuple[int, ...] = ()


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
    largest = max(constants, key=lambda place: constants[place], default=None)
    if largest is not None:
        shares = sweep_shares(constants[largest], points, nominal(iterations))
        if shares:
            return KernelCall(kernel.name, places, grain, largest, shares, tuple(sizes))
    return KernelCall(kernel.name, places, grain, sizes=tuple(sizes))


def main_text(name: str, calls: Calls, triple: str) -> str:
    """The LLVM module of a program's main function; kernels and runtime stay external."""
    return jobs_text({name: calls}, triple)


def jobs_text(jobs: Mapping[str, Calls], triple: str) -> str:
    """The LLVM module of several such functions."""
    single = [call for calls in jobs.values() for call in single_calls(calls)]
    arity = {call.symbol: (len(call.arguments), len(call.sizes)) for call in single}
    declarations = [
        f"declare void @{symbol}({', '.join(['ptr'] * count + ['i64'] * (sizes + 2))})"
        for symbol, (count, sizes) in arity.items()
    ]
    lines = [
        f'target triple = "{triple}"',
        "declare i64 @relay_tune_claim(ptr, i64, i64, i64, i64)",
        "declare void @relay_tune_complete(ptr, i64, i64)",
        "declare i64 @relay_tune_turn(ptr)",
        "declare i64 @llvm.ctlz.i64(i64, i1)",
        *declarations,
    ]
    for name, calls in jobs.items():
        lines += _Job(name, calls).lines()
    return "\n".join([*lines, ""])


class _Job:
    """Writes one function."""

    def __init__(self, name: str, calls: Calls) -> None:
        self._name = name
        self._calls = calls
        self._ways = directions(list(_swept(calls)))

    def lines(self) -> list[str]:
        """The function and its globals."""
        name = self._name
        alone = self._lines(self._calls, _Position("chosen", 0, "alone"), self._alone)
        together = self._lines(self._calls, _Position("shared", 0, "together"), self._together)
        odd = [
            f"  %runs = atomicrmw add ptr @turn_alone.{name}, i64 1 monotonic",
            "  %odd = and i64 %runs, 1",
        ]
        return [
            f"@slots.{name} = internal global [{max(len(self._ways), 1) * SLOT_BYTES} x i8] "
            "zeroinitializer, align 64",
            f"@turn.{name} = internal global i64 0, align 64",
            f"@turn_alone.{name} = internal global i64 0, align 64",
            f"define void @{name}(ptr %buffers, i64 %thread, i64 %threads) nounwind {{",
            "entry:",
            *_base_lines(self._calls),
            "  %single = icmp ult i64 %threads, 2",
            "  br i1 %single, label %alone, label %together",
            "alone:",
            *(odd if any(way is not None for way in self._ways) else []),
            *alone,
            "  ret void",
            "together:",
            *_queue_lines(name),
            *together,
            "  ret void",
            "}",
        ]

    def _lines(self, calls: Calls, at: _Position, write: _WriteCalls) -> list[str]:
        """Calls in order; `at` moves behind them."""
        lines: list[str] = []
        for part in _parts(calls):
            if isinstance(part, KernelChoice):
                lines += self._choice(part, at, write)
            else:
                lines += write(part, at)
                at.number += len(part)
        return lines

    def _choice(self, choice: KernelChoice, at: _Position, write: _WriteCalls) -> list[str]:
        """The calls of the alternative whose number is in the table."""
        name = f"{at.way}{at.number}"
        last = len(choice.alternatives) - 1
        cases = " ".join(f"i64 {n}, label %{name}.{n}" for n in range(last))
        lines = [f"  switch i64 %size{choice.slot}, label %{name}.{last} [ {cases} ]"]
        for number, calls in enumerate(choice.alternatives):
            at.block = f"{name}.{number}"
            lines += [f"{at.block}:", *self._lines(calls, at, write), f"  br label %{name}"]
        at.block = name
        return [*lines, f"{name}:"]

    def _alone(self, calls: Sequence[KernelCall], at: _Position) -> list[str]:
        """Calls on one thread."""
        lines: list[str] = []
        for number, call in enumerate(calls, start=at.number):
            if number % LONGEST_BLOCK == LONGEST_BLOCK - 1:
                lines += [f"  br label %calls{number}", f"calls{number}:"]
                at.block = f"calls{number}"
            way = self._ways[number]
            if way is None:
                lines += _call_lines(f"s{number}", call, "i64 0, i64 1")
                continue
            lines += _sweep_lines(number, call, way, at.block)
            at.block = f"swept{number}"
        return lines

    def _together(self, calls: Sequence[KernelCall], at: _Position) -> list[str]:
        """Calls in shares of all threads, which wait for each other between them."""
        lines: list[str] = []
        for begin, turn in _turns(calls):
            number = at.number + begin
            slots = f"@slots.{self._name}"
            lines += _shared_lines(slots, number, turn, self._ways[number], at.block)
            at.block = f"wait{number}"
        return lines


@dataclass(slots=True)
class _Position:
    """Where code is written: the number of the next call, and the block.

    `way` begins the names of the blocks of alternatives.
    """

    way: str
    number: int
    block: str


_WriteCalls = Callable[[Sequence[KernelCall], _Position], list[str]]


def _parts(calls: Calls) -> Iterator[Sequence[KernelCall] | KernelChoice]:
    """Choices, and what is called one after the other between them."""
    straight: list[KernelCall] = []
    for call in calls:
        if isinstance(call, KernelCall):
            straight.append(call)
            continue
        if straight:
            yield straight
        straight = []
        yield call
    if straight:
        yield straight


def _swept(calls: Calls) -> Iterator[Hashable | None]:
    """What each single call sweeps over; one of several alternatives meets it once in a run."""
    for number, call in enumerate(calls):
        if isinstance(call, KernelCall):
            yield call.swept
            continue
        for way, alternative in enumerate(call.alternatives):
            for each in alternative:
                yield None if each.swept is None else (number, way, each.swept)


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


def _base_lines(calls: Calls) -> list[str]:
    """Load the slots of the buffer table that are needed."""
    lines = []
    single = list(single_calls(calls))
    choices = {call.slot for call in calls if isinstance(call, KernelChoice)}
    for slot in sorted({place.slot for call in single for place in call.arguments}):
        lines.append(f"  %slot{slot} = getelementptr ptr, ptr %buffers, i64 {slot}")
        lines.append(f"  %base{slot} = load ptr, ptr %slot{slot}, align 8")
    for slot in sorted({slot for call in single for slot in call.sizes} | choices):
        lines.append(f"  %slot{slot} = getelementptr i64, ptr %buffers, i64 {slot}")
        lines.append(f"  %size{slot} = load i64, ptr %slot{slot}, align 8")
    return lines


def _queue_lines(name: str) -> list[str]:
    """This thread's queue, how many there are, their number's bits, and the run's direction."""
    return [
        f"  %many = icmp ugt i64 %threads, {MAXIMUM_QUEUES}",
        f"  %queues = select i1 %many, i64 {MAXIMUM_QUEUES}, i64 %threads",
        "  %queue = urem i64 %thread, %queues",
        "  %others = sub i64 %queues, 1",
        "  %zeros = call i64 @llvm.ctlz.i64(i64 %others, i1 false)",
        "  %bits = sub i64 64, %zeros",
        f"  %turned = call i64 @relay_tune_turn(ptr @turn.{name})",
    ]


def _sweep_lines(number: int, call: KernelCall, way: Direction, previous: str) -> list[str]:
    """All shares of a kernel one after the other, in the run's direction."""
    last = call.shares - 1
    return [
        *_flip_lines(f"%flip{number}", way, "%odd", str(last)),
        f"  br label %sweep{number}",
        f"sweep{number}:",
        f"  %step{number} = phi i64 [ 0, %{previous} ], [ %next{number}, %sweep{number} ]",
        f"  %part{number} = xor i64 %step{number}, %flip{number}",
        *_call_lines(f"s{number}", call, f"i64 %part{number}, i64 {call.shares}"),
        f"  %next{number} = add i64 %step{number}, 1",
        f"  %again{number} = icmp ule i64 %next{number}, {last}",
        f"  br i1 %again{number}, label %sweep{number}, label %swept{number}",
        f"swept{number}:",
    ]


def _flip_lines(name: str, way: Direction, turn: str, last: str) -> list[str]:
    """What share numbers are xor-ed with: 0 forward, the last number of 2^n shares backward."""
    if not way.alternates:
        return [f"  {name} = and i64 {last}, {-1 if way.backward else 0}"]
    sign = "add" if way.backward else "sub"
    other = f"{name}_sign"
    return [
        f"  {other} = {sign} i64 {'-1' if way.backward else '0'}, {turn}",
        f"  {name} = and i64 {last}, {other}",
    ]


def _shared_lines(
    slots: str, number: int, turn: Sequence[KernelCall], way: Direction | None, previous: str
) -> list[str]:
    """Claim shares of a turn and work on them until none is left; wait for those of others."""
    call = turn[0]
    slot, share = f"%claims{number}", f"%share{number}"
    queue, queues = ("%queue", "%queues") if call.grain else ("0", "1")
    grain, grains, patience = str(max(call.grain, 1)), [], 0
    if way is not None:
        patience = SWEEP_PATIENCE
        grain = f"%grain{number}"
        grains = [
            f"  %each{number} = lshr i64 {call.shares}, %bits",
            f"  %small{number} = icmp eq i64 %each{number}, 0",
            f"  {grain} = select i1 %small{number}, i64 1, i64 %each{number}",
            f"  %last{number} = sub i64 {grain}, 1",
            *_flip_lines(f"%flop{number}", way, "%turned", f"%last{number}"),
        ]
        share = f"%turned{number}"
    flipped = [] if way is None else [f"  {share} = xor i64 %share{number}, %flop{number}"]
    return [
        f"  {slot} = getelementptr i8, ptr {slots}, i64 {number * SLOT_BYTES}",
        *grains,
        f"  %shares{number} = mul i64 {queues}, {grain}",
        f"  br label %claim{number}",
        f"claim{number}:",
        f"  %done{number} = phi i64 [ 0, %{previous} ], [ %more{number}, %work{number} ]",
        f"  %share{number} = call i64 @relay_tune_claim("
        f"ptr {slot}, i64 {queue}, i64 {queues}, i64 {grain}, i64 {patience})",
        f"  %none{number} = icmp slt i64 %share{number}, 0",
        f"  br i1 %none{number}, label %wait{number}, label %work{number}",
        f"work{number}:",
        *flipped,
        *chain.from_iterable(
            _call_lines(f"t{number + place}", each, f"i64 {share}, i64 %shares{number}")
            for place, each in enumerate(turn)
        ),
        f"  %more{number} = add i64 %done{number}, 1",
        f"  br label %claim{number}",
        f"wait{number}:",
        f"  call void @relay_tune_complete(ptr {slot}, i64 %done{number}, i64 %shares{number})",
    ]


def _call_lines(prefix: str, call: KernelCall, share: str) -> list[str]:
    """A call; the last one needs no frame of the function around it."""
    lines, texts = [], []
    for position, place in enumerate(call.arguments):
        if place.offset == 0:
            texts.append(f"ptr %base{place.slot}")
            continue
        name = f"%{prefix}_{position}"
        lines.append(f"  {name} = getelementptr i8, ptr %base{place.slot}, i64 {place.offset}")
        texts.append(f"ptr {name}")
    texts += [f"i64 %size{slot}" for slot in call.sizes]
    lines.append(f"  tail call void @{call.symbol}({', '.join([*texts, share])})")
    return lines
