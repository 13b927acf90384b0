"""The kernels that wait to be run.

    void note.N(ptr session, arguments..., results...)    note that kernel number N is to be run
    void run_queue(ptr session)                           run all kernels that wait

The first kernels are those of which several calls can be one. The link of a tensor whose elements
are still to be computed is its level: for results of these kernels, one more than the greatest
level of their arguments; for those of others, that greatest level, and if it is 0 they do not wait.
So at each level all calls of a kernel that can be joined are independent, and as many as possible;
the other calls follow in the order in which they were noted
(`relay_tune.codegen.programs.queue_steps`).

    offset 0    i32 [LEVELS][joined + 2]   the number, from 1, of the first record of each kernel's
                                           list, and of the first and the last other record
           ...  ptr [RECORDS]              the records of the list that is run
           ...  records: a word for the number of the next one and, 32 bits higher, of the kernel;
                a word for each argument and result

The queue is run before elements are needed, when it is full, and when its results have many bytes.
"""

from __future__ import annotations

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import Signature, function, internal
from relay_tune.codegen.programs.session import DEEPEST, QUEUED, QUEUED_BYTES
from relay_tune.quick_dataclass import dataclass

RECORDS = 2048
LEVELS = 512
MOST_BYTES = 16 << 20
"""Results that wait should still be in the cache when they are read."""

RUN_QUEUE = internal("void", "run_queue", "ptr", attributes="nounwind alwaysinline")
FORGET_QUEUE = function("void", "relay_tune_forget_queue", "ptr")
LIMIT_QUEUE = internal("void", "limit_queue", "ptr", "i64", "i64")

_JOIN_RECORD = internal(
    "ptr", "join_record", "ptr", "i64", "i64", attributes="nounwind alwaysinline"
)
_FOLLOW_RECORD = internal("ptr", "follow_record", "ptr", "i64", "i64")
_RUN_ALL = internal("void", "run_all", "ptr", attributes="noinline nounwind")
_GREATER = function("i64", "llvm.umax.i64", "i64", "i64", attributes="")
_RUN = Signature("void", ("ptr", "ptr", "i64"))
_FOLLOW = Signature("void", ("ptr", "ptr"))


@dataclass(frozen=True, slots=True)
class QueueLayout:
    """The queue of a session.

    Attributes:
        begin: its offset in the session.
        joined: of how many kernels several calls can be one.
        kernels: how many kernels may wait.
        words: the words of a record.
    """

    begin: int
    joined: int
    kernels: int
    words: int

    @property
    def lists(self) -> int:
        """How many numbers a level has."""
        return self.joined + 2

    @property
    def group(self) -> int:
        """The offset of the table of the records that are run."""
        return self.begin + 4 * LEVELS * self.lists

    @property
    def records(self) -> int:
        """The offset of the records."""
        return self.group + 8 * RECORDS

    @property
    def end(self) -> int:
        """The offset of what comes after the queue."""
        return self.records + 8 * RECORDS * self.words


def add_empty_queue(module: NativeModule) -> None:
    """The function that programs call, where no kernel waits; it leaves nothing behind."""
    with module.define(RUN_QUEUE):
        pass


def add_nothing_to_forget(module: NativeModule) -> None:
    """The function that sessions call, where no kernel waits."""
    with module.define(FORGET_QUEUE):
        pass


