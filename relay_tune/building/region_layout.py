"""Where the buffers of a region and the arguments of its kernels lie.

A region's kernels are called with a table of addresses: its inputs, its outputs, its workspace and
the program's constants. Intermediate tensors have offsets in the workspace. Where sizes are known
at run time only, they have blocks of it instead, which the table has, too, as it has the sizes that
kernels are given, and which of several kernels for some sizes is called
(`relay_tune.codegen.programs.region_step`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from relay_tune.building.constant_block import ConstantBlock
from relay_tune.building.kept_kernels import PrimitiveCode
from relay_tune.building.primitive import Primitive
from relay_tune.codegen.kernel_calls import BufferAddress, KernelCall, KernelChoice, call_of
from relay_tune.codegen.programs.region_step import DynamicSizes, Extents, SizeCase, Word
from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import add, product, substitute, symbol_names
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Function
from relay_tune.program.region import Buffer, KernelRun, Region
from relay_tune.runtime.memory_plan import Lifetime, plan_blocks, plan_memory
from relay_tune.tensor.deferred_array import ConstantData
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import EXAMPLE_SIZE, dim_of, size_value


class RegionLayout:
    """The memory of a region whose primitives are compiled.

    Attributes:
        codes: for each run the code of its primitive, that of its cases before.
        constants: all constants of the program; those of the region enter as they are asked for.
        workspace_bytes: memory for intermediate tensors, where all of their sizes are known.
    """

    def __init__(
        self,
        region: Region,
        primitives: Mapping[Function, Primitive],
        codes: Mapping[str, PrimitiveCode],
        constants: ConstantBlock,
        limit: int | None = None,
    ) -> None:
        """`limit` is that of the bytes for intermediate tensors."""
        self._limit = limit
        self._primitives = [primitives[run.function] for run in region.runs]
        self.codes = [
            [codes[each.key.digest] for each in _alternatives(primitive)]
            for primitive in self._primitives
        ]
        self.constants = constants
        self._region = region
        self._slots = {b: n for n, b in enumerate((*region.inputs, *region.outputs))}
        self._words: dict[Word, int] = {}
        self._addresses: dict[object, BufferAddress] = {}
        self._blocks: list[dict[Extents, None]] = []
        self._is_dynamic = region.is_dynamic
        self.workspace_bytes = self._plan()

    @property
    def points(self) -> Dim:
        """How often the innermost statements of all kernels run."""
        total: Dim = 0
        for run, codes in zip(self._region.runs, self.codes, strict=True):
            for kernel in codes[-1].scheduled.kernels:
                total = add(total, _size(kernel.points, run))
        return total

    @property
    def sizes(self) -> DynamicSizes | None:
        """The sizes that are known at run time only, once all calls are there."""
        if not self._is_dynamic:
            return None
        region, blocks = self._region, tuple(map(tuple, self._blocks))
        return DynamicSizes(region.symbols, region.checks, blocks, tuple(self._words))

    def address(self, buffer: Buffer) -> BufferAddress:
        """Where a buffer lies."""
        located = self._region.located(buffer)
        whole = located.whole
        if whole in self._slots:
            return BufferAddress(self._slots[whole], located.offset)
        if whole.data is not None:
            return self.constant(self.constants.add(whole.data) + located.offset)
        address = self._addresses[whole]
        return BufferAddress(address.slot, address.offset + located.offset)

    def workspace(self, run: int, tensor: Tensor) -> BufferAddress:
        """Where a tensor of a run's own workspace lies."""
        return self._addresses[run, tensor]

    def constant(self, offset: int) -> BufferAddress:
        """An address in the block of constants."""
        return BufferAddress(self._workspace_slot + 1, offset)

    def calls(self, number: int) -> Sequence[KernelCall | KernelChoice]:
        """The kernels of a run with their arguments."""
        run, primitive = self._region.runs[number], self._primitives[number]
        made = [
            self._calls_of(number, each, code)
            for each, code in zip(_alternatives(primitive), self.codes[number], strict=True)
        ]
        if len(made) == 1:
            return made[0]
        cases = tuple(
            SizeCase(tuple((run.sizes[name], *ends) for name, ends in case.bounds.items()))
            for case in primitive.cases
        )
        return (KernelChoice(self._word(cases), tuple(made)),)

    def _calls_of(
        self, number: int, primitive: Primitive, code: PrimitiveCode
    ) -> tuple[KernelCall, ...]:
        run = self._region.runs[number]
        addresses = _RunAddresses(number, run, primitive.program, code, self)
        return tuple(
            call_of(
                kernel,
                [addresses.of(argument) for argument in kernel.arguments],
                {
                    addresses.of(a): size
                    for a in kernel.arguments
                    if (size := addresses.constant_bytes(a))
                },
                [self._word(run.sizes[name]) for name in kernel.sizes],
            )
            for kernel in code.scheduled.kernels
        )

    @property
    def _workspace_slot(self) -> int:
        return len(self._slots)

    def _word(self, word: Word) -> int:
        """The slot of a word, which stands behind the blocks of the workspace."""
        number = self._words.setdefault(word, len(self._words))
        return self._workspace_slot + 2 + len(self._blocks) + number

    def _plan(self) -> int:
        """Give every intermediate tensor memory; the bytes of all, if they are known."""
        extents: dict[object, dict[Extents, None]] = {}
        steps: dict[object, tuple[int, int]] = {}
        keys: dict[object, object] = {}
        region, between = self._region, self._region.between
        for number, run in enumerate(region.runs):
            touched = (region.located(each).whole for each in (*run.inputs, *run.outputs))
            for buffer in dict.fromkeys(each for each in touched if each in between):
                keys[buffer] = buffer
                extents[buffer] = {_extents(buffer.type.shape, buffer.type.dtype): None}
                steps[buffer] = (steps.get(buffer, (number, number))[0], number)
            for code in self.codes[number]:
                for slot, tensor in enumerate(code.scheduled.workspace):
                    key = keys[number, tensor] = (number, slot)  # one of the cases has it
                    shape = tuple(_size(size, run) for size in tensor.shape)
                    extents.setdefault(key, {})[_extents(shape, tensor.dtype)] = None
                    steps[key] = (number, number)
        lifetimes = [Lifetime(max(map(_example, extents[key])), *steps[key]) for key in extents]
        placed, total = self._placed(extents, lifetimes)
        self._addresses = {key: placed[own] for key, own in keys.items()}
        return total

    def _placed(
        self, extents: Mapping[object, Iterable[Extents]], lifetimes: Sequence[Lifetime]
    ) -> tuple[dict[object, BufferAddress], int]:
        """Memory for tensors, and the bytes of all if they are known."""
        if all(len(each) == 1 for tensors in extents.values() for each in tensors):
            plan = plan_memory(lifetimes, self._limit)
            addresses = [BufferAddress(self._workspace_slot, offset) for offset in plan.offsets]
            return dict(zip(extents, addresses, strict=True)), plan.total
        blocks = plan_blocks(lifetimes)
        self._blocks = [{} for _ in range(max(blocks, default=-1) + 1)]
        for key, block in zip(extents, blocks, strict=True):
            self._blocks[block].update(dict.fromkeys(extents[key]))
        addresses = [BufferAddress(self._workspace_slot + 2 + block) for block in blocks]
        return dict(zip(extents, addresses, strict=True)), 0


