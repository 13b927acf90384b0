"""The tuned network beside the untuned one, with times that are made up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from relay_tune.codegen.compiler_pool import CompilerPool
from relay_tune.codegen.target import Target
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.module import Module
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.schedule import Schedule
from relay_tune.time_limit import TimeIsOver
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.tuning.model_variants import ModelVariants, TunedModel
from relay_tune.tuning.network_check import check_variants
from relay_tune.tuning.plan_space import PlanSpace
from relay_tune.tuning.tasks import Task, extract_tasks
from relay_tune.tuning.variants import WHOLE_ROUNDS, Variants


def one_each(choices: Mapping[str, Schedule]) -> dict[str, list[Schedule]]:
    return {digest: [schedule] for digest, schedule in choices.items()}


def choices(tasks: Sequence[Task], target: Target) -> tuple[dict[str, Schedule], ...]:
    """Default schedules, and others, of all tasks."""
    default, other = {}, {}
    for task in tasks:
        space = PlanSpace(task.plan, machine_of(target), 1)
        default[task.key.digest] = space.default
        genes = space.default_genes
        assert genes is not None
        place = max(n for n, name in enumerate(space.names) if name.endswith(".unroll"))
        other_unroll = (genes[place] + 1) % len(space.values[place])
        changed = (*genes[:place], other_unroll, *genes[place + 1 :])
        other[task.key.digest] = space.schedule(changed)
    assert default != other
    return default, other


def test_both_networks_are_run(module: Module, target: Target) -> None:
    fused = default_pipeline()(module)
    tasks = extract_tasks(fused)
    default, tuned = choices(tasks, target)
    with CompilerPool(target, 1) as pool:
        model = TunedModel(fused, fused)
        primitives = model.primitives(tasks)
        verdict = check_variants(
            ModelVariants(model, primitives, pool, target, 1), default, one_each(tuned)
        )
    assert 0 < verdict.tuned_seconds <= verdict.untuned_seconds
    kept_defaults = verdict.kept == default
    assert len(verdict.ratios) == (0 if kept_defaults else WHOLE_ROUNDS)
    for digest, schedule in verdict.kept.items():
        assert schedule in (default[digest], tuned[digest]) and verdict.seconds[digest] > 0


@pytest.mark.parametrize("whole", [(2.0, 1.0), (1.0, 2.0)], ids=["faster", "slower"])
def test_defaults_stay_where_kernels_or_the_whole_are_slower(
    module: Module, target: Target, monkeypatch: pytest.MonkeyPatch, whole: tuple[float, float]
) -> None:
    fused = default_pipeline()(module)
    first, second = (task.key.digest for task in extract_tasks(fused)[:2])
    default, tuned = choices(extract_tasks(fused), target)
    steps = [{first: 3.0, second: 3.0}, {first: 1.0, second: 4.0}]
    networks = ModelVariants
    monkeypatch.setattr(networks, "kernel_seconds", lambda *_: steps)
    compared = iter(([1.0, 1.0], list(whole), list(whole)))  # first the tuned ones
    monkeypatch.setattr(networks, "whole_seconds", lambda *_: next(compared))
    with CompilerPool(target, 1) as pool:
        model = TunedModel(fused, fused)
        primitives = model.primitives(extract_tasks(fused))
        verdict = check_variants(
            ModelVariants(model, primitives, pool, target, 1), default, one_each(tuned)
        )
    assert verdict.kept[second] == default[second] and verdict.seconds[second] == 3.0
    if whole == (2.0, 1.0):
        assert verdict.kept[first] == tuned[first] and verdict.seconds[first] == 1.0
        assert (verdict.untuned_seconds, verdict.tuned_seconds) == whole
    else:
        assert verdict.kept[first] == default[first] and verdict.seconds[first] == 3.0
        assert verdict.untuned_seconds == verdict.tuned_seconds == 1.0


@pytest.mark.parametrize("step", [1, 4, 8, 20])
def test_the_comparison_is_given_up_between_any_two_steps(
    module: Module, target: Target, step: int
) -> None:
    fused = default_pipeline()(module)
    tasks = extract_tasks(fused)
    steps = iter(range(step - 1))

    def require_time() -> None:
        if next(steps, None) is None:
            raise TimeIsOver

    with CompilerPool(target, 1) as pool, pytest.raises(TimeIsOver):
        model = TunedModel(fused, fused)
        primitives = model.primitives(tasks)
        variants = ModelVariants(model, primitives, pool, target, 1, require_time)
        default, tuned = choices(tasks, target)
        check_variants(variants, default, one_each(tuned))


def test_the_same_schedules_are_not_compared(module: Module, target: Target) -> None:
    fused = default_pipeline()(module)
    tasks = extract_tasks(fused)
    default, _ = choices(tasks, target)
    with CompilerPool(target, 1) as pool:
        model = TunedModel(fused, fused)
        primitives = model.primitives(tasks)
        verdict = check_variants(
            ModelVariants(model, primitives, pool, target, 1), default, one_each(default)
        )
    assert verdict.tuned_seconds == verdict.untuned_seconds and verdict.ratios == ()


def test_symbolic_shapes_are_no_network(module: Module) -> None:
    symbolic = parse("""
