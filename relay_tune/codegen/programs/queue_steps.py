"""What runs the kernels that wait, for each of them, as LLVM IR.

    void note.N(ptr session, arguments..., results...)      make a record, or run if nothing waits
    void one.N(ptr session, ptr record)                     run one call
    void batch.N.R(ptr session, ptr records, i64 count)     run up to R independent calls as one
    void run.N(ptr session, ptr records, i64 count)         run any number of them

The last two are there for kernels of which several calls can be one, `one` for others. They end
with giving up the tensors in the records.

A batch gathers the arguments as rows and copies the rows of the results to where they belong; rows
beyond the last call repeat it. Of the sizes R, the largest is taken for which several smaller ones
would take longer (`smallest_counts`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from relay_tune.codegen.function_writer import Lines
from relay_tune.codegen.programs.module_writer import ModuleWriter
from relay_tune.codegen.programs.object_writer import ObjectWriter
from relay_tune.codegen.programs.region_step import RegionStep
from relay_tune.codegen.programs.region_writer import write_step
from relay_tune.codegen.programs.values import llvm_type
from relay_tune.ir.expr import Function
from relay_tune.program.kinds import Kind, TensorKind, function_type, is_counted, kinds_of
from relay_tune.program.layouts import LINK, TENSOR_DATA, TENSOR_LAYOUT, element_bytes
from relay_tune.quick_dataclass import dataclass

BATCH_COST = 2.5
"""What a batch costs beside its rows, in rows: with few, it waits for the weights."""


@dataclass(frozen=True, eq=False, slots=True)
class QueuedKernel:
    """A kernel that waits.

    Attributes:
        number: its number among these kernels.
        inputs, outputs: the kinds of its arguments and results.
        step: how one call of it runs; None if there are batches.
        batches: how so many calls of it run as one.
    """

    number: int
    inputs: tuple[Kind, ...]
    outputs: tuple[Kind, ...]
    step: RegionStep | None
    batches: Mapping[int, RegionStep]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of what a record has, after its first word."""
        return (*self.inputs, *self.outputs)


def queued_kernel(number: int, primitive: Function, module: ModuleWriter) -> QueuedKernel:
    """The kernel of a primitive function."""
    type_ = function_type(primitive)
    batches = module.program.batches.get(primitive, {})
    return QueuedKernel(
        number,
        tuple(kind for param in type_.params for kind in kinds_of(param)),
        kinds_of(type_.result),
        None if batches else module.waiting[primitive],
        {rows: module.waiting[batched] for rows, batched in batches.items()},
    )


def queued_kernel_text(kernel: QueuedKernel, module: ModuleWriter) -> str:
    """The functions of one kernel."""
    texts = [_note_text(kernel, module)]
    if kernel.step is not None:
        return "\n".join([*texts, _one_text(kernel, kernel.step, module)])
    texts += [_batch_text(kernel, rows, step, module) for rows, step in kernel.batches.items()]
    return "\n".join([*texts, _run_text(kernel, module)])


def _note_text(kernel: QueuedKernel, module: ModuleWriter) -> str:
    objects = _opened(module)
    writer = objects.writer
    names = [f"%x{index}" for index in range(len(kernel.kinds))]
    level = "0"
    for name, kind in zip(names, kernel.inputs, strict=False):
        if is_counted(kind):
            link = objects.load("i64", name, LINK)
            level = writer.pure(f"call i64 @llvm.umax.i64(i64 {level}, i64 {link})")
    if kernel.batches:
        level = writer.pure(f"add i64 {level}, 1")
    if kernel.step is not None:
        _run_at_once(kernel, kernel.step, names, level, objects)
    make = "join_record" if kernel.batches else "follow_record"
    record = writer.fresh("record")
    arguments = f"ptr %session, i64 {kernel.number}, i64 {level}"
    writer.line(f"{record} = call ptr @{make}({arguments})")
    for index, (name, kind) in enumerate(zip(names, kernel.kinds, strict=True)):
        objects.store_value(kind, name, record, _word(index))
        if is_counted(kind):
            objects.retain(name)
    for name in names[len(kernel.inputs) :]:
        writer.line(f"store i64 {level}, ptr {objects.address(name, LINK)}, align 8")
    size = sum(element_bytes(kind) for kind in kernel.outputs if isinstance(kind, TensorKind))
    writer.line(f"call void @limit_queue(ptr %session, i64 {level}, i64 {size})")
    pairs = zip(kernel.kinds, names, strict=True)
    parameters = "".join(f", {llvm_type(kind)} {name}" for kind, name in pairs)
    return _function(f"note.{kernel.number}(ptr %session{parameters})", objects, module)


