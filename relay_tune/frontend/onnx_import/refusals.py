"""Everything of a model that has no translation, collected while the rest is translated.

    a = Resize(x, mode=?)     refused; a is REFUSED
    b = Relu(a)               skipped, since it is no fault of its own; b is REFUSED
    c = Det(x, of 4 axes)     refused

One error at the end lists both faults.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

from relay_tune.errors import ModelError, Refusal, RelayError, UnsupportedOperatorError
from relay_tune.ir.expr import Expr, Var

MAXIMUM_LINES = 20
"""Of what one error lists."""

_NAMES_SHOWN = 3

_FOR_ONE_MACHINE = (
    "ONNX Runtime wrote this file for one machine: import the one that it was made from, or let it "
    "optimise no further than ORT_ENABLE_EXTENDED."
)

_DOMAIN_REMEDIES = {
    "com.microsoft.nchwc": _FOR_ONE_MACHINE,
    "com.ms.internal.nhwc": _FOR_ONE_MACHINE,
    "ai.onnx.contrib": "Run this step, such as a tokenizer, before or after the model, and export "
    "the model without it.",
    "org.pytorch.aten": "Export the model again without operator_export_type=ONNX_ATEN_FALLBACK.",
}
"""What to do about operators of domains that no other tool reads."""

REFUSED = Var("refused")
"""The value of what was refused or depends on it; its type is not known."""

NO_TRANSLATION = "the operator is not supported."


class DependsOnRefusedError(Exception):
    """A node that cannot be translated because of another one, which was refused."""


def require_translated(values: Sequence[Expr | None]) -> None:
    """Raises DependsOnRefusedError if one of the values is REFUSED."""
    if any(value is REFUSED for value in values):
        raise DependsOnRefusedError


class Refusals:
    """Refusals of one model, collected."""

    def __init__(self) -> None:
        self._found: dict[Hashable, tuple[Refusal, RelayError]] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, error: RelayError, name: str, operator: str = "", key: Hashable = None) -> None:
        """Note an error once for each `key`, where a body is translated several times."""
        cause = " ".join((error.message, *error.notes))
        inputs = getattr(error, "inputs", ())
        refusal = Refusal(name, operator, cause, error.remedy or "", inputs)
        self._found.setdefault((name, operator, key), (refusal, error))

    def add_last(self, error: RelayError) -> None:
        """Note the error, of any kind, that ended the translation."""
        where = "" if error.where is None else f"{error.where}: "
        cause = where + " ".join((error.message, *error.notes))
        refusal = Refusal("", "", f"The import ended here: {cause}", error.remedy or "")
        self._found[cause] = (refusal, error)

    @contextmanager
    def collecting(
        self,
        name: str,
        operator: str = "",
        key: Hashable = None,
        kinds: tuple[type[RelayError], ...] = (UnsupportedOperatorError,),
    ) -> Iterator[None]:
        """Note an error of some kinds that is raised inside, and go on."""
        try:
            yield
        except kinds as error:
            self.add(error, name, operator, key)

    def raise_found(self) -> None:
        """Raises one error that lists what was refused, if anything was.

        It is a ModelError where all faults are, otherwise an UnsupportedOperatorError.
        """
        if not self._found:
            return
        refusals = tuple(refusal for refusal, _ in self._found.values())
        kinds = [error for _, error in self._found.values() if not isinstance(error, ModelError)]
        error = self._single() or _combined(
            refusals, UnsupportedOperatorError if kinds else ModelError
        )
        error.refusals = refusals
        raise error

    def _single(self) -> RelayError | None:
        """The error itself where there is only one, at a node that has a translation."""
        (_, error), *others = self._found.values()
        return None if others or error.message == NO_TRANSLATION else error


def _combined(refusals: Sequence[Refusal], kind: type[RelayError]) -> RelayError:
    groups: dict[tuple[str, str], list[Refusal]] = {}
    for each in refusals:
        groups.setdefault((each.operator, each.cause), []).append(each)
    lines = [_line(group) for group in groups.values()]
    hidden = len(lines) - MAXIMUM_LINES
    if hidden > 0:
        lines = [*lines[:MAXIMUM_LINES], f"... and {hidden} more."]
    return kind(_message(refusals), notes=tuple(lines), remedy=_remedy(refusals))


def _message(refusals: Sequence[Refusal]) -> str:
    kinds = ", ".join(sorted({each.operator for each in refusals if each.operator}))
    if all(each.cause == NO_TRANSLATION for each in refusals):
        count = len({each.operator for each in refusals})
        return f"The model uses {count} operator(s) that are not supported: {kinds}."
    nodes = sum(bool(each.operator) for each in refusals)
    values = sum(bool(each.name and not each.operator) for each in refusals)
    parts = [f"{nodes} node(s) ({kinds})"] if nodes else []
    parts += [f"{values} input(s) or weight(s)"] if values else []
    return f"The model has {' and '.join(parts)} that cannot be imported."


def _line(group: Sequence[Refusal]) -> str:
    first = group[0]
    if not first.operator:
        return first.cause
    names = ", ".join(repr(each.name) for each in group[:_NAMES_SHOWN])
    more = ", ..." if len(group) > _NAMES_SHOWN else ""
    return f"{first.operator}: {len(group)} node(s): {names}{more}: {first.cause}"


def _remedy(refusals: Sequence[Refusal]) -> str:
    """Remedies, each once."""
    found = list(dict.fromkeys(each.remedy for each in refusals if each.remedy))
    return " ".join(
        text for text in found if not any(text in other for other in found if other != text)
    )


def missing_operator(domain: str) -> UnsupportedOperatorError:
    """The error of a node whose operator, of some domain, has no translation at all."""
    return UnsupportedOperatorError(NO_TRANSLATION, remedy=_DOMAIN_REMEDIES.get(domain))