#[version = "0.0.5"]
def @main(%x: Tensor[(?, 8), float32]) { nn.relu(%x) }
""")
    fixed, dynamic = (default_pipeline()(each) for each in (module, symbolic))
    assert TunedModel(fixed, fixed).can_run
    assert not TunedModel(dynamic, dynamic).can_run


def test_outputs_that_are_inputs_are_copied_by_the_same_primitive(target: Target) -> None:
    fused = default_pipeline()(
        parse("""
#[version = "0.0.5"]
def @main(%x: Tensor[(16, 48), float32]) { (%x, nn.relu(%x), %x) }
""")
    )
    tasks = extract_tasks(fused)
    schedules = {
        task.key.digest: PlanSpace(task.plan, machine_of(target), 1).default for task in tasks
    }
    with CompilerPool(target, 1) as pool:
        model = TunedModel(fused, fused)
        primitives = model.primitives(tasks)
        verdict = check_variants(
            ModelVariants(model, primitives, pool, target, 1), schedules, one_each(schedules)
        )
    assert verdict.tuned_seconds > 0


class MadeUpVariants(Variants[Mapping[str, Schedule]]):
    """Networks whose kernels take the seconds of their schedules."""

    def __init__(
        self, seconds: Mapping[Schedule, float], size: int = 0, comparing: float = 0.0
    ) -> None:
        super().__init__(lambda: None)
        self.seconds = seconds
        self.size = size
        self.comparing = comparing
        self.built: list[Mapping[str, Schedule]] = []

    def variant(self, choices: Mapping[str, Schedule]) -> Mapping[str, Schedule]:
        self.built.append(choices)
        return choices

    def kernel_seconds(
        self, variants: Sequence[Mapping[str, Schedule]], seconds: float
    ) -> list[dict[str, float]]:
        return [{d: self.seconds[each[d]] for d in each} for each in variants]

    def whole_seconds(self, variants: Sequence[Mapping[str, Schedule]]) -> list[float]:
        self.ratios = (1.5,)
        return [sum(own.values()) for own in self.kernel_seconds(variants, 1.0)]

    def least_seconds(self, variant: Mapping[str, Schedule], count: int) -> float:
        return count * self.comparing

    def bytes(self, variant: Mapping[str, Schedule]) -> int:
        return self.size

    def _run(self, variant: Mapping[str, Schedule]) -> None:
        raise NotImplementedError


def schedule(unroll: int) -> Schedule:
    return Schedule((TileChoice(0, 8, (8,), (0,), (1,), (0,), unroll, 0),))


DEFAULT, FIRST, SECOND, THIRD = map(schedule, (1, 2, 4, 8))
CHOSEN = {"a": DEFAULT, "b": DEFAULT}


def test_of_each_kernel_the_schedule_is_kept_that_is_the_fastest_in_the_network() -> None:
    variants = MadeUpVariants({DEFAULT: 1.0, FIRST: 1.1, SECOND: 0.8, THIRD: 0.9})
    verdict = check_variants(variants, CHOSEN, {"a": [FIRST, SECOND, THIRD], "b": [FIRST, THIRD]})
    assert verdict.kept == {"a": SECOND, "b": THIRD}
    assert verdict.seconds == {"a": 0.8, "b": 0.9}
    assert (verdict.untuned_seconds, verdict.tuned_seconds) == (2.0, pytest.approx(1.7))
    assert verdict.defaults == frozenset() and verdict.ratios == (1.5,)
    assert len(variants.built) == 4  # that of the second schedules is what is kept


def test_what_is_hardly_faster_is_not_kept() -> None:
    variants = MadeUpVariants({DEFAULT: 1.0, FIRST: 0.998, SECOND: 0.8})
    verdict = check_variants(variants, CHOSEN, {"a": [FIRST], "b": [SECOND]})
    assert verdict.kept == {"a": DEFAULT, "b": SECOND}
    assert verdict.defaults == {"a"}


class Disturbing(MadeUpVariants):
    """As a whole, networks take other times than the sums of their kernels'."""

    def __init__(self, seconds: Mapping[Schedule, float], whole: Mapping[Schedule, float]) -> None:
        super().__init__(seconds)
        self.whole = whole

    def whole_seconds(self, variants: Sequence[Mapping[str, Schedule]]) -> list[float]:
        self.ratios = (1.5,)
        return [sum(self.whole[each[d]] for d in each) for each in variants]


