from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from relay_tune.errors import InputError
from relay_tune.quantization.precisions import BFLOAT16, FLOAT32, INT7, INT8
from relay_tune.tuning.precision.logged_trials import LoggedTrials, LogMemory, OwnMemory
from relay_tune.tuning.precision.search import Found, PrecisionSearch
from tests.tuning.precision.simulated_trials import SimulatedTrials

BOUND = 0.015


def search(
    trials: SimulatedTrials,
    bound: float = BOUND,
    seconds: float = 1000.0,
    seed: int = 0,
    memory: OwnMemory | LogMemory | None = None,
    lines: list[str] | None = None,
) -> Found:
    logged = LoggedTrials(trials, OwnMemory() if memory is None else memory)
    tell = [].append if lines is None else lines.append
    return PrecisionSearch(trials.problem(bound), logged, seconds, seed, tell, trials.clock).run()


def memory_in(path: Path) -> LogMemory:
    return LogMemory(path / "tuning.db", "precisions-test", "a chain", "machine", 1)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_choice_of_a_small_network(seed: int) -> None:
    trials = SimulatedTrials(8, seed)
    found = search(trials)
    every = (
        dict(zip(trials.names, each, strict=True)) for each in product((FLOAT32, INT8), repeat=8)
    )
    least = min(trials.ratio(each) for each in every if trials.simulated_loss(each) <= BOUND)
    assert trials.ratio(found.best) == pytest.approx(least, abs=0.01)
    assert found.exhausted and not found.interrupted


@pytest.mark.parametrize("bound", [BOUND, 0.002])
def test_layers_may_be_in_bfloat16(bound: float) -> None:
    trials = SimulatedTrials(6, precisions=(INT8, BFLOAT16))
    found = search(trials, bound)
    kinds = product((FLOAT32, BFLOAT16, INT8), repeat=6)
    every = (dict(zip(trials.names, each, strict=True)) for each in kinds)
    least = min(trials.ratio(each) for each in every if trials.simulated_loss(each) <= bound)
    assert trials.ratio(found.best) == pytest.approx(least, abs=0.01)
    assert set(found.named[BFLOAT16].values()) == {BFLOAT16}
    assert BFLOAT16 not in found.named["greedy"].values()


@pytest.mark.parametrize("bound", [1.3 * BOUND, BOUND])
def test_weights_may_have_seven_bits(bound: float) -> None:
    trials = SimulatedTrials(6, precisions=(INT8, INT7))
    found = search(trials, bound)
    kinds = product((FLOAT32, INT8, INT7), repeat=6)
    every = (dict(zip(trials.names, each, strict=True)) for each in kinds)
    least = min(trials.ratio(each) for each in every if trials.simulated_loss(each) <= bound)
    assert trials.ratio(found.best) == pytest.approx(least, abs=0.01)
    assert set(found.named[INT8].values()) == {INT8} and set(found.named[INT7].values()) == {INT7}
    assert INT7 not in found.named["greedy"].values()
    kinds = set(found.named["by loss for time"].values())
    assert kinds == ({INT8, INT7} if bound > BOUND else {INT8, FLOAT32})


@pytest.mark.parametrize("seed", range(2))
def test_a_larger_network_is_faster_than_the_greedy_choice(seed: int) -> None:
    trials = SimulatedTrials(30, seed)
    found = search(trials, 0.02)
    assert trials.simulated_loss(found.best) <= 0.02
    greedy = found.named["greedy"]
    assert trials.simulated_loss(greedy) <= 0.02
    assert trials.ratio(found.best) < 0.98 * trials.ratio(greedy)


def test_nothing_is_measured_twice_but_for_the_last_choices() -> None:
    trials = SimulatedTrials(12)
    search(trials)
    assert max(map(trials.built.count, trials.built)) <= 2
    assert sum(trials.built.count(each) == 2 for each in set(trials.built)) <= 6


def test_same_seed_same_choices() -> None:
    one, same, other = (SimulatedTrials(20) for _ in range(3))
    search(one)
    search(same)
    search(other, seed=1)
    assert one.built == same.built != other.built


def test_a_log_makes_a_second_run_measure_nothing(tmp_path: Path) -> None:
    first, second = SimulatedTrials(12), SimulatedTrials(12)
    memory = memory_in(tmp_path)
    before = search(first, memory=memory)
    memory.close()
    memory = memory_in(tmp_path)
    after = search(second, memory=memory)
    memory.close()
    assert first.built and not second.built
    assert after.best == before.best and after.measured == before.measured


def test_an_infinite_loss_is_kept_in_a_log(tmp_path: Path) -> None:
    trials = SimulatedTrials(4)
    trials.alone["layer1"] = float("inf")
    for _ in range(2):
        memory = memory_in(tmp_path)
        assert search(trials, memory=memory).best["layer1"] == FLOAT32
        memory.close()


def test_an_interrupted_search_gives_the_best_so_far() -> None:
    trials = SimulatedTrials(30, interrupt_after=9)
    found = search(trials)
    assert found.interrupted and len(trials.built) == 9
    assert trials.simulated_loss(found.best) <= BOUND
    within = [each for each in found.measured.values() if each.loss <= BOUND]
    assert trials.ratio(found.best) == min(each.ratio for each in within)


def test_one_that_is_interrupted_at_once_stays_in_float32() -> None:
    found = search(SimulatedTrials(5, interrupt_after=0))
    assert found.interrupted and set(found.best.values()) == {FLOAT32}


def test_a_bound_that_no_layer_keeps() -> None:
    trials = SimulatedTrials(6)
    found = search(trials, bound=1e-5)
    assert set(found.best.values()) == {FLOAT32}
    assert found.exhausted


def test_the_bound_is_that_of_builds_and_not_of_the_simulation() -> None:
    trials = SimulatedTrials(20)
    trials.excess = 1.2
    found = search(trials)
    assert set(found.best.values()) == {FLOAT32, INT8}
    for each in (found.best, found.named["greedy"]):
        assert trials.built_loss(each) <= BOUND
    beyond = [each for each in found.measured.values() if each.loss > BOUND]
    assert len(beyond) < 0.4 * len(found.measured)


def test_integers_that_are_slower_are_not_chosen() -> None:
    trials = SimulatedTrials(6)
    trials.conversion = 10.0
    assert set(search(trials, bound=1.0).best.values()) in ({FLOAT32}, {INT8})
    trials.seconds = dict.fromkeys(trials.names, 0.01)
    assert set(search(trials, bound=1.0).best.values()) == {FLOAT32}


def test_the_time_ends_a_search() -> None:
    trials = SimulatedTrials(40)
    found = search(trials, seconds=30.0)
    assert not found.exhausted and 10 < trials.now <= 30


def test_the_greedy_choice_is_measured_however_little_time_there_is() -> None:
    trials = SimulatedTrials(10)
    found = search(trials, seconds=1e-3)
    assert not found.exhausted and 1 < len(set(trials.built)) <= 3
    assert trials.ratio(found.best) <= trials.ratio(found.named["greedy"])


def test_progress_tells_the_best() -> None:
    lines: list[str] = []
    search(SimulatedTrials(8), lines=lines)
    assert lines[0].startswith("3 built, best 0.")
    assert "of 8 layers in int8" in lines[-1]


def test_a_log_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tuning.db").write_text("no log")
    with pytest.raises(InputError, match="not a tuning log"):
        memory_in(tmp_path)
