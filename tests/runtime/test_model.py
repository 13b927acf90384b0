from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import relay_tune.op  # noqa: F401
from relay_tune.building.build import build
from relay_tune.errors import InputError
from relay_tune.ir.expr import Function, Tuple, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.runtime.machine_limits import CacheLimit, MachineLimits
from relay_tune.runtime.model import Model

WEIGHT = np.random.default_rng(3).standard_normal((5, 8)).astype("float32")


@pytest.fixture(scope="module")
def model() -> Model:
    """dense(a) and dense(a) + b."""
    a, b = Var("a", TensorType((4, 8), "float32")), Var("b", TensorType((4, 5), "float32"))
    dense, add = find_operator("nn.dense"), find_operator("add")
    assert dense is not None and add is not None
    product = dense(a, constant(WEIGHT))
    return build(
        Module.from_function(Function((a, b), Tuple((product, add(product, b))))), threads=1
    )


def arrays() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.standard_normal((4, 8)).astype("f"), rng.standard_normal((4, 5)).astype("f")


def assert_right(outputs: object, a: np.ndarray, b: np.ndarray) -> None:
    assert isinstance(outputs, tuple | list)
    np.testing.assert_allclose(outputs[0], a @ WEIGHT.T, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(outputs[1], a @ WEIGHT.T + b, rtol=1e-5, atol=1e-5)


LIMITS = MachineLimits(1, {"float32": 1e9}, (CacheLimit(1e6, 1e9),), 1e9)


def test_positional_by_name_and_by_mapping(model: Model) -> None:
    a, b = arrays()
    assert_right(model(a, b), a, b)
    assert_right(model(a, b=b), a, b)
    assert_right(model.run({"b": b, "a": a}), a, b)


def test_every_method_takes_a_mapping(model: Model) -> None:
    a, b = arrays()
    feeds = {"b": b, "a": a}
    assert_right(model(feeds), a, b)
    assert model.profile(feeds, limits=LIMITS).rows
    assert model.trace(feeds, runs=1).events
    assert model.benchmark(feeds, repeat=1, warmup=0).repeat == 1
    assert model.repeat_seconds(feeds, runs=1) > 0
    with pytest.raises(InputError, match="No value was given for: a"):
        model.profile({"b": b})


def test_each_call_gives_new_arrays(model: Model) -> None:
    a, b = arrays()
    first = model(a, b)
    model(np.zeros_like(a), b)
    assert_right(first, a, b)


@pytest.mark.parametrize(
    "form",
    [
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: _Exchanged(x),
        lambda x: _unaligned(x),
    ],
    ids=["column-major", "strided", "dlpack", "unaligned"],
)
def test_inputs_in_other_forms(model: Model, form: Callable[[np.ndarray], object]) -> None:
    a, b = arrays()
    assert_right(model(form(a), b), a, b)


class _Exchanged:
    """An array of another library."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **options: object) -> object:
        return self._array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def _unaligned(x: np.ndarray) -> np.ndarray:
    memory = np.zeros(x.nbytes + 1, np.uint8)
    view = memory[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((np.ones((4, 8)), 0), r"Tensor\[\(.*float64"),
        ((np.ones((4, 7), "f"), 0), r"\(4, 8\).*\(4, 7\)"),
        ((np.ones(32, "f"), 0), r"Tensor\[\(32,?\), float32\]"),
        (("text", 0), "was given"),
        ((np.ones((4, 8), "f"),), "No value was given for: b"),
    ],
)
def test_wrong_inputs(model: Model, inputs: tuple[object, ...], message: str) -> None:
    _, b = arrays()
    given = tuple(b if isinstance(value, int) else value for value in inputs)
    with pytest.raises(InputError, match=message):
        model(*given)


def test_unknown_names(model: Model) -> None:
    a, b = arrays()
    with pytest.raises(InputError, match="no input 'c'"):
        model(a, b, c=b)


def test_calls_from_many_threads(model: Model) -> None:
    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(50):
            a, b = rng.standard_normal((4, 8)).astype("f"), rng.random((4, 5), "f")
            assert_right(model(a, b), a, b)

    with ThreadPoolExecutor(4) as pool:
        for finished in [pool.submit(work, seed) for seed in range(4)]:
            finished.result()


def test_threads_can_be_set(model: Model) -> None:
    a, b = arrays()
    model.threads = 2
    assert_right(model(a, b), a, b)
    assert_right(model.run({"a": a, "b": b}, threads=3), a, b)
    model.threads = 1
    with pytest.raises(InputError):
        model.threads = 0


def test_benchmark(model: Model) -> None:
    result = model.benchmark(*arrays(), repeat=4, warmup=1)
    assert result.repeat == 4
    assert 0 < result.minimum <= result.median <= result.maximum
    assert "4 calls" in str(result)
    with pytest.raises(InputError):
        model.benchmark(*arrays(), repeat=0)


def test_profile(model: Model) -> None:
    report = model.profile(*arrays())
    assert abs(sum(row.share for row in report.rows) - 1) < 1e-6
    dense = next(row for row in report.rows if "dense" in row.title)
    assert dense.work.written >= 2 * 4 * 5 * 8
    assert all(row.title in str(report) for row in report.rows)


@pytest.mark.parametrize("threads", [1, 2])
def test_repeated_runs_are_timed_and_change_nothing(model: Model, threads: int) -> None:
    a, b = arrays()
    first = model(a, b)
    once, often = (
        model.repeat_seconds(a, b, runs=runs, threads=threads) * runs for runs in (1, 20_000)
    )
    assert 0 < once < often
    assert_right(first, a, b)
    assert_right(model(a, b), a, b)
