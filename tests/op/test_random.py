"""Random numbers are functions of a counter and a key, the same in every path."""

import math

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.ir.operator import find_operator
from relay_tune.op.random import philox

FLOATS = ["float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        (0, 0, (0xFF1DAE59, 0x6CD10DF2)),
        (2**64 - 1, 2**32 - 1, (0x2C3F628B, 0xAB4FD7AD)),
        (0x85A308D3_243F6A88, 0x13198A2E, (0xDD7CE038, 0xF62A4C12)),
    ],
)
def test_the_published_vectors_of_philox(counter, key, words):
    found = philox(np.array(counter, np.uint64), np.array(key, np.uint64))
    assert tuple(map(int, found)) == words


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["random.uniform", "random.normal"])
def test_compiled_code_draws_what_the_reference_draws(check_record, name, dtype):
    counter = np.arange(200, dtype="int64").reshape(10, 20) + 2**33
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-5)
    drawn = check_record(
        find_operator(name), [counter, np.array(2**40 + 3)], {"dtype": dtype}, tolerance
    )
    assert len(np.unique(drawn)) > 40


def test_streams_and_keys_differ(check_record):
    counter = np.arange(64, dtype="int32")
    keys = np.array([[0], [1], [1 << 32], [-1]], "int64")
    drawn = check_record(find_operator("random.uniform"), [counter, keys])
    assert len(np.unique(drawn)) == 4 * 64


def distance(samples, cumulative):
    """The statistic of Kolmogorov and Smirnov, times the root of the number of samples."""
    expected, count = cumulative(np.sort(samples)), len(samples)
    steps = np.arange(count + 1) / count
    apart = max(np.abs(expected - steps[:-1]).max(), np.abs(expected - steps[1:]).max())
    return apart * math.sqrt(count)


def below(value):
    """The normal distribution, cumulated."""
    return 0.5 * (1 + np.vectorize(math.erf)(value / math.sqrt(2)))


def drawn_natively(name, count, key, threads=1):
    text = f"""
    def @main(%key: int64) {{ {name}(arange(stop={count}, dtype="int64"), %key) }}
    """
    return rt.build(rt.parse(text), threads=threads)(key)


@pytest.mark.parametrize("key", [0, 7])
def test_uniform_numbers_are_uniform(key):
    drawn = drawn_natively("random.uniform", 20_000, key).astype("float64")
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert abs(drawn.mean() - 0.5) < 0.01
    assert abs(drawn.var() - 1 / 12) < 0.003
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.03
    assert distance(drawn, lambda x: x) < 1.95  # one in a thousand is farther


@pytest.mark.parametrize("key", [0, 7])
def test_normal_numbers_are_normal(key):
    drawn = drawn_natively("random.normal", 20_000, key).astype("float64")
    assert abs(drawn.mean()) < 0.03
    assert abs(drawn.var() - 1) < 0.04
    assert abs((drawn**4).mean() - 3) < 0.25
    assert distance(drawn, below) < 1.95


@pytest.mark.parametrize("name", ["random.uniform", "random.normal"])
def test_the_number_of_threads_changes_no_bit(name):
    one, two = (drawn_natively(name, 5_000, 11, threads) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_open_sizes_and_programs_draw_the_same():
    text = """
    def @main(%counter: Tensor[(n), int64], %rounds: int32) {
      if (%rounds < 1) { random.normal(%counter, 5i64) } else { random.uniform(%counter, 5i64) }
    }
    """
    model = rt.build(rt.parse(text))
    counter = np.arange(37)
    for rounds, name in ((0, "random.normal"), (1, "random.uniform")):
        fixed = rt.build(rt.parse(f"def @main(%c: Tensor[(37), int64]) {{ {name}(%c, 5i64) }}"))(
            counter
        )
        np.testing.assert_array_equal(model(counter, rounds), fixed)


def test_numbers_that_are_no_integers_are_refused():
    with pytest.raises(rt.RelayError, match="counter and key are integers"):
        rt.infer_types(rt.parse("def @main(%x: Tensor[(2), float32]) { random.normal(%x, 1i64) }"))
