import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import relay_tune.op  # noqa: F401
from relay_tune.building.build import build
from relay_tune.errors import InputError
from relay_tune.ir.expr import Function, Tuple, Var
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.runtime.direct import python_memory
from relay_tune.runtime.direct.call import DirectCall
from relay_tune.runtime.direct.python_memory import can_call_directly
from relay_tune.runtime.model import Model

pytestmark = pytest.mark.skipif(not can_call_directly(), reason="needs CPython's objects")


def added(threads: int = 1) -> Model:
    """a + b and a * b for matrices 4 x 6."""
    a, b = Var("a", TensorType((4, 6), "float32")), Var("b", TensorType((4, 6), "float32"))
    add, multiply = find_operator("add"), find_operator("multiply")
    assert add is not None and multiply is not None
    body = Tuple((add(a, b), multiply(a, b)))
    return build(Module.from_function(Function((a, b), body)), threads=threads)


@pytest.fixture(scope="module")
def model() -> Model:
    built = added()
    built(*matrices())
    return built


@pytest.fixture
def call(model: Model) -> DirectCall:
    assert isinstance(model._direct, DirectCall)
    return model._direct


def matrices() -> tuple[np.ndarray, np.ndarray]:
    numbers = np.random.default_rng(2).standard_normal((2, 4, 6)).astype("float32")
    return numbers[0].copy(), numbers[1].copy()


def test_the_outputs_are_new_and_right(call: DirectCall) -> None:
    a, b = matrices()
    first = call((a, b), 1)
    second = call((b, b), 1)
    assert first is not None and second is not None
    np.testing.assert_array_equal(first[0], a + b)
    np.testing.assert_array_equal(first[1], a * b)
    np.testing.assert_array_equal(second[0], b + b)


def test_names_may_come_in_any_order(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    assert model._general is not None
    monkeypatch.setattr(model._general.calls, "_free", None)  # would raise
    a, b = matrices()
    outputs = model.run({"b": b, "a": a})
    np.testing.assert_array_equal(outputs[0], a + b)


def test_what_cannot_be_written_can_be_read(call: DirectCall) -> None:
    a, b = matrices()
    a.flags.writeable = False
    outputs = call((a, b), 1)
    assert outputs is not None
    np.testing.assert_array_equal(outputs[0], a + b)


def test_arrays_that_were_pickled(call: DirectCall) -> None:
    """They have an element type of their own."""
    a, b = (pickle.loads(pickle.dumps(each)) for each in matrices())
    assert a.dtype is not np.dtype("float32")
    outputs = call((a, b), 1)
    assert outputs is not None
    np.testing.assert_array_equal(outputs[0], a + b)


@pytest.mark.parametrize(
    "other",
    [
        [[1.0] * 6] * 4,
        np.ones((6, 4), np.float32).T,
        np.ones((4, 12), np.float32)[:, ::2],
        np.ones((6, 4), np.float32),
        np.ones((4, 6, 1), np.float32),
        np.ones((4, 6), np.float64),
        np.ones((4, 6), ">f4"),
        np.ones((4, 6), np.int32),
        pickle.loads(pickle.dumps(np.ones((4, 6), np.int32))),
        np.float32(1),
        np.frombuffer(bytes(1 + 4 * 24), np.uint8)[1:].view("float32").reshape(4, 6),
        np.ma.ones((4, 6), np.float32),
        None,
    ],
    ids=str,
)
def test_what_does_not_fit_exactly_is_refused(call: DirectCall, other: object) -> None:
    a, _ = matrices()
    assert call((a, other), 1) is None
    assert call((other, a), 1) is None


def test_a_wrong_number_of_inputs_is_refused(call: DirectCall) -> None:
    a, b = matrices()
    assert call((), 1) is None
    assert call((a,), 1) is None
    assert call((a, b, a), 1) is None


def test_an_array_that_was_reshaped_in_place_is_refused(call: DirectCall) -> None:
    a, b = matrices()
    assert call((a, b), 1) is not None
    b.resize((6, 4), refcheck=False)
    assert call((a, b), 1) is None


def test_the_long_way_takes_what_is_refused(model: Model) -> None:
    a, b = matrices()
    for other in (b.tolist(), np.asfortranarray(b)):
        outputs = model(a, np.asarray(other, np.float32, order="K"))
        np.testing.assert_array_equal(outputs[0], a + b)
    with pytest.raises(InputError, match="'b' must be"):
        model(a, b[:2])
    with pytest.raises(InputError, match="'b' must be"):
        model.run({"a": a, "b": b.astype("float64")})


def test_no_reference_is_kept_or_lost(call: DirectCall) -> None:
    a, b = matrices()
    counted = (a, b, a.dtype, np.ndarray)
    before = [sys.getrefcount(thing) for thing in counted]
    for _ in range(1000):
        call((a, b), 1)
        call((a, None), 1)
    after = [sys.getrefcount(thing) for thing in counted]
    assert all(abs(now - then) < 100 for now, then in zip(after, before, strict=True))


def test_calls_from_several_threads(model: Model) -> None:
    def total(number: int) -> bool:
        a = np.full((4, 6), number, np.float32)
        outputs = model(a, a)
        return bool((outputs[0] == 2 * number).all() and (outputs[1] == number**2).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(total, range(400)))


def test_python_goes_on_while_native_code_runs() -> None:
    rows = 700
    a = Var("a", TensorType((rows, rows), "float32"))
    dense = find_operator("nn.dense")
    assert dense is not None
    product = a
    for _ in range(4):
        product = dense(product, a)
    model = build(Module.from_function(Function((a,), product)), threads=1)
    array = np.zeros((rows, rows), np.float32)
    model(array)
    steps, done = 0, threading.Event()

    def run() -> None:
        for _ in range(5):
            model(array)
        done.set()

    worker = threading.Thread(target=run)
    worker.start()
    while not done.is_set():
        steps += 1
    worker.join()
    assert steps > 100


def test_the_number_of_threads_may_change() -> None:
    a, b = matrices()
    model = added(threads=2)
    for threads in (2, 1, 3):
        model.threads = threads
        np.testing.assert_array_equal(model(a, b)[0], a + b)
        np.testing.assert_array_equal(model.run({"a": a, "b": b}, threads=2)[1], a * b)


def test_without_known_objects_there_is_no_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_memory, "DTYPE", python_memory.SIZES)
    assert not can_call_directly()
    model = added()
    a, b = matrices()
    np.testing.assert_array_equal(model(a, b)[0], a + b)
    assert model._direct is None
