"""Calls of kernels as data: with which arguments, in how many shares, and what they read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from relay_tune.codegen.sweeps import LEAST_USES, Sweep, sweep_shares
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.loops import Kernel
from relay_tune.tensor.size import nominal
from relay_tune.tensor.touched import parallel_iterations

GRAINS = ((4_000_000, 4), (500_000, 2), (0, 1))
"""(points at least, shares for each thread): small kernels are not worth many claims."""


ITEM_BYTES = 4
"""Of an element of a constant; narrow ones count as used several times."""


@dataclass(frozen=True, slots=True)
class BufferAddress:
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
        arguments: the addresses of its arguments.
        grain: the shares for each thread; 0 for a kernel that runs on one thread.
        swept: the address of the weights that it sweeps over, or None.
        shares: into how many shares of all threads the sweep is cut, a power of two.
        own: the bytes of those weights that it reads.
        read: the bytes that it reads of all constants.
        sizes: the slots that hold the sizes which follow the arguments.
        weights: where those constants of which it reads more than rows begin and end in the block
            of all constants, in bytes.
    """

    symbol: str
    arguments: tuple[BufferAddress, ...]
    grain: int = 1
    swept: BufferAddress | None = None
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
"""Calls in the order in which a run makes them."""


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
    arguments: Sequence[BufferAddress],
    constants: Mapping[BufferAddress, int],
    sizes: Sequence[int] = (),
) -> KernelCall:
    """A call of a kernel, cut into as many shares as its size is worth.

    `constants` are the bytes of those arguments that are constants, `sizes` the slots of its open
    sizes. A kernel with open sizes may be a large one.
    """
    addresses = tuple(arguments)
    iterations = parallel_iterations(kernel.body)
    if iterations is None:
        return KernelCall(kernel.name, addresses, 0, sizes=tuple(sizes))
    points = nominal(kernel.points)
    grain = next(grain for least, grain in GRAINS if sizes or points >= least)
    read = {address: min(size, points * ITEM_BYTES) for address, size in constants.items()}
    weights = tuple(
        (address.offset, address.offset + size)
        for address, size in constants.items()
        if read[address] >= size * LEAST_USES
    )
    call = KernelCall(
        kernel.name, addresses, grain, sizes=tuple(sizes), read=sum(read.values()), weights=weights
    )
    largest = max(constants, key=lambda address: constants[address], default=None)
    if largest is None:
        return call
    shares = sweep_shares(constants[largest], points, nominal(iterations), ITEM_BYTES)
    return replace(call, swept=largest, shares=shares, own=read[largest]) if shares else call


def bytes_read(calls: Calls) -> int:
    """The bytes of constants that a run of some calls reads."""
    return sum(each.read for each in sweeps_of(calls))


def sweeps_of(calls: Calls) -> Iterator[Sweep]:
    """The weights that each single call reads; of several alternatives the first counts."""
    for number, call in enumerate(calls):
        if isinstance(call, KernelCall):
            yield Sweep(call.swept, call.own, call.read)
            continue
        for way, alternative in enumerate(call.alternatives):
            for each in alternative:
                weights = None if each.swept is None else (number, way, each.swept)
                yield Sweep(weights, each.own, 0 if way else each.read)