def own_workspace(
    run: KernelRun, primitive: Primitive, codes: Mapping[str, PrimitiveCode]
) -> tuple[int, ...] | None:
    """The bytes of each tensor of a run's own workspace; None where a run of the program tells."""
    found: dict[int, int] = {}
    for each in _alternatives(primitive):
        for slot, tensor in enumerate(codes[each.key.digest].scheduled.workspace):
            shape = tuple(_size(size, run) for size in tensor.shape)
            known, *others = _extents(shape, tensor.dtype)[::-1]
            if others or not isinstance(known, int):
                return None
            found[slot] = max(found.get(slot, 0), known)
    return tuple(found.values())


def _alternatives(primitive: Primitive) -> Iterator[Primitive]:
    """The primitives of the cases of one, and that for all other sizes."""
    yield from (case.primitive for case in primitive.cases)
    yield primitive


def _size(size: int, run: KernelRun) -> Dim:
    """A size in the code of a run's primitive as one of the region."""
    return substitute(dim_of(size), run.sizes)


def _extents(shape: Sequence[Dim], dtype: str) -> Extents:
    """The bytes of a tensor as a product of one number and what is known at run time only."""
    known = prod(dim for dim in shape if isinstance(dim, int))
    return (*(dim for dim in shape if not isinstance(dim, int)), known * DTYPES[dtype].itemsize)


def _example(extents: Extents) -> int:
    """The bytes of a tensor for sizes as they may be."""
    dim = product(extents)
    return max(size_value(dim, dict.fromkeys(symbol_names(dim), EXAMPLE_SIZE)), 0)


class _RunAddresses:
    """Where the kernel arguments of a run lie.

    The kernels name the tensors of the first primitive of their key; a run has its own buffers and
    constants, which correspond by position.
    """

    def __init__(
        self,
        number: int,
        run: KernelRun,
        program: TensorProgram,
        code: PrimitiveCode,
        layout: RegionLayout,
    ) -> None:
        self._number = number
        self._layout = layout
        scheduled = code.scheduled
        written = scheduled.program
        self._buffers: dict[Tensor, Buffer] = {}
        self._buffers.update(zip(written.inputs, run.inputs, strict=True))
        self._buffers.update(zip(written.outputs, run.outputs, strict=True))
        self._constants: dict[Tensor, ConstantData] = {}
        sources = (code, *(data for _, data in program.constants))
        own = scheduled.algorithm.prepared(program).constants
        for n, ((tensor, _), (_, data)) in enumerate(zip(written.constants, own, strict=True)):
            self._constants[tensor] = layout.constants.shared(n, sources, data)
        self._packed = {packed.tensor: packed for packed in scheduled.packed}

    def of(self, tensor: Tensor) -> BufferAddress:
        """The address of a kernel's argument."""
        layout = self._layout
        if tensor in self._buffers:
            return layout.address(self._buffers[tensor])
        if tensor in self._constants:
            return layout.constant(layout.constants.add(self._constants[tensor]))
        packed = self._packed.get(tensor)
        if packed is None:
            return layout.workspace(self._number, tensor)
        data = self._constants[packed.source]
        return layout.constant(layout.constants.add(data, packed.recipe))

    def constant_bytes(self, tensor: Tensor) -> int:
        """The bytes of an argument that is a constant, as the kernel reads it; else 0."""
        packed = self._packed.get(tensor)
        if packed is not None:
            return packed.recipe.size * self._constants[packed.source].itemsize
        return self._constants[tensor].nbytes if tensor in self._constants else 0
