"""Large results, whose memory a session hands over to their arrays."""

import gc
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.codegen.programs.memory_regions import LARGEST_COPIED
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.data_values import list_items
from relay_tune.runtime.direct.python_memory import can_call_directly
from relay_tune.runtime.load import load
from relay_tune.runtime.model import Model
from tests.resident_memory import resident_bytes
from tests.runtime.direct.values import direct_call_of, listed

pytestmark = pytest.mark.skipif(not can_call_directly(), reason="needs CPython's objects")

NETWORK = "def @main(%x: Tensor[(?, 1024), float32]) { (%x * 2f, exp(%x)) }"
TREES = """
def @main(%z: Tensor[(?, 1024), float32], %y: List[int32]) {
  let %one = %z * 2f;
  let %two = exp(%z);
  (Cons(%one, Cons(%one + %z, Nil)), %one, %two, %two, %z * 3f, %y)
}
"""
CELLS = """
def @main(%x: Tensor[(?, 1024), float32], %y: List[int32]) {
  let %cell = ref(%x * 2f);
  ref_write(%cell, ref_read(%cell) + %x);
  (ref_read(%cell), exp(%x), %y)
}
"""


def matrix(rows: int, first: float = 0) -> np.ndarray:
    return np.linspace(first, first + 1, 1024 * rows, dtype=np.float32).reshape(rows, 1024)


def new_network() -> Model:
    """A network that was called once, so that its session is there."""
    model = build(parse(NETWORK), threads=1)
    assert isinstance(model, Model)
    model(matrix(1))
    return model


@pytest.fixture(scope="module")
def network() -> Model:
    return new_network()


def assert_right(found: tuple[np.ndarray, ...], x: np.ndarray) -> None:
    np.testing.assert_array_equal(found[0], x + x)
    np.testing.assert_allclose(found[1], np.exp(x), rtol=1e-5)


def test_only_large_results_keep_their_memory(network: Model) -> None:
    rows_copied = LARGEST_COPIED // 4096
    for rows in (0, 1, rows_copied - 1, rows_copied, rows_copied + 1, 40):
        x = matrix(rows)
        for result in network(x):
            assert result.flags.owndata == (rows < rows_copied)  # an object has a header, too
            assert result.flags.writeable and result.flags.aligned
            assert result.flags.c_contiguous and result.dtype is x.dtype and result.shape == x.shape
        assert_right(network(x), x)


def test_flags_of_one_axis_are_those_of_other_arrays() -> None:
    model = build(parse("def @main(%x: Tensor[(?), float32]) { %x * 2f }"), threads=1)
    for _ in range(2):
        result = model(np.ones(20_000, "float32"))
    assert result.flags.f_contiguous and result.flags.c_contiguous and not result.flags.owndata


def test_arrays_that_are_kept_are_never_written_again(network: Model) -> None:
    inputs = [matrix(rows, first) for first, rows in enumerate((8, 16, 8, 5, 300, 8, 16))]
    kept = [network(x) for x in inputs]
    for x, found in zip(inputs, kept, strict=True):
        assert_right(found, x)
        for array in found:
            array[...] = 7
    assert_right(network(inputs[0]), inputs[0])


def test_arrays_outlive_their_session() -> None:
    model, x = new_network(), matrix(64)
    kept = [model(x) for _ in range(3)]
    part = kept[0][0][1:3]
    del model
    gc.collect()
    for found in kept:
        assert_right(found, x)
    del kept, found
    np.testing.assert_array_equal(part, 2 * x[1:3])


def test_what_is_shared_or_in_a_list() -> None:
    call = direct_call_of(TREES)
    for rows in (40, 1, 300):
        z = matrix(rows)
        kept = [call((z, listed()), 1) for _ in range(3)]
        for items, one, two, again, three, _ in kept:
            first, second = list_items(items)
            assert first is one and two is again
            np.testing.assert_array_equal(one, 2 * z)
            np.testing.assert_array_equal(second, 2 * z + z)
            np.testing.assert_allclose(two, np.exp(z), rtol=1e-5)
            np.testing.assert_array_equal(three, 3 * z)


def test_a_session_that_is_emptied_leaves_them_alone() -> None:
    call = direct_call_of(CELLS)
    x = matrix(40)
    kept = [call((x, listed()), 1) for _ in range(4)]
    for total, powers, _ in kept:
        np.testing.assert_array_equal(total, 2 * x + x)
        np.testing.assert_allclose(powers, np.exp(x), rtol=1e-5)


def test_a_library_hands_over_too(tmp_path: Path, network: Model) -> None:
    network.export(tmp_path / "network.so")
    library, x = load(tmp_path / "network.so"), matrix(40)
    kept = [library(x) for _ in range(3)]
    del library
    gc.collect()
    for found in kept:
        assert_right(found, x)
        assert not found[0].flags.owndata


def test_memory_is_given_back(network: Model) -> None:
    x = matrix(256)  # 1 MiB, and two results
    for _ in range(20):
        network(x)
    before = resident_bytes()
    for _ in range(300):
        network(x)
    assert resident_bytes() - before < 100 << 20


def test_arrays_may_go_in_any_thread(network: Model) -> None:
    inputs = [matrix(30 + number, number) for number in range(4)]
    wrong: list[int] = []

    def work(number: int) -> None:
        x = inputs[number]
        kept = [network(x) for _ in range(50)]
        if not all(np.array_equal(first, x + x) for first, _ in kept):
            wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_arrays_may_be_there_when_python_ends() -> None:
    script = f"""
import numpy as np, sys, relay_tune as rt
model = rt.build(rt.parse({NETWORK!r}), threads=1)
kept = [model(np.ones((64, 1024), "float32")) for _ in range(3)]
sys.kept_to_the_end = model(np.ones((64, 1024), "float32"))
assert not kept[-1][0].flags.owndata
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