def test_winners_are_kept_that_are_faster_as_a_whole() -> None:
    traced = {DEFAULT: 1.0, FIRST: 1.1, SECOND: 0.9}
    fastest = {"a": [FIRST], "b": [SECOND]}
    faster = Disturbing(traced, {DEFAULT: 1.0, FIRST: 0.9, SECOND: 0.9})
    verdict = check_variants(faster, CHOSEN, fastest)
    assert verdict.kept == {"a": FIRST, "b": SECOND}
    assert verdict.seconds == {"a": 1.1, "b": 0.9}
    assert (verdict.untuned_seconds, verdict.tuned_seconds) == (2.0, 1.8)
    alike = Disturbing(traced, {DEFAULT: 1.0, FIRST: 0.999, SECOND: 0.9})
    assert check_variants(alike, CHOSEN, fastest).kept == {"a": DEFAULT, "b": SECOND}


def test_the_statement_comes_before_a_comparison_as_a_whole() -> None:
    traced = {DEFAULT: 1.0, FIRST: 1.1, SECOND: 0.9}
    variants = Disturbing(traced, {DEFAULT: 1.0, FIRST: 0.9, SECOND: 0.9})
    variants.least_seconds = lambda variant, count: 1.0 + count  # type: ignore[method-assign]
    fastest = {"a": [FIRST], "b": [SECOND]}
    verdict = check_variants(variants, CHOSEN, fastest, lambda: 1.9)
    assert verdict.kept == {"a": DEFAULT, "b": SECOND} and verdict.ratios == (1.5,)


def test_a_network_that_is_hardly_faster_as_a_whole_stays_untuned() -> None:
    variants = Disturbing({DEFAULT: 1.0, FIRST: 0.5}, {DEFAULT: 1.0, FIRST: 0.998})
    verdict = check_variants(variants, CHOSEN, {"a": [FIRST], "b": [FIRST]})
    assert verdict.kept == CHOSEN and verdict.ratios == ()
    assert verdict.untuned_seconds == verdict.tuned_seconds == 2.0


def test_further_schedules_are_compared_while_there_is_time_and_memory() -> None:
    variants = MadeUpVariants({DEFAULT: 1.0, FIRST: 0.9, SECOND: 0.8})
    left = iter((10.0, 9.0, 5.9, 5.8))
    fastest = {"a": [FIRST, SECOND], "b": [FIRST]}
    assert check_variants(variants, CHOSEN, fastest, left.__next__).kept == {"a": FIRST, "b": FIRST}
    slow = MadeUpVariants(variants.seconds, comparing=2.0)  # three of them take 6 seconds
    left = iter((10.0, 9.0, 7.9, 5.8))
    assert check_variants(slow, CHOSEN, fastest, left.__next__).kept == {"a": FIRST, "b": FIRST}
    large = MadeUpVariants(variants.seconds, size=1 << 40)
    assert check_variants(large, CHOSEN, fastest).kept == {"a": FIRST, "b": FIRST}


def test_defaults_stay_where_there_is_no_time_for_a_second_opinion() -> None:
    class Late(MadeUpVariants):
        def whole_seconds(self, variants: Sequence[Mapping[str, Schedule]]) -> list[float]:
            if self.ratios:
                raise TimeIsOver
            self.ratios = (0.9,)
            return [1.0, 1.1]

    verdict = check_variants(Late({DEFAULT: 1.0, FIRST: 0.8}), {"a": DEFAULT}, {"a": [FIRST]})
    assert verdict.kept == {"a": DEFAULT} and verdict.ratios == ()
    assert verdict.untuned_seconds == verdict.tuned_seconds == 1.0
