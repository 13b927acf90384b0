"""Whether each pass keeps what a program computes, by the interpreter on random inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import numpy as np

from relay_tune.errors import RelayError
from relay_tune.ir.module import Module
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.interpreter.values import ConstructorValue, ReferenceCell, Value
from relay_tune.runtime.measuring.compare_outputs import difference
from relay_tune.transform.verification import Fault, broken
from relay_tune.zoo import example_inputs


@dataclass(frozen=True)
class SameAnswers:
    """Raises BuildError after a pass that has changed the answer at random inputs.

    InputError where an input is no tensor of known size. Functions in answers are not compared.
    """

    known: dict[Module, Value] = field(default_factory=dict)
    inputs: list[object] = field(default_factory=list)

    def after_pass(self, name: str, before: Module, after: Module, seconds: float) -> None:
        """Raise BuildError with the name of the pass and the first difference."""
        if not self.inputs:
            self.inputs.extend(example_inputs(before).values())
        expected = self.known.pop(before, None)
        if expected is None:
            expected = self._answer(before)
        try:
            found = self._answer(after)
        except RelayError as error:
            fault = Fault(f"it no longer runs: {error.message}", error.where, error.notes)
            raise broken(name, before, after, fault) from error
        apart = next(_differences(found, expected), None)
        if apart is not None:
            notes = ("The interpreter ran it on random inputs before and after.",)
            raise broken(name, before, after, Fault(f"the answer differs, {apart}.", None, notes))
        self.known[after] = expected

    def _answer(self, module: Module) -> Value:
        with np.errstate(all="ignore"):  # random numbers reach poles
            return interpret(module, *self.inputs)


def _differences(found: Value, expected: Value) -> Iterator[str]:
    match found, expected:
        case np.ndarray(), np.ndarray():
            apart = difference(found, expected)
            if apart is not None:
                yield apart
        case tuple(), tuple():
            for own, other in zip(found, expected, strict=True):
                yield from _differences(own, other)
        case ConstructorValue(), ConstructorValue():
            if found.constructor.name != expected.constructor.name:
                yield f"{found.constructor.name} in place of {expected.constructor.name}"
            else:
                yield from _differences(found.fields, expected.fields)
        case ReferenceCell(), ReferenceCell():
            yield from _differences(found.value, expected.value)
