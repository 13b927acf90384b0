"""Writes the text of one LLVM function: names, blocks, value numbering, hoisted addresses.

Text is twenty times faster to make than `llvmlite.ir` objects. Pure instructions are numbered by
their text, so that writing the same one twice in a scope gives the same name; this is what turns
an unrolled tile into a kernel that loads each operand once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from relay_tune.codegen.size_writer import SizeWriter
from relay_tune.machine.architecture import DotProduct, Lookup, Streaming
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import Affine

Lines = list["str | Lines"]
Result = TypeVar("Result")


@dataclass(slots=True)
class Level:
    """The body of a loop (or the function): where code that depends on no deeper variable goes."""

    hoisted: Lines


class FunctionWriter:
    """One function under construction.

    `size_symbols` are the parameters that the symbols of sizes are; `scales_powers`,
    `rounds_bfloats`, `dot_products`, `lookups` and `streaming` are of the target.
    """

    def __init__(
        self,
        size_symbols: Mapping[str, str] | None = None,
        *,
        scales_powers: bool = False,
        rounds_bfloats: bool = False,
        dot_products: tuple[DotProduct, ...] = (),
        lookups: tuple[Lookup, ...] = (),
        streaming: Streaming | None = None,
    ) -> None:
        self.scales_powers = scales_powers
        self.rounds_bfloats = rounds_bfloats
        self.dot_products = dot_products
        self.streaming = streaming
        self.lookups = {each.dtype: each for each in reversed(lookups)}
        self.size_symbols = dict(size_symbols or {})
        self._sizes = SizeWriter(self.size_symbols, self._at_start)
        self.body: Lines = []
        self.lines: Lines = self.body
        self.block = "entry"
        self.levels: list[Level] = []
        self.level_of: dict[str, int] = {}
        self.ranges: dict[str, tuple[int, int]] = {}
        self.declarations: set[str] = set()
        self._known: dict[object, Any] = {}
        self._scopes: list[list[object]] = [[]]
        self._hoisted: dict[object, str] = {}
        self._count = 0
        self._started: dict[str, str] = {}
        self._push_level()

    def fresh(self, hint: str = "v") -> str:
        """A new local name."""
        self._count += 1
        return f"%{hint}{self._count}"

    def line(self, text: str) -> None:
        """Write an instruction that has no result or must not be merged."""
        self.lines.append("  " + text)

    def pure(self, text: str, key: object = None) -> str:
        """The name of the value of a pure instruction, written at most once in a scope."""
        number = (text, key)
        known: str | None = self._known.get(number)
        if known is not None:
            return known
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        self._known[number] = name
        self._scopes[-1].append(number)
        return name

    def once(self, key: tuple[Hashable, ...], make: Callable[[], Result]) -> Result:
        """What `make` writes with pure instructions, called at most once for a key in a scope.

        To find such values by a key takes less time than to write their instructions again, each
        of which would be found. The key, of three parts or more, says all that they depend on.
        """
        known: Result | None = self._known.get(key)
        if known is None:
            known = self._known[key] = make()
            self._scopes[-1].append(key)
        return known

    def size(self, size: int) -> str:
        """A size as an operand of type i64; what is not known before is computed at the start."""
        return self._sizes.text(size)

    def _at_start(self, text: str) -> str:
        name = self._started.get(text)
        if name is None:
            name = self._started[text] = self.fresh("n_")
            self.levels[0].hoisted.append(f"  {name} = {text}")
        return name

    def start_mask(self, active: int, lanes: int) -> str:
        """The mask of the first `active` lanes."""
        count = self.size(active)
        numbers = ", ".join(f"i64 {lane}" for lane in range(lanes))
        spread = _spread(self._at_start, "i64", count, lanes)
        return self._at_start(f"icmp slt <{lanes} x i64> <{numbers}>, {spread}")

    def spread(self, element: str, text: str, lanes: int) -> str:
        """A value of an LLVM type, no constant, in all lanes of a vector."""
        return _spread(self.pure, element, text, lanes)

    def call(self, result: str, name: str, arguments: str, parameter_types: str) -> str:
        """The value of a call of a pure intrinsic, declared once in the module."""
        self.declarations.add(f"declare {result} @{name}({parameter_types})")
        return self.pure(f"call {result} @{name}({arguments})")

    def start_block(self, label: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{label}:")
        self.block = label

    def label(self, hint: str) -> str:
        """A new name of a block."""
        return self.fresh(hint).removeprefix("%")

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Code whose values are forgotten behind it: they do not dominate what follows."""
        self._scopes.append([])
        yield
        for number in self._scopes.pop():
            del self._known[number]

    def sides(self, condition: str, hint: str, *names: str) -> Iterator[str]:
        """The sides of a branch in turn, each a block with a scope that its code is written in.

        The first is done where the condition holds, the second, if there is one, where it does
        not; both go on behind them.
        """
        label = self.label(hint)
        yes, no = (f"%{label}.{name}" for name in (*names, "end")[:2])
        self.line(f"br i1 {condition}, label {yes}, label {no}")
        for name in names:
            self.start_block(f"{label}.{name}")
            with self.scope():
                yield name
            self.line(f"br label %{label}.end")
        self.start_block(f"{label}.end")

    @contextmanager
    def level(self) -> Iterator[None]:
        """The body of a loop, a scope: later addresses may be hoisted to this position."""
        with self.scope():
            self._push_level()
            yield
            self.levels.pop()

    def _push_level(self) -> None:
        hoisted: Lines = []
        self.lines.append(hoisted)
        self.levels.append(Level(hoisted))

    def bind(self, name: str, low: int, high: int) -> None:
        """Say that a variable of the current level lies in low .. high."""
        self.level_of[name] = len(self.levels) - 1
        self.ranges[name] = (low, high)

    def address(self, base: str, offset: Affine, element_bytes: int) -> str:
        """The address of an element: variables are added where they are bound, outermost first."""
        pointer = self._hoisted_address(base, offset, element_bytes)
        for name, factor in offset.terms.items():
            if name not in self.level_of:
                scaled = self.pure(f"mul nsw i64 {name}, {self.size(factor * element_bytes)}")
                pointer = self.pure(f"getelementptr i8, ptr {pointer}, i64 {scaled}")
        if offset.constant == 0:
            return pointer
        constant = self.size(offset.constant * element_bytes)
        return self.pure(f"getelementptr i8, ptr {pointer}, i64 {constant}")

    def _hoisted_address(self, base: str, offset: Affine, element_bytes: int) -> str:
        """The part of an address that depends on variables of loops alone.

        A name belongs to one loop, so what was found for it holds wherever it can be met again.
        """
        number = (base, element_bytes, tuple(offset.terms.items()))
        known = self._hoisted.get(number)
        if known is not None:
            return known
        loops = sorted(
            (self.level_of[str(name)], str(name), factor * element_bytes)
            for name, factor in offset.terms.items()
            if name in self.level_of
        )
        pointer = base
        for count, (level, name, factor) in enumerate(loops, start=1):
            before = pointer
            part = (base, tuple(loops[:count]))
            pointer = self._hoisted.get(part, "")
            if not pointer:
                scaled, pointer = self.fresh("s"), self.fresh("p")
                hoisted = self.levels[level].hoisted
                step = self.size(factor)
                hoisted.append(f"  {scaled} = mul nsw i64 {name}, {step}")
                hoisted.append(f"  {pointer} = getelementptr i8, ptr {before}, i64 {scaled}")
                self._hoisted[part] = pointer
        self._hoisted[number] = pointer
        return pointer

    def end(self) -> None:
        """Let go of all lines; nothing is written or asked for afterwards."""
        vars(self).clear()

    def text(self) -> str:
        """All lines in order."""
        flat: list[str] = []
        _flatten(self.body, flat)
        return "\n".join(flat)


def _spread(emit: Callable[[str], str], element: str, text: str, lanes: int) -> str:
    kind = f"<{lanes} x {element}>"
    first = emit(f"insertelement {kind} poison, {element} {text}, i64 0")
    zeros = f"<{lanes} x i32> zeroinitializer"
    return emit(f"shufflevector {kind} {first}, {kind} poison, {zeros}")


def _flatten(lines: Lines, into: list[str]) -> None:
    for line in lines:
        if isinstance(line, str):
            into.append(line)
        else:
            _flatten(line, into)