def add_queue(module: NativeModule, layout: QueueLayout) -> None:
    """The functions that serve all kernels; they need the tables `runs` and `follows`."""
    _add_records(module, layout)
    with module.define(LIMIT_QUEUE) as code:
        session, level, new_bytes = code.parameters
        bytes_ = session.at("i64", QUEUED_BYTES)
        total = bytes_.load() + new_bytes
        bytes_.store(total)
        is_full = session.at("i64", QUEUED).load().eq(RECORDS)
        with code.when(is_full | level.eq(LEVELS - 1) | total.ugt(MOST_BYTES), unlikely=True):
            code.call(_RUN_ALL, session)
    with module.define(RUN_QUEUE) as code:
        (session,) = code.parameters
        with code.when(session.at("i64", QUEUED).load().ne(0)):
            code.call(_RUN_ALL, session)
    with module.define(FORGET_QUEUE) as code:
        (session,) = code.parameters
        rows = session.at("i64", DEEPEST).load() + 1
        code.fill(session.offset(layout.begin), 0, rows * layout.lists * 4)
        _clear_counts(session)
    with module.define(_RUN_ALL) as code:
        (session,) = code.parameters
        with code.count(session.at("i64", DEEPEST).load()) as depth:
            _run_level(code, layout, session, depth.index + 1)
        _clear_counts(session)


def _list(layout: QueueLayout, session: Operand, level: Operand, number: Operand | int) -> Operand:
    """Where a number of a level is."""
    return session.offset(layout.begin).offset(level * layout.lists + number, "i32")


def _record(layout: QueueLayout, session: Operand, number: Operand) -> Operand:
    """Where a record is; they are counted from 1."""
    return session.offset(layout.records).offset((number - 1) * (8 * layout.words))


def _clear_counts(session: Operand) -> None:
    for word in (QUEUED, DEEPEST, QUEUED_BYTES):
        session.at("i64", word).store(0)


def _add_records(module: NativeModule, layout: QueueLayout) -> None:
    """The functions that give a record of a kernel at a level, which is to be filled."""
    with module.define(_JOIN_RECORD) as code:
        session, kernel, level = code.parameters
        number = _count_record(code, session, level)
        first = _list(layout, session, level, kernel).at("i32")
        record = _record(layout, session, number)
        record.store(first.load().zext("i64"))
        first.store(number.trunc("i32"))
        code.ret(record)
    with module.define(_FOLLOW_RECORD) as code:
        session, kernel, level = code.parameters
        number = _count_record(code, session, level)
        first = _list(layout, session, level, layout.joined).at("i32")
        last = first.pointer.at("i32", 4)
        before = last.load()
        last.store(number.trunc("i32"))
        with code.when(before.eq(0)):
            first.store(number.trunc("i32"))
        with code.when(before.ne(0)):
            _record(layout, session, before.zext("i64")).store(number.trunc("i32"))
        record = _record(layout, session, number)
        record.store(kernel << 32)
        code.ret(record)


def _count_record(code: FunctionBuilder, session: Operand, level: Operand) -> Operand:
    """The number of a new record."""
    queued, deepest = session.at("i64", QUEUED), session.at("i64", DEEPEST)
    number = queued.load() + 1
    queued.store(number)
    deepest.store(code.call(_GREATER, deepest.load(), level))
    return number


def _run_level(
    code: FunctionBuilder, layout: QueueLayout, session: Operand, level: Operand
) -> None:
    """Run the kernels of a level, those of several calls first, and empty its lists."""
    group = session.offset(layout.group)
    with code.count(layout.joined) as kernel:
        first = _list(layout, session, level, kernel.index).at("i32")
        number, count = code.local(first.load().zext("i64")), code.local(0)
        first.store(0)
        with code.loop() as collecting:
            collecting.leave_if(number.value.eq(0))
            record = _record(layout, session, number.value)
            group.item("ptr", count.value).store(record)
            count.set(count.value + 1)
            number.set(record.load("i64"))
        with code.when(count.value.ne(0)):
            run = code.symbol("runs").item("ptr", kernel.index).load()
            code.call_through(run, _RUN, session, group, count.value)
    others = _list(layout, session, level, layout.joined)
    number = code.local(others.load("i32").zext("i64"))
    others.at("i32").store(0)
    others.at("i32", 4).store(0)
    with code.loop() as following:
        following.leave_if(number.value.eq(0))
        record = _record(layout, session, number.value)
        word = record.load("i64")
        number.set(word & 0xFFFFFFFF)
        follow = code.symbol("follows").item("ptr", word.lshr(32)).load()
        code.call_through(follow, _FOLLOW, session, record)
