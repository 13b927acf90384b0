"""Caches that are donated: what is written, what is copied, and that no array changes."""

import shutil
import subprocess
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.errors import InputError
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.continuation import Continuation
from relay_tune.runtime.load import load
from relay_tune.runtime.model import Model
from relay_tune.runtime.row_memory import RowMemory

Array = np.ndarray

HEADS = """
def @main(%q: Tensor[(1, 3, 1, 8), float32], %past: Tensor[(1, 3, n, 8), float32]) {
  let %all = concatenate((%past, tanh(%q)), axis=2);
  (nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %all)), %all, transpose_b=False), %all)
}
"""
POSITIONS = """
def @main(%q: Tensor[(b, t, 3, 8), float32], %past: Tensor[(b, n, 3, 8), float32]) {
  let %all = concatenate((%past, %q, %q), axis=1);
  (sum(%all, axis=[1]), %all)
}
"""
PACKED = """
def @main(%q: Tensor[(1, 24), float32], %past: Tensor[(n, 24), float32]) {
  let %all = concatenate((%past, %q), axis=0);
  let %heads = reshape(%all, newshape=[-1, 3, 8]);
  (nn.softmax(nn.dense(%q, %all)), %all, nn.softmax(%heads, axis=0), sum(%heads, axis=[2]))
}
"""


@pytest.fixture(scope="module")
def heads() -> Model:
    model = build(parse(HEADS), threads=1)
    assert isinstance(model, Model)
    return model


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def attention(q: Array, past: Array) -> list[Array]:
    """What HEADS computes."""
    every = np.concatenate([past, np.tanh(q)], axis=2)
    scores = np.exp(q @ every.transpose(0, 1, 3, 2))
    return [scores / scores.sum(-1, keepdims=True) @ every, every]


def assert_close(found: list[Array], wanted: list[Array]) -> None:
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


def run(model: Model, q: Array, past: object, donate: object = ("past",)) -> list[Array]:
    return model.run({"q": q, "past": past}, donate=donate)


def test_a_donated_cache_grows_where_it_is(heads: Model) -> None:
    past = wanted = numbers(1, 3, 2, 8)
    addresses = []
    for step in range(70):
        q = numbers(1, 3, 1, 8, seed=step)
        found, expected = run(heads, q, past), attention(q, wanted)
        assert_close(found, expected)
        past, wanted = found[1], expected[1]
        addresses.append(past.ctypes.data)
    assert len(set(addresses)) == 2  # from 2 rows to 72, with room for 64 first


