"""Deliberately wrong passes are caught, each with its name and the first place that is wrong."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from relay_tune.errors import BuildError
from relay_tune.ir.expr import Call, Expr, Function, Let, RefCreate, RefRead, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import children, rebuild
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.typed import call
from relay_tune.transform.module_pass import map_functions, with_body
from relay_tune.transform.pipeline import Pipeline
from relay_tune.transform.verification import Verification


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs are written to the folder of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


PROGRAM = "(%x: Tensor[(2, 3), float32]) { let %y = exp(%x); let %z = tanh(%y); add(%y, %z) }"


@dataclass(frozen=True)
class Wrong:
    """A pass that does something to the body of a function."""

    change: Callable[[Expr], Expr]
    name: ClassVar[str] = "wrong"

    def __call__(self, module: Module) -> Module:
        return map_functions(module, lambda each: with_body(each, self.change(each.body)))


def _let(body: Expr) -> Let:
    assert isinstance(body, Let)
    return body


def _forgets_a_binding(body: Expr) -> Expr:
    return _let(body).body


def _uses_before_it_binds(body: Expr) -> Expr:
    first = _let(body)
    second = _let(first.body)
    return replace(second, body=replace(first, body=second.body))


def _binds_twice(body: Expr) -> Expr:
    first = _let(body)
    return replace(first, body=first)


def _claims_a_type(body: Expr) -> Expr:
    first = _let(body)
    return replace(first, value=replace(first.value, type=TensorType((3, 2), "float32")))


def _changes_the_result(body: Expr) -> Expr:
    return call("cast", body, dtype="float64")


def _calls_nonsense(body: Expr) -> Expr:
    first = _let(body)
    assert isinstance(first.value, Call)
    value = replace(first.value, arguments=first.value.arguments * 2)
    return replace(first, value=value)


def _kernel(body: Expr, inside: Callable[[Expr], Expr]) -> Expr:
    first = _let(body)
    param = Var("p", TensorType((2, 3), "float32"))
    kernel = Function((param,), inside(first.value), attributes={"Primitive": 1})
    return replace(first, value=Call(kernel, children(first.value)[1:]))


def _leaves_a_kernel_open(body: Expr) -> Expr:
    return _kernel(body, lambda value: value)


def _has_an_effect_in_a_kernel(body: Expr) -> Expr:
    return _kernel(body, lambda value: RefRead(RefCreate(rebuild(value, children(value)))))


FAULTS = [
    (_forgets_a_binding, "The variable %y is used where it is not bound"),
    (_uses_before_it_binds, "The variable %y is used where it is not bound"),
    (_binds_twice, "The variable %y is bound twice"),
    (_claims_a_type, "The call of exp is said to have another type than it has"),
    (_changes_the_result, "The type of @main is another one"),
    (_calls_nonsense, "exp"),
    (_leaves_a_kernel_open, "A kernel uses %x, which is no parameter of it"),
    (_has_an_effect_in_a_kernel, "A kernel"),
]


@pytest.mark.parametrize(
    ("change", "message"), FAULTS, ids=lambda value: getattr(value, "__name__", "")
)
def test_wrong_pass(change: Callable[[Expr], Expr], message: str, typed: Any) -> None:
    module = typed(PROGRAM)
    pipeline = Pipeline((Wrong(change),), (Verification(),))
    with pytest.raises(BuildError, match="Pass wrong has broken the program: ") as caught:
        pipeline(module)
    assert message in caught.value.message
    assert caught.value.where is not None
    found = re.search(r"The program is in (\S+): before.relay", caught.value.notes[-1])
    assert found is not None
    folder = Path(found[1])
    assert "tanh" in (folder / "before.relay").read_text()
    assert (folder / "after.relay").read_text() != (folder / "before.relay").read_text()


def test_a_lost_function(typed: Any) -> None:
    module = typed(PROGRAM)

    @dataclass(frozen=True)
    class Loses:
        name: ClassVar[str] = "loses"

        def __call__(self, module: Module) -> Module:
            return replace(module, functions={})

    with pytest.raises(BuildError, match="Pass loses has broken .* The function @main is gone"):
        Pipeline((Loses(),), (Verification(),))(module)
