"""Functions and variables that belong together, as the text of LLVM modules.

A part can be included in several modules. What is called and not defined in the whole is declared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.signature import Callee, Variable

_WEIGHTS = '!0 = !{!"branch_weights", i32 1, i32 2000}'
"""Of `!prof !0`: branches that are unlikely."""

_NAMED = re.compile(r"^(declare|define)[^@\n]*@([\w.$]+|\"[^\"]*\")\(")


class NativeModule:
    """A module, or a part of one."""

    def __init__(self) -> None:
        self._called: dict[str, Callee] = {}
        self._declared: dict[str, str] = {}
        self._defined: set[str] = set()
        self._texts: list[str] = []

    @contextmanager
    def define(self, callee: Callee) -> Iterator[FunctionBuilder]:
        """A function, which is written in the body of the `with`."""
        code = FunctionBuilder(callee)
        yield code
        self._texts.append(code.text())
        self._defined.add(callee.name)
        self._note({**code.called, callee.name: callee})

    def variables(self, *variables: Variable) -> None:
        """Variables of the module alone."""
        for each in variables:
            kind = f"internal global {each.type} {each.value}, align {each.alignment}"
            self._texts.append(f"@{each.name} = {kind}")

    def external(self, name: str, type_: str, kind: str = "global") -> None:
        """A variable of another module; `kind` is `constant` where it never changes."""
        self._texts.append(f"@{name} = external {kind} {type_}")

    def add(self, text: str) -> None:
        """LLVM text, such as a table; its functions are known as if they were written here."""
        kept = []
        for line in text.splitlines():
            named = _NAMED.match(line) if line.startswith("de") else None
            if named is not None and named[1] == "declare":
                self._declared[named[2]] = line
                continue
            if named is not None:
                self._defined.add(named[2])
            kept.append(line)
        self._texts.append("\n".join(kept))

    def include(self, part: NativeModule) -> None:
        """All that is in another part."""
        self._note(part._called)
        self._declared |= part._declared
        self._defined |= part._defined
        self._texts += part._texts

    def text(self, triple: str) -> str:
        """The whole; raises ValueError if a function of the module alone is called but missing."""
        declared = dict(self._declared)
        for name, callee in self._called.items():
            if name not in self._defined:
                declared[name] = _declaration(callee)
        texts = [declared[name] for name in sorted(declared.keys() - self._defined)]
        texts = [f'target triple = "{triple}"', *texts, *self._texts]
        if any("!prof !0" in each for each in self._texts):
            texts.append(_WEIGHTS)
        return "\n".join(texts) + "\n"

    def _note(self, called: dict[str, Callee]) -> None:
        for name, callee in called.items():
            if self._called.setdefault(name, callee).signature != callee.signature:
                raise TypeError(f"{name} is called with two signatures.")


def _declaration(callee: Callee) -> str:
    if callee.is_internal:
        raise ValueError(f"{callee.name} is called but not defined.")
    listed = ", ".join(callee.signature.parameters)
    return (
        f"declare {callee.signature.result} @{callee.name}({listed}) {callee.attributes}".rstrip()
    )
