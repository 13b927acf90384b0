import ctypes
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.interpreter.interpret import interpret
from tests.codegen.programs.plain_library import PlainLibrary

PROGRAM = """
type Found { One(float32), None, }
def @scaled(%n: int32, %x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  if (%n < 1) { %x } else { @scaled(%n - 1, %x) * 2f }
}
def @main(%p: (Tensor[(2, 3), float32], (float32, int64)), %n: int32, %t: Tensor[(5), float32]) {
  let %found = if (%n < 100) { One(%p.1.0) } else { None };
  let %one = match? (%found) { One(%y) => %y, };
  ((@scaled(%n, %p.0), %one), take(%t, %p.1.1, mode="raise"))
}
"""
SUCCESS, NO_MEMORY, WRONG_PROCESSOR, TOO_DEEP, INDEX_OUT_OF_RANGE, REFUSED = range(6)

X = np.arange(6, dtype="float32").reshape(2, 3)
TABLE = np.arange(5, dtype="float32") + 10


def inputs(n: int, index: int = 3) -> list[np.ndarray]:
    return [X, np.array(7.5, np.float32), np.array(index), np.array(n, np.int32), TABLE]


def results() -> list[np.ndarray]:
    return [np.full((2, 3), -1, "float32"), np.zeros((), "float32"), np.zeros((), "float32")]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> PlainLibrary:
    return PlainLibrary(PROGRAM, tmp_path_factory.mktemp("plain") / "plain.so")


def test_tensors_of_tuples_are_inputs_and_outputs(library: PlainLibrary) -> None:
    assert library.described("input") == [
        ("p.0", "float32", [2, 3], 24),
        ("p.1.0", "float32", [], 4),
        ("p.1.1", "int64", [], 8),
        ("n", "int32", [], 4),
        ("t", "float32", [5], 20),
    ]
    assert library.described("output") == [
        ("output0.0", "float32", [2, 3], 24),
        ("output0.1", "float32", [], 4),
        ("output1", "float32", [], 4),
    ]
    assert library.call("input_name", 5, result=ctypes.c_void_p) is None
    assert library.number("output_bytes", -1) == -1


def test_a_run_without_a_session(library: PlainLibrary) -> None:
    outputs = results()
    for n in (0, 3):
        assert library.run(inputs(n), outputs) == SUCCESS
        given = (X, (np.float32(7.5), np.int64(3))), n, TABLE
        (scaled, one), row = interpret(parse(PROGRAM), *given)
        for found, expected in zip(outputs, (scaled, one, row), strict=True):
            np.testing.assert_array_equal(found, expected)
    library.call("destroy", result=None)
    assert library.run(inputs(2), outputs, threads=2) == SUCCESS
    np.testing.assert_array_equal(outputs[0], 4 * X)


def test_what_a_run_says_of_errors(library: PlainLibrary) -> None:
    outputs = results()
    assert library.run(inputs(1, index=-6), outputs) == INDEX_OUT_OF_RANGE
    assert "index of take at f.relay" in library.text("message", INDEX_OUT_OF_RANGE)
    assert library.number("failed_index", None) == -6
    assert library.number("failed_size", None) == 5
    assert library.run(inputs(100), outputs) == REFUSED
    assert "No clause of the match" in library.text("message", REFUSED)
    assert library.run(inputs(-1), outputs) == SUCCESS
    np.testing.assert_array_equal(outputs[0], X)
    assert library.number("failed_index", None) == -6
    assert library.text("message", SUCCESS) == "There was no error."
    assert library.call("message", 99, result=ctypes.c_void_p) is None


def test_runs_may_overlap(library: PlainLibrary) -> None:
    def run_often(n: int) -> bool:
        outputs = results()
        for _ in range(50):
            assert library.run(inputs(n), outputs) == SUCCESS
            if not np.array_equal(outputs[0], X * np.float32(2) ** n):
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run_often, [1, 2, 3, 40]))


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_header_declares_runs_and_sessions(library: PlainLibrary) -> None:
    names = ("run(const void* const* inputs", "open(", "main(", "failed_index(const plain_session*")
    assert all(f"plain_{name}" in library.header for name in names)
    assert "plain_input_count(void)" in library.header
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c", "-"]
    subprocess.run(["cc", *flags], input=library.header, text=True, check=True)


NETWORK = """
def @main(%t: Tensor[(5, 2), float32], %i: Tensor[(3), int64]) {
  nn.relu(take(%t, %i, axis=0, mode="raise"))
}
"""


def test_the_header_of_a_network_has_runs_alone(tmp_path: Path) -> None:
    network = PlainLibrary(NETWORK, tmp_path / "net.so")
    assert "session" not in network.header
    assert "int64_t net_failed_index(void);" in network.header
    assert "REFUSED" not in network.header and "TOO_DEEP" not in network.header
    table, found = np.arange(10, dtype="float32").reshape(5, 2), np.zeros((3, 2), "float32")
    assert network.run([table, np.array([4, -5, 0])], [found]) == SUCCESS
    np.testing.assert_array_equal(found, table[[4, 0, 0]])
    assert network.run([table, np.array([4, 5, 0])], [found]) == INDEX_OUT_OF_RANGE
    assert network.number("failed_index") == 5 and network.number("failed_size") == 5