@pytest.fixture
def following(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether each call since followed one whose memory it could take at once."""
    found: list[bool] = []
    step = Continuation.step

    def noted(self: Continuation, inputs: list[Array]) -> object:
        made = step(self, inputs)
        found.append(made is not None)
        return made

    monkeypatch.setattr(Continuation, "step", noted)
    yield found


def test_a_step_behind_a_step_takes_its_memory_at_once(heads: Model, following: list[bool]) -> None:
    past = numbers(1, 3, 4, 8)
    queries = [numbers(1, 3, 1, 8, seed=seed) for seed in range(4)]
    for q in queries:
        past = run(heads, q, past, donate={"past": 7})[1]
    assert following == [True, True, False]  # the last one has no room
    _, past = run(heads, queries[0], past)  # asks for other room
    _, past = run(heads, queries[1], past)
    run(heads, queries[1], numbers(1, 3, 2, 8))
    wanted = attention(queries[2], past.copy())
    assert_close(run(heads, queries[2], past), wanted)  # behind a call of another sequence
    assert following == [True, True, False, True]


def test_what_does_not_fit_is_said_behind_a_step_too(heads: Model) -> None:
    q = numbers(1, 3, 1, 8)
    _, past = run(heads, q, numbers(1, 3, 4, 8))
    with pytest.raises(InputError, match="Input 'q' must be"):
        run(heads, numbers(1, 3, 1, 7), past)
    held = past.copy()
    assert_close(run(heads, q, past), attention(q, held))


def test_sequences_that_take_turns_keep_apart(heads: Model) -> None:
    q = numbers(1, 3, 1, 8)
    caches = wanted = [numbers(1, 3, rows, 8, seed=rows) for rows in (3, 5)]
    for _ in range(3):
        caches = [run(heads, q, past)[1] for past in caches]
        wanted = [attention(q, past)[1] for past in wanted]
        assert_close(caches, wanted)


def test_memory_that_nobody_has_is_let_go(heads: Model) -> None:
    _, past = run(heads, numbers(1, 3, 1, 8), numbers(1, 3, 4, 8))
    memory = weakref.ref(past.base)
    del past
    assert memory() is None
    past = numbers(1, 3, 4, 8)
    assert_close(run(heads, past[:, :, :1], past), attention(past[:, :, :1], past))


def test_inputs_whose_sizes_follow_from_the_cache_are_checked_behind_a_step() -> None:
    model = build(
        parse("""
        def @main(%past: Tensor[(n, 4), float32], %x: Tensor[(1, 4), float32],
                  %mask: Tensor[(n + 1), float32]) {
          let %all = concatenate((%past, %x), axis=0);
          (sum(%all * expand_dims(%mask, axis=1), axis=[0]), %all)
        }"""),
        threads=1,
    )
    past, x = numbers(3, 4), numbers(1, 4, seed=1)
    for rows in range(4, 8):
        mask, every = numbers(rows, seed=rows), np.concatenate([past, x])
        found = model.run({"past": past, "x": x, "mask": mask}, donate=("past",))
        assert_close(found, [mask @ every, every])
        past = found[1]
    with pytest.raises(InputError, match="Input 'mask' must be"):
        model.run({"past": past, "x": x, "mask": mask}, donate=("past",))


def test_rows_that_are_there_are_not_written(heads: Model) -> None:
    _, past = run(heads, numbers(1, 3, 1, 8), numbers(1, 3, 4, 8), donate={"past": 50})
    assert isinstance(past.base, RowMemory) and past.base.room == 50
    memory = past.base
    rows = memory[memory.start :][: 3 * 50 * 32].view("float32").reshape(3, 50, 8)
    rows[:, 5:] = np.nan
    before = rows.copy()
    _, later = run(heads, numbers(1, 3, 1, 8, seed=1), past)
    assert later.base is memory
    changed = (rows.view("int32") != before.view("int32")).any(axis=(0, 2))
    assert changed.nonzero()[0].tolist() == [5]


def test_what_is_not_donated_stays_and_so_do_earlier_results(heads: Model) -> None:
    first = numbers(1, 3, 4, 8)
    kept = first.copy()
    q, other = numbers(1, 3, 1, 8, seed=1), numbers(1, 3, 1, 8, seed=2)
    _, past = run(heads, q, first)
    np.testing.assert_array_equal(first, kept)
    assert not np.shares_memory(first, past)
    held = past.copy()
    plain = run(heads, other, past, donate=())
    assert_close(plain, attention(other, held))
    assert plain[1].flags.c_contiguous and not np.shares_memory(plain[1], past)
    branches = [run(heads, each, past) for each in (q, other, q)]
    for each, found in zip((q, other, q), branches, strict=True):
        assert_close(found, attention(each, held))
    np.testing.assert_array_equal(past, held)
    assert_close(run(heads, q, branches[0][1][:, :, :3]), attention(q, held[:, :, :3]))
    assert_close(branches[1], attention(other, held))


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(lambda x: np.asfortranarray(x), id="order"),
        pytest.param(lambda x: x[:, :, ::2], id="steps"),
        pytest.param(lambda x: x[:, :, :0], id="empty"),
        pytest.param(lambda x: np.frombuffer(x.tobytes(), "f4").reshape(x.shape), id="read-only"),
        pytest.param(
            lambda x: np.frombuffer(b"." + x.tobytes(), "u1")[1:].view("f4").reshape(x.shape),
            id="misaligned",
        ),
        pytest.param(lambda x: x.copy().view(RowMemory), id="class"),
    ],
)
def test_any_array_may_be_donated(heads: Model, given: object) -> None:
    assert callable(given)
    past = given(numbers(1, 3, 6, 8))
    q = numbers(1, 3, 1, 8, seed=1)
    assert_close(run(heads, q, past), attention(q, np.asarray(past)))


def test_one_array_may_be_donated_twice() -> None:
    model = build(
        parse("""
        def @main(%a: Tensor[(2, n), float32], %b: Tensor[(2, n), float32],
                  %x: Tensor[(2, 1), float32]) {
          (concatenate((%a, %x), axis=1), concatenate((%b, exp(%x)), axis=1))
        }"""),
        threads=1,
    )
    x, start = numbers(2, 1), numbers(2, 5)
    first, _ = model.run({"a": start, "b": start, "x": x}, donate=("a", "b"))
    wanted = first.copy()
    found = model.run({"a": first, "b": first, "x": x}, donate=("a", "b"))
    assert_close(found, [np.concatenate([wanted, y], axis=1) for y in (x, np.exp(x))])


def test_threads_that_donate_one_array_get_each_their_own(heads: Model) -> None:
    _, past = run(heads, numbers(1, 3, 1, 8), numbers(1, 3, 20, 8))
    held = past.copy()
    queries = [numbers(1, 3, 1, 8, seed=seed) for seed in range(40)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda q: run(heads, q, past), queries))
    assert sum(np.shares_memory(found[1], past) for found in results) == 1
    for q, found in zip(queries, results, strict=True):
        assert_close(found, attention(q, held))


def test_other_layouts_of_caches() -> None:
    model, packed = build(parse(POSITIONS), threads=1), build(parse(PACKED), threads=1)
    past, rows = numbers(2, 3, 3, 8), numbers(3, 24)
    wanted, all_rows = past, rows
    for step in range(40):
        q = numbers(2, 1, 3, 8, seed=step)
        total, past = model.run({"q": q, "past": past}, donate=("past",))
        wanted = np.concatenate([wanted, q, q], axis=1)
        assert_close([total, past], [wanted.sum(axis=1), wanted])
        row = q[:1].reshape(1, 24)
        shares, rows, *others = packed.run({"q": row, "past": rows}, donate=["past"])
        all_rows = np.concatenate([all_rows, row])
        scores = np.exp(row @ all_rows.T)
        assert_close([shares, rows], [scores / scores.sum(), all_rows])
        heads = all_rows.reshape(-1, 3, 8)
        parts = np.exp(heads)
        assert_close(others, [parts / parts.sum(axis=0), heads.sum(axis=2)])
    assert isinstance(past.base, RowMemory) and isinstance(rows.base, RowMemory)


def test_code_for_one_size_reads_caches_with_room_right() -> None:
    text = """def @main(%x: Tensor[(2, 1, 4), float32], %past: Tensor[(2, n, 4), float32]) {
        let %all = concatenate((%past, %x), axis=1);
        (nn.batch_matmul(%x, %all), %all) }"""
    model = build(parse(text), threads=1, shapes={"x": (2, 1, 4), "past": (2, 3, 4)})
    x, past = numbers(2, 1, 4), numbers(2, 2, 4)
    wanted = past
    for _ in range(3):
        found, past = model.run({"x": x, "past": past}, donate=("past",))
        wanted = np.concatenate([wanted, x], axis=1)
        assert_close([found, past], [x @ wanted.transpose(0, 2, 1), wanted])


def test_donating_without_use_changes_nothing(heads: Model) -> None:
    fixed = build(parse("def @main(%x: Tensor[(3), float32]) { %x + max(%x) }"), threads=1)
    x = numbers(3)
    kept = x.copy()
    assert_close(fixed.run({"x": x}, donate=("x",)), [x + x.max()])
    np.testing.assert_array_equal(x, kept)
    out = [np.empty((1, 3, 1, 8), "f4"), np.empty((1, 3, 5, 8), "f4")]
    q, past = numbers(1, 3, 1, 8), numbers(1, 3, 4, 8)
    heads.run({"q": q, "past": past}, out=out, donate=("past",))
    assert_close(out, attention(q, past))


@pytest.mark.parametrize("donate", ["past", 3, ("present",), {"past": -1}, {"past": 1.5}, (0,)])
def test_what_cannot_be_donated_is_refused(heads: Model, donate: object) -> None:
    with pytest.raises(InputError, match="donate|rows for"):
        run(heads, numbers(1, 3, 1, 8), numbers(1, 3, 4, 8), donate=donate)


C_PROGRAM = r"""
#include <stdio.h>
#include "cache.h"

int main(void) {
    float memory[2 * 4] = {1, 2, 0, 0, 3, 4, 0, 0}, row[2] = {5, 6};
    int64_t past[] = {2, 2}, one[] = {2, 1}, total[1], present[2], rooms[] = {0, 4};
    const void* inputs[] = {memory, row};
    const int64_t* input_shapes[] = {past, one};
    int64_t* output_shapes[] = {total, present};
    void* outputs[] = {NULL, memory};
    for (;;) {
        int error = cache_run_into(inputs, input_shapes, outputs, output_shapes, rooms, 1);
        if (error) { printf("%s\n", cache_message(error)); break; }
        if (outputs[1] != memory) return 1;
        cache_free(outputs[0]);
        past[1] = present[1];
        row[0] += 10;
    }
    for (int i = 0; i < 8; i++) printf("%g ", memory[i]);
    past[1] = 1;
    if (cache_run(inputs, input_shapes, outputs, output_shapes, 1)) return 1;
    printf("%d:", (int)present[1]);
    for (int i = 0; i < 4; i++) printf(" %g", ((const float*)outputs[1])[i]);
    cache_free(outputs[0]);
    cache_free(outputs[1]);
    cache_destroy();
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_memory_that_a_c_program_gives(tmp_path: Path) -> None:
    text = """def @main(%past: Tensor[(2, n), float32], %x: Tensor[(2, 1), float32]) {
        let %all = concatenate((%past, %x), axis=1);
        (sum(%all, axis=[1]), %all) }"""
    build(parse(text), threads=1).export(tmp_path / "cache.so")
    header = (tmp_path / "cache.h").read_text()
    assert "output 1 (output1) is input 0 (past) with rows along axis 1" in header
    library = load(tmp_path / "cache.so")
    x = numbers(2, 1)
    _, past = library.run({"past": numbers(2, 3), "x": x}, donate=("past",))
    _, later = library.run({"x": x, "past": past}, donate=("past",))
    assert later.ctypes.data == past.ctypes.data
    assert_close([later], [np.concatenate([numbers(2, 3), x, x], axis=1)])
    (tmp_path / "main.c").write_text(C_PROGRAM)
    command = ["cc", "main.c", "-I.", "./cache.so", "-Wl,-rpath,$ORIGIN", "-o", "main"]
    subprocess.run(command, check=True, cwd=tmp_path)
    found = subprocess.run(tmp_path / "main", check=True, capture_output=True, text=True).stdout
    refusal, rest = found.split("\n")
    assert refusal == "The memory that was given for a result has too little room for its rows."
    assert rest == "1 2 5 15 3 4 6 6 2: 1 25 2 6"


TWICE = """
def @main(%new: Tensor[(1, 8), float32], %past: Tensor[(n, 8), float32]) {
  (concatenate((%past, %new), axis=0), tanh(%past))
}
"""


def test_an_input_that_one_output_continues_is_no_other_output() -> None:
    """Its array is contiguous, and another output of its size would fit there."""
    model = build(parse(TWICE), threads=1)
    past, seen = numbers(2, 8), []
    for step in range(4):
        new = numbers(1, 8, seed=step)
        wanted = np.concatenate([past, new]), np.tanh(past)
        found = model.run({"new": new, "past": past}, donate=("past",))
        assert_close(found, list(wanted))
        seen.append((found, [np.array(each) for each in wanted]))
        past = found[0]
    for found, wanted_then in seen:
        assert_close(found, wanted_then)


def test_a_part_or_another_view_of_a_cache_is_copied(heads: Model) -> None:
    """Only the array that a call gave continues in its memory."""
    past = run(heads, numbers(1, 3, 1, 8), numbers(1, 3, 5, 8))[1]
    assert RowMemory.taken(past[:, :, 1:], 2) is None
    assert RowMemory.taken(past[:, 1:], 2) is None
    assert RowMemory.taken(past[...], 2) is None
    assert RowMemory.taken(past, 2) is past.base
    assert RowMemory.taken(past, 2) is None


def test_rows_to_make_room_for_may_change_between_calls(heads: Model) -> None:
    rooms = {"past": 10}
    first = run(heads, numbers(1, 3, 1, 8), numbers(1, 3, 5, 8), rooms)[1]
    rooms["past"] = 200
    second = run(heads, numbers(1, 3, 1, 8), numbers(1, 3, 5, 8), rooms)[1]
    assert first.base is not None and second.base is not None
    assert (first.base.room, second.base.room) == (10, 200)
