"""How threads of the native runtime share a kernel's work: claims, and waiting for their ends.

Counters that are below the base of the present round count as zero, so that nobody clears them.
"""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Location, Operand
from relay_tune.codegen.builder.signature import function
from relay_tune.codegen.native_runtime.state import ROUND, SPIN

CLAIM = function("i64", "relay_tune_claim", "ptr", "i64", "i64", "i64", "i64")
COMPLETE = function("void", "relay_tune_complete", "ptr", "i64", "i64")
NEXT_ROUND = function("void", "relay_tune_next_round")

_SCHED_YIELD = function("i32", "sched_yield")
_SPINS_BEFORE_YIELD = 8000
_ROUND_BITS = 20


def add_shares(module: NativeModule, pause: str) -> None:
    """The functions; `pause` is the instruction of a thread that spins."""
    with module.define(NEXT_ROUND) as code:
        code.at(ROUND).update("add", 1)
    _add_claim(module, pause)
    _add_complete(module)
    with module.define(SPIN) as code:
        code.line(pause)
        more = code.parameters[0] + 1
        with code.when(more.ugt(_SPINS_BEFORE_YIELD)):
            code.call(_SCHED_YIELD)
        code.ret(more)


def _base(code: FunctionBuilder) -> Operand:
    """Where the numbers of this round begin."""
    return code.at(ROUND).load("acquire") << _ROUND_BITS


def _add_claim(module: NativeModule, pause: str) -> None:
    with module.define(CLAIM) as code:
        slot, queue, queues, grain, patience = code.parameters
        base = _base(code)
        with code.count(queues) as tried:
            number = (queue + tried.index).urem(queues)
            counter = slot.offset((number + 1) << 6).at("i64")
            last, waited = code.local(0), code.local(0)
            with code.loop() as reading:
                value = counter.load("acquire")
                begin = value.ult(base).select(base, value)
                taken = begin - base
                tried.again_if(taken.uge(grain))
                is_foreign_at_work = tried.index.ne(0) & taken.ne(0)
                so_far = value.eq(last.value).select(waited.value, 0)
                last.set(value)
                with code.when(is_foreign_at_work & so_far.ult(patience)):
                    code.line(pause)
                    waited.set(so_far + 1)
                    reading.again()
                waited.set(0)
                reading.again_if(~counter.replace(value, begin + 1))
                code.ret(number * grain + taken)
        code.ret(-1)


def _add_complete(module: NativeModule) -> None:
    with module.define(COMPLETE) as code:
        slot, done, shares = code.parameters
        counter = slot.at("i64")
        base = _base(code)
        with code.when(done.ne(0)), code.loop() as adding:
            value = counter.load("acquire")
            begin = value.ult(base).select(base, value)
            adding.leave_if(counter.replace(value, begin + done))
        goal = base + shares
        spin_until(code, counter, lambda now: now.uge(goal))


def spin_until(
    code: FunctionBuilder, counter: Location, is_ready: Callable[[Operand], Operand]
) -> None:
    """Wait until a counter has a value."""
    spins = code.local(0)
    with code.loop() as waiting:
        waiting.leave_if(is_ready(counter.load("acquire")))
        spins.set(code.call(SPIN, spins.value))