def _run_at_once(
    kernel: QueuedKernel, step: RegionStep, names: Sequence[str], level: str, objects: ObjectWriter
) -> None:
    """Run a kernel, and return, if none of its arguments waits."""
    writer = objects.writer
    ready = writer.pure(f"icmp eq i64 {level}, 0")
    writer.line(f"br i1 {ready}, label %ready, label %wait")
    writer.start_block("ready")
    with writer.scope():
        addresses: list[str] = []
        for name, kind in zip(names, kernel.kinds, strict=True):
            if is_counted(kind):
                addresses.append(objects.data(name))
            else:
                addresses.append(objects.stack_slot(8))
                objects.store_value(kind, name, addresses[-1], 0)
        count = len(kernel.inputs)
        write_step(step, addresses[:count], addresses[count:], objects)
    writer.line("ret void")
    writer.start_block("wait")


def _one_text(kernel: QueuedKernel, step: RegionStep, module: ModuleWriter) -> str:
    objects = _opened(module)
    addresses = [
        _elements(kind, "%record", index, objects) for index, kind in enumerate(kernel.kinds)
    ]
    count = len(kernel.inputs)
    write_step(step, addresses[:count], addresses[count:], objects)
    _give_up(kernel, "%record", objects)
    return _function(f"one.{kernel.number}(ptr %session, ptr %record)", objects, module)


def _batch_text(kernel: QueuedKernel, rows: int, step: RegionStep, module: ModuleWriter) -> str:
    objects = _opened(module)
    writer = objects.writer
    sizes = [element_bytes(kind) for kind in kernel.kinds if isinstance(kind, TensorKind)]
    blocks = [objects.new_block(TENSOR_DATA + rows * size, TENSOR_LAYOUT) for size in sizes]
    tables = [objects.data(block) for block in blocks]
    count = len(kernel.inputs)
    writer.line("%last = sub i64 %count, 1")
    columns = [(index, tables[index], size) for index, size in enumerate(sizes)]
    with _over_rows(objects, "gather", str(rows)) as record:
        for index, table, size in columns[:count]:
            row, tensor = _row(objects, "gather", table, size), _tensor(objects, record, index)
            objects.copy(row, tensor, size)
    write_step(step, tables[:count], tables[count:], objects)
    with _over_rows(objects, "scatter", "%count") as record:
        for index, table, size in columns[count:]:
            row, tensor = _row(objects, "scatter", table, size), _tensor(objects, record, index)
            objects.copy(tensor, row, size)
        _give_up(kernel, record, objects)
    for block, size in zip(blocks, sizes, strict=True):
        objects.free_tensor(block, TENSOR_DATA + rows * size)
    head = f"batch.{kernel.number}.{rows}(ptr %session, ptr %records, i64 %count)"
    return _function(head, objects, module)


@contextmanager
def _over_rows(objects: ObjectWriter, loop: str, count: str) -> Iterator[str]:
    """A loop over rows; the record of each, which is the last one's beyond the last."""
    writer = objects.writer
    before = writer.block
    writer.line(f"br label %{loop}")
    writer.start_block(loop)
    writer.line(f"%{loop}.row = phi i64 [ 0, %{before} ], [ %{loop}.next, %{loop} ]")
    writer.line(f"%{loop}.next = add i64 %{loop}.row, 1")
    writer.line(f"%{loop}.call = call i64 @llvm.umin.i64(i64 %{loop}.row, i64 %last)")
    writer.line(f"%{loop}.at = getelementptr ptr, ptr %records, i64 %{loop}.call")
    with writer.scope():
        yield objects.load("ptr", f"%{loop}.at", 0)
    writer.line(f"%{loop}.end = icmp eq i64 %{loop}.next, {count}")
    writer.line(f"br i1 %{loop}.end, label %{loop}.done, label %{loop}")
    writer.start_block(f"{loop}.done")


