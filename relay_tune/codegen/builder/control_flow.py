"""Blocks and local variables of a function under construction.

    with code.when(n.ult(2)):          ...            the body is done where the condition holds
    with code.loop() as loop:          ...            again and again; loop.leave_if, loop.again
    with code.count(n) as each:        ...            each.index from 0 to n - 1
    with code.block() as block:        ...            once; block.leave_if goes to its end

    total = code.local(0)              total.value, total.set(total.value + 1)

Every block ends once: what follows the end of a block on no way is refused. Local variables become
phi instructions where ways meet whose values differ (Braun and others, Simple and Efficient
Construction of Static Single Assignment Form, CC 2013, for structured programs).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from itertools import islice

from relay_tune.codegen.builder.operand import Operand, Scope
from relay_tune.codegen.function_writer import FunctionWriter, Lines
from relay_tune.quick_dataclass import dataclass


@dataclass(eq=False, slots=True)
class Label:
    """A block, and the ways to it: the blocks that they come from, and the values of locals.

    `known` locals, the first ones, are older than the block, and go on in it.
    """

    name: str
    known: int
    edges: list[tuple[str, dict[Local, Operand]]] = field(default_factory=list)


class Local:
    """A variable of the function."""

    __slots__ = ("_flow",)

    def __init__(self, flow: ControlFlow, value: Operand) -> None:
        self._flow = flow
        flow.values[self] = _known(value)

    @property
    def value(self) -> Operand:
        """Its value here."""
        return self._flow.values[self]

    def set(self, value: Operand | int) -> None:
        """Give it another value of its type; raises ValueError where the block has ended."""
        if not self._flow.is_open:
            raise ValueError(f"No way leads to a change of {self.value}.")
        self._flow.values[self] = _known(self.value.like(value))


class Block:
    """Code that can be left early."""

    def __init__(self, flow: ControlFlow, end: Label) -> None:
        self._flow = flow
        self._end = end

    def leave(self) -> None:
        """Go to its end."""
        self._flow.jump(self._end)

    def leave_if(self, condition: Operand) -> None:
        """Go to its end where a condition holds."""
        self._flow.jump_if(condition, self._end)


class Loop(Block):
    """Code that is done again and again until it is left."""

    def __init__(self, flow: ControlFlow, end: Label, start: Label) -> None:
        super().__init__(flow, end)
        self._start = start

    def again(self) -> None:
        """Begin anew, with the next index if they are counted."""
        self._flow.jump(self._start)

    def again_if(self, condition: Operand) -> None:
        """Begin anew where a condition holds."""
        self._flow.jump_if(condition, self._start)


class Counter(Loop):
    """A loop over the indices below a number."""

    def __init__(self, flow: ControlFlow, end: Label, start: Label, index: Operand) -> None:
        super().__init__(flow, end, start)
        self.index = index


_ALWAYS = Scope()


def _known(value: Operand) -> Operand:
    """The value of a variable: known wherever the variable is."""
    return Operand(value.emitter, value.read(), value.type, _ALWAYS)


class ControlFlow:
    """The blocks of a function: which one is written, and how one goes on to others."""

    def __init__(self) -> None:
        self.writer = FunctionWriter()
        self.values: dict[Local, Operand] = {}
        self.is_open = True
        self.scope = Scope()

    def emit(self, instruction: str, type_: str) -> Operand:
        """The value of an instruction."""
        if not self.is_open:
            raise ValueError(f"No way leads to `{instruction}`.")
        name = self.writer.fresh()
        self.writer.lines.append(f"  {name} = {instruction}")
        return Operand(self, name, type_, self.scope)

    def line(self, instruction: str) -> None:
        """Write an instruction; raises ValueError where the block has ended."""
        if not self.is_open:
            raise ValueError(f"No way leads to `{instruction}`.")
        self.writer.line(instruction)

    def end_block(self, terminator: str) -> None:
        """End the block; what follows needs a way that leads to it."""
        self.line(terminator)
        self.is_open = False

    def local(self, value: Operand | int) -> Local:
        """A variable with its first value; an integer has 64 bits."""
        return Local(self, self.number(value) if isinstance(value, int) else value)

    def number(self, value: int, type_: str = "i64") -> Operand:
        """A constant."""
        return Operand(self, "", type_, self.scope).like(value)

    @contextmanager
    def when(self, condition: Operand, *, unlikely: bool = False) -> Iterator[None]:
        """What is done where a condition holds."""
        body, end = self._label(), self._label()
        self._branch(condition, body, end, ", !prof !0" if unlikely else "")
        with self._inside(body):
            yield
            self._jump_at_end(end)
        self._start(end)

    @contextmanager
    def block(self) -> Iterator[Block]:
        """What is done once, and can be left early."""
        body, end = self._label(), self._label()
        self.jump(body)
        with self._inside(body):
            yield Block(self, end)
            self._jump_at_end(end)
        self._start(end)

    @contextmanager
    def loop(self) -> Iterator[Loop]:
        """What is done again and again until it is left."""
        start, end = self._label(), self._label()
        with self._repeated(start):
            yield Loop(self, end, start)
            self._jump_at_end(start)
        self._start(end)

    @contextmanager
    def count(self, number: Operand | int) -> Iterator[Counter]:
        """What is done for each index below a number; the index has the number's type."""
        limit = self.number(number) if isinstance(number, int) else number
        end, index = self._label(), self.local(limit.like(0))
        start, body, following = self._label(), self._label(), self._label()
        with self._repeated(start):
            self._branch(index.value.eq(limit), end, body)
            with self._inside(body):
                yield Counter(self, end, following, index.value)
                self._jump_at_end(following)
            self._start(following)
            if self.is_open:
                index.set(index.value + 1)
                self.jump(start)
        self._start(end)

    def jump(self, label: Label) -> None:
        """Go to a block."""
        label.edges.append((self.writer.block, self.values))
        self.end_block(f"br label %{label.name}")

    def jump_if(self, condition: Operand, label: Label) -> None:
        """Go to a block where a condition holds, else on."""
        following = self._label()
        self._branch(condition, label, following)
        self._start(following)

    def _label(self) -> Label:
        return Label(self.writer.label("b"), len(self.values))

    def _branch(self, condition: Operand, yes: Label, no: Label, weights: str = "") -> None:
        yes.edges.append((self.writer.block, self.values))
        no.edges.append((self.writer.block, dict(self.values)))
        names = f"label %{yes.name}, label %{no.name}"
        self.end_block(f"br i1 {condition.of('i1')}, {names}{weights}")

    def _jump_at_end(self, label: Label) -> None:
        if self.is_open:
            self.jump(label)

    def _start(self, label: Label) -> None:
        """Begin a block to which all ways are known, if there is one."""
        if not label.edges:
            return
        self.is_open = True
        self.writer.start_block(label.name)
        (_, values), *others = label.edges
        if others or len(values) > label.known:
            values = dict(islice(values.items(), label.known))
        for local, value in values.items():
            if not all(other[local] is value for _, other in others):
                values[local] = self._phi(local, label)
        self.values = values

    def _phi(self, local: Local, label: Label) -> Operand:
        ways = ", ".join(f"[ {values[local].text}, %{block} ]" for block, values in label.edges)
        type_ = label.edges[0][1][local].type
        return _known(self.emit(f"phi {type_} {ways}", type_))

    @contextmanager
    def _inside(self, label: Label) -> Iterator[None]:
        """A block whose values are known inside it alone."""
        outer, self.scope = self.scope, Scope()
        self._start(label)
        yield
        self.scope.is_open = False
        self.scope = outer

    @contextmanager
    def _repeated(self, label: Label) -> Iterator[None]:
        """A block that others inside it come back to: each variable is a phi instruction."""
        self.jump(label)
        with self._inside(label):
            phis: Lines = []
            self.writer.lines.append(phis)
            first = self.values
            self.values = {
                local: Operand(self, self.writer.fresh(), value.type, _ALWAYS)
                for local, value in first.items()
            }
            started = dict(self.values)
            yield
        for local, value in started.items():
            ways = (f"[ {values[local].text}, %{block} ]" for block, values in label.edges)
            phis.append(f"  {value.text} = phi {value.type} {', '.join(ways)}")
