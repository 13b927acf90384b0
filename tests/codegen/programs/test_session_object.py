"""Functions of sessions are compiled once for all programs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay_tune.building import programs
from relay_tune.building.build import build
from relay_tune.building.program_form import program_module
from relay_tune.building.programs import compile_program
from relay_tune.codegen.known_objects import KnownObjects
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.session_object import (
    object_functions,
    plain_functions,
    session_object,
)
from relay_tune.codegen.target import native_target
from relay_tune.frontend.relay_text import parse
from relay_tune.runtime.native_session import load_functions
from relay_tune.typing.infer import infer_types

NETWORK = "def @main(%x: Tensor[(3, 2), float32]) { nn.softmax(%x) }"
CALLS = """
def @f(%n: int32) -> int32 { if (%n < 1) { 0 } else { %n + @f(%n - 1) } }
def @main(%n: int32) { @f(%n) }
"""
TENSORS = "def @main(%b: bool, %x: Tensor[(2), float32]) { if (%b) { exp(%x) } else { %x } }"
LISTS = """
type List[A] { Cons(A, List[A]), Nil }
def @main(%x: int32) { Cons(%x, Nil) }
"""


def compiled(text: str) -> CompiledFunctions:
    module = program_module(infer_types(parse(f'#[version = "0.0.5"]{text}')))
    return compile_program(module, native_target(), 1, None, lambda line: None)


def test_the_code_of_sessions_is_the_same_for_all_programs() -> None:
    tensors, lists = compiled(TENSORS), compiled(LISTS)
    sessions = session_object(native_target())
    assert tensors.objects[-1] is sessions and lists.objects[-2] is sessions
    assert lists.objects[-1] is object_functions(native_target())


@pytest.mark.parametrize(("text", "is_plain"), [(NETWORK, True), (CALLS, False), (LISTS, False)])
def test_plain_programs_share_the_code_of_stack_queue_and_counts(text: str, is_plain: bool) -> None:
    shared = plain_functions(native_target())
    assert [each is shared for each in compiled(text).objects].count(True) == is_plain


@pytest.mark.parametrize(
    ("text", "used"),
    [
        (NETWORK, "compile_inlined"),
        (CALLS, "compile_optimized"),
        (LISTS, "compile_optimized"),
    ],
)
def test_plain_programs_and_jobs_are_compiled_quickly(
    monkeypatch: pytest.MonkeyPatch, text: str, used: str
) -> None:
    run: list[str] = []

    def noted(name: str) -> Callable[..., bytes]:
        compile_ = getattr(programs, name)
        return lambda *arguments: run.append(name) or compile_(*arguments)

    monkeypatch.setattr(programs, "PROGRAMS", KnownObjects(0))
    for name in ("compile_calls", "compile_inlined", "compile_optimized"):
        monkeypatch.setattr(programs, name, noted(name))
    compiled(text)
    assert run == [used, "compile_calls"]


def test_plain_programs_and_others_run_beside_each_other() -> None:
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    network, calls = (build(parse(text), threads=1) for text in (NETWORK, CALLS))
    for _ in range(2):
        np.testing.assert_allclose(np.sum(network(x), axis=1), 1, rtol=1e-6)
        assert calls(np.int32(4)) == 10


def test_values_are_made_and_read_where_some_are_passed() -> None:
    assert load_functions(compiled(TENSORS)).values is None
    assert load_functions(compiled(LISTS)).values is not None
