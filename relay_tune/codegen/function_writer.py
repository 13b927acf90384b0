"""Writes the text of one LLVM function: names, blocks, value numbering, hoisted addresses.

Text is twenty times faster to make than `llvmlite.ir` objects. Pure instructions are numbered by
their text, so that writing the same one twice in a scope gives the same name; this is what turns
an unrolled tile into a kernel that loads each operand once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from relay_tune.tensor.affine import Affine

Lines = list["str | Lines"]


@dataclass(slots=True)
class Level:
    """The body of a loop (or the function): where code that depends on no deeper variable goes."""

    hoisted: Lines
    pointers: dict[tuple[str, tuple[tuple[str, int], ...]], str] = field(default_factory=dict)


class FunctionWriter:
    """One function under construction."""

    def __init__(self) -> None:
        self.body: Lines = []
        self.lines: Lines = self.body
        self.block = "entry"
        self.levels: list[Level] = []
        self.level_of: dict[str, int] = {}
        self.ranges: dict[str, tuple[int, int]] = {}
        self.declarations: set[str] = set()
        self._scopes: list[dict[object, str]] = [{}]
        self._count = 0
        self.push_level()

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
        for scope in reversed(self._scopes):
            known = scope.get(number)
            if known is not None:
                return known
        name = self.fresh()
        self.line(f"{name} = {text}")
        self._scopes[-1][number] = name
        return name

    def call(self, result: str, name: str, arguments: str, parameter_types: str) -> str:
        """The value of a call of a pure intrinsic, declared once in the module."""
        self.declarations.add(f"declare {result} @{name}({parameter_types})")
        return self.pure(f"call {result} @{name}({arguments})")

    def start_block(self, label: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{label}:")
        self.block = label

    def push_scope(self) -> None:
        """Values named from here on are forgotten at `pop_scope` (they do not dominate)."""
        self._scopes.append({})

    def pop_scope(self) -> None:
        """Forget the values of the innermost scope."""
        self._scopes.pop()

    def push_level(self) -> None:
        """Begin the body of a loop: later addresses may be hoisted to this place."""
        hoisted: Lines = []
        self.lines.append(hoisted)
        self.levels.append(Level(hoisted))

    def pop_level(self) -> None:
        """End the body of a loop."""
        self.levels.pop()

    def bind(self, name: str, low: int, high: int) -> None:
        """Say that a variable of the current level lies in low .. high."""
        self.level_of[name] = len(self.levels) - 1
        self.ranges[name] = (low, high)

    def address(self, base: str, offset: Affine, element_bytes: int) -> str:
        """The address of an element: variables are added where they are bound, outermost first."""
        terms = [(str(name), factor) for name, factor in offset.terms.items()]
        loops = sorted(
            (term for term in terms if term[0] in self.level_of),
            key=lambda term: (self.level_of[term[0]], term[0]),
        )
        pointer = base
        for count in range(1, len(loops) + 1):
            pointer = self._partial_address(base, pointer, loops[:count], element_bytes)
        for name, factor in terms:
            if name not in self.level_of:
                scaled = self.pure(f"mul nsw i64 {name}, {factor * element_bytes}")
                pointer = self.pure(f"getelementptr i8, ptr {pointer}, i64 {scaled}")
        if offset.constant == 0:
            return pointer
        return self.pure(f"getelementptr i8, ptr {pointer}, i64 {offset.constant * element_bytes}")

    def _partial_address(
        self, base: str, pointer: str, terms: list[tuple[str, int]], element_bytes: int
    ) -> str:
        name, factor = terms[-1]
        level = self.levels[self.level_of[name]]
        key = (base, tuple((n, f * element_bytes) for n, f in terms))
        known = level.pointers.get(key)
        if known is not None:
            return known
        scaled, result = self.fresh("s"), self.fresh("p")
        level.hoisted.append(f"  {scaled} = mul nsw i64 {name}, {factor * element_bytes}")
        level.hoisted.append(f"  {result} = getelementptr i8, ptr {pointer}, i64 {scaled}")
        level.pointers[key] = result
        return result

    def text(self) -> str:
        """All lines in order."""
        flat: list[str] = []
        _flatten(self.body, flat)
        return "\n".join(flat)


def _flatten(lines: Lines, into: list[str]) -> None:
    for line in lines:
        if isinstance(line, str):
            into.append(line)
        else:
            _flatten(line, into)
