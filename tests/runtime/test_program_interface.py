"""Programs with control flow offer what networks offer: `threads=`, `out=`, lists of outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relay_tune as rt

BRANCH = """
def @main(%n: int32, %x: Tensor[(64, 64), float32]) {
  if (greater(%n, 0)) { (exp(%x), %n) } else { (negative(%x), %n) }
}
"""
ONE = (
    "def @main(%n: int32, %x: Tensor[(4), float32]) { if (greater(%n, 0)) { %x } else { abs(%x) } }"
)
LISTS = """
type List[A] { Cons(A, List[A]), Nil, }
def @main(%x: float32) -> List[float32] { Cons(%x, Nil) }
"""
X = np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64)


@pytest.fixture(scope="module", params=["built", "loaded"])
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> rt.Executable:
    model = rt.build(rt.parse(BRANCH), threads=2)
    if request.param == "built":
        return model
    path = tmp_path_factory.mktemp("library") / "branch.so"
    model.export(path)
    return rt.load(path)


def test_a_run_gives_a_list(program: rt.Executable) -> None:
    outputs = program.run({"x": X, "n": -1})
    assert isinstance(outputs, list)
    np.testing.assert_array_equal(outputs[0], -X)
    assert int(outputs[1]) == -1
    assert isinstance(program(-1, X), tuple)
    one = rt.build(rt.parse(ONE))
    (only,) = one.run({"n": 1, "x": X[0, :4]})
    np.testing.assert_array_equal(only, X[0, :4])
    np.testing.assert_array_equal(one(1, X[0, :4]), X[0, :4])


def test_threads_are_those_of_the_call(program: rt.Executable) -> None:
    assert program.threads == 2
    for threads in (1, 3, None):
        value, n = program(2, X, threads=threads)
        np.testing.assert_allclose(value, np.exp(X), rtol=1e-6)
        assert int(n) == 2
    assert program.run({"x": X, "n": 0}, threads=1)[1] == 0
    with pytest.raises(rt.InputError, match="threads is 0"):
        program(2, X, threads=0)
    assert program.benchmark(2, X, threads=1, repeat=2, warmup=0).median > 0


def test_results_go_into_given_arrays(program: rt.Executable) -> None:
    room = np.zeros_like(X), np.zeros((), np.int32)
    found = program(-3, x=X, out=room)
    assert found[0] is room[0]
    np.testing.assert_array_equal(room[0], -X)
    assert int(room[1]) == -3
    assert program.run(None, {"n": 5, "x": X}, out=list(room))[1] is room[1]
    assert int(room[1]) == 5
    with pytest.raises(rt.InputError, match="'output0' must be"):
        program(1, X, out=(room[0][:3], room[1]))


def test_inputs_in_another_order_keep_their_names(program: rt.Executable) -> None:
    named: dict[str, object] = {"x": X}
    np.testing.assert_array_equal(program(-1, **named)[0], -X)
    with pytest.raises(rt.InputError, match="No value was given for: n"):
        program(x=X)


def test_values_that_are_no_tensors_have_no_array() -> None:
    program = rt.build(rt.parse(LISTS))
    (value,) = program.run({"x": 2.0})
    assert [float(item) for item in rt.list_items(value)] == [2.0]
    with pytest.raises(rt.InputError, match="which no array can hold"):
        program(2.0, out=np.zeros(1))


def test_an_input_called_out_takes_the_keyword() -> None:
    text = "def @main(%out: Tensor[(2), float32]) { if (True) { abs(%out) } else { %out } }"
    np.testing.assert_array_equal(rt.build(rt.parse(text))(out=-np.ones(2, np.float32)), [1, 1])


def test_a_library_with_a_program_is_an_executable(tmp_path: Path) -> None:
    model = rt.build(rt.parse("def @main(%x: Tensor[(2), float32]) { abs(%x) }"))
    model.export(tmp_path / "m.so")
    for each in (model, rt.load(tmp_path / "m.so"), rt.build(rt.parse(ONE))):
        assert isinstance(each, rt.Executable)