def _row(objects: ObjectWriter, loop: str, table: str, size: int) -> str:
    offset = objects.writer.pure(f"mul i64 %{loop}.row, {size}")
    return objects.writer.pure(f"getelementptr i8, ptr {table}, i64 {offset}")


def _tensor(objects: ObjectWriter, record: str, index: int) -> str:
    return objects.data(objects.load("ptr", record, _word(index)))


def _run_text(kernel: QueuedKernel, module: ModuleWriter) -> str:
    """Batches from the largest size on; a loop each, over the calls that are left."""
    objects = _opened(module)
    writer = objects.writer
    done = "0"
    for rows, least in smallest_counts(kernel.batches).items():
        before, loop = writer.block, f"rows{rows}"
        writer.line(f"br label %{loop}")
        writer.start_block(loop)
        writer.line(f"%{loop}.done = phi i64 [ {done}, %{before} ], [ %{loop}.more, %{loop}.run ]")
        writer.line(f"%{loop}.left = sub i64 %count, %{loop}.done")
        writer.line(f"%{loop}.few = icmp ult i64 %{loop}.left, {least}")
        writer.line(f"br i1 %{loop}.few, label %{loop}.end, label %{loop}.run")
        writer.start_block(f"{loop}.run")
        writer.line(f"%{loop}.now = call i64 @llvm.umin.i64(i64 %{loop}.left, i64 {rows})")
        writer.line(f"%{loop}.more = add i64 %{loop}.done, %{loop}.now")
        writer.line(f"%{loop}.at = getelementptr ptr, ptr %records, i64 %{loop}.done")
        arguments = f"ptr %session, ptr %{loop}.at, i64 %{loop}.now"
        writer.line(f"call void @batch.{kernel.number}.{rows}({arguments})")
        writer.line(f"br label %{loop}")
        writer.start_block(f"{loop}.end")
        done = f"%{loop}.done"
    return _function(
        f"run.{kernel.number}(ptr %session, ptr %records, i64 %count)", objects, module
    )


def smallest_counts(sizes: Collection[int]) -> dict[int, int]:
    """For each size of batches, the largest first, from how many calls on it is taken.

    It is where it takes no longer than smaller ones: with 64, 16, 8, 4 and 2, eleven calls are a
    batch of 8 and one of 4, but thirteen are one of 16.
    """
    costs = [0.0]
    for count in range(1, max(sizes) + 1):
        costs.append(min(BATCH_COST + size + costs[max(0, count - size)] for size in sizes))
    return {
        size: next(n for n in range(1, size + 1) if costs[n] >= BATCH_COST + size)
        for size in sorted(sizes, reverse=True)
    }


def _give_up(kernel: QueuedKernel, record: str, objects: ObjectWriter) -> None:
    """The results of a record have elements now, and it needs its tensors no more."""
    for index, kind in enumerate(kernel.kinds):
        if is_counted(kind):
            tensor = objects.load("ptr", record, _word(index))
            if index >= len(kernel.inputs):
                objects.writer.line(f"store i64 0, ptr {objects.address(tensor, LINK)}, align 8")
            objects.release(tensor)


def _elements(kind: Kind, record: str, index: int, objects: ObjectWriter) -> str:
    """The address of the elements of what a record has at an index."""
    if is_counted(kind):
        return _tensor(objects, record, index)
    return objects.address(record, _word(index))


def _word(index: int) -> int:
    """The offset in a record of argument or result number `index`."""
    return 8 * (index + 1)


def _opened(module: ModuleWriter) -> ObjectWriter:
    """A writer of a function's body."""
    objects = ObjectWriter(module)
    start: Lines = ["entry:", objects.stack_slots]
    objects.writer.lines.append(start)
    return objects


def _function(head: str, objects: ObjectWriter, module: ModuleWriter) -> str:
    """A function without a result from what was written."""
    module.declarations |= objects.writer.declarations
    objects.writer.line("ret void")
    return f"define internal void @{head} nounwind {{\n{objects.writer.text()}\n}}"
