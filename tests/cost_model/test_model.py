import json
import math
from pathlib import Path

import numpy as np
import pytest
import xgboost
from numpy.typing import NDArray

from cost_model import MANY_GROUPS, CostModel, CostModelError, Row, rank_correlation, top_recall
from cost_model.rows import normalised_throughput


def landscape(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """A throughput with a cliff, an optimum and an interaction, between 0 and 1."""
    tile, block, order = features[:, 0], features[:, 1], features[:, 2]
    peak = np.exp(-((tile - 0.6) ** 2) / 0.05) * (0.6 + 0.4 * block * order)
    return np.where(tile > 0.85, 0.3 * peak, peak)


def sample(count: int, seed: int, scale: float = 1.0, group: str = "a") -> list[Row]:
    features = np.random.default_rng(seed).uniform(size=(count, 6))
    throughputs = scale * landscape(features)
    return [
        Row(group, tuple(feature.tolist()), float(throughput))
        for feature, throughput in zip(features, throughputs, strict=True)
    ]


def matrix(rows: list[Row]) -> NDArray[np.float64]:
    return np.array([row.features for row in rows])


def throughputs(rows: list[Row]) -> list[float]:
    return [row.throughput or 0.0 for row in rows]


def trained(rows: list[Row], seed: int = 0, threads: int = 1) -> CostModel:
    model = CostModel(seed, threads)
    model.update(rows)
    return model


TRAINING, HELD_OUT = sample(200, seed=1), sample(400, seed=2)


def test_without_rows_all_candidates_are_equal() -> None:
    model = CostModel(0)
    model.update([])
    assert not model.ready
    assert model.predict(matrix(HELD_OUT)).tolist() == [0.0] * 400


def test_the_ranking_of_unseen_candidates_is_learned() -> None:
    predicted = trained(TRAINING).predict(matrix(HELD_OUT))
    assert predicted.dtype == np.float64
    assert rank_correlation(predicted, throughputs(HELD_OUT)) > 0.9
    assert top_recall(predicted, throughputs(HELD_OUT)) >= 0.8


def test_more_rows_rank_better() -> None:
    correlations = [
        rank_correlation(trained(TRAINING[:count]).predict(matrix(HELD_OUT)), throughputs(HELD_OUT))
        for count in (8, 40, 200)
    ]
    assert correlations == sorted(correlations)


def test_failed_candidates_rank_last() -> None:
    rows = [Row("a", row.features, None if row.features[5] > 0.5 else 5.0) for row in TRAINING]
    predicted = trained(rows).predict(matrix(HELD_OUT))
    failing = matrix(HELD_OUT)[:, 5] > 0.5
    assert np.quantile(predicted[failing], 0.9) < np.quantile(predicted[~failing], 0.1)


def test_groups_are_compared_by_shares_of_their_best() -> None:
    rows = [Row("a", (0.0,), 10.0), Row("a", (1.0,), 5.0), Row("b", (0.0,), 4e9)]
    rows += [Row("b", (1.0,), None), Row("c", (0.0,), None), Row("c", (0.0,), 0.0)]
    assert normalised_throughput(rows).tolist() == [1.0, 0.5, 1.0, 0.0, 0.0, 0.0]


def test_another_task_of_another_scale_helps() -> None:
    few = sample(4, seed=3, group="b")
    together = trained(sample(200, seed=1, scale=1e9) + few)
    alone = trained(few)
    with_help, without = (
        rank_correlation(model.predict(matrix(HELD_OUT)), throughputs(HELD_OUT))
        for model in (together, alone)
    )
    assert with_help > max(0.85, without)


def test_scores_are_reproducible_whatever_the_threads() -> None:
    expected = trained(TRAINING).predict(matrix(HELD_OUT))
    assert np.array_equal(trained(TRAINING).predict(matrix(HELD_OUT)), expected)
    assert np.array_equal(trained(TRAINING, threads=2).predict(matrix(HELD_OUT)), expected)


def test_a_single_row_suffices() -> None:
    model = trained(TRAINING[:1])
    assert model.ready
    assert np.isfinite(model.predict(matrix(HELD_OUT))).all()


def test_training_waits_for_enough_new_rows() -> None:
    model = trained(TRAINING[:100])
    before = model.predict(matrix(HELD_OUT))
    model.update(TRAINING[100:105])
    assert np.array_equal(model.predict(matrix(HELD_OUT)), before)
    model.update(TRAINING[105:108])
    after = model.predict(matrix(HELD_OUT))
    assert not np.array_equal(after, before)
    assert np.array_equal(after, trained(TRAINING[:108]).predict(matrix(HELD_OUT)))


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([[1.0, 2.0]], "have 2 features, the model has 6"),
        ([1.0, 2.0], "must form a matrix"),
        ([[1.0] * 6, [1.0]], "do not form a matrix"),
        ([[float("nan")] * 6], "must be finite"),
        ([["tile"] * 6], "do not form a matrix of numbers"),
    ],
)
def test_features_of_the_wrong_form_are_refused(features: list[object], message: str) -> None:
    with pytest.raises(CostModelError, match=message):
        trained(TRAINING[:20]).predict(features)  # type: ignore[arg-type]


def test_rows_that_differ_in_features_are_refused_and_forgotten() -> None:
    model = trained(TRAINING[:20])
    with pytest.raises(CostModelError, match="have 2 features"):
        model.update([Row("a", (1.0, 2.0), 1.0)])
    model.update(TRAINING[20:40])
    assert np.array_equal(
        model.predict(matrix(HELD_OUT)), trained(TRAINING[:40]).predict(matrix(HELD_OUT))
    )


@pytest.mark.parametrize("throughput", [float("nan"), float("inf"), -1.0])
def test_impossible_throughputs_are_refused(throughput: float) -> None:
    with pytest.raises(CostModelError, match="throughput"):
        Row("a", (1.0,), throughput)


def test_no_candidates_no_scores() -> None:
    assert trained(TRAINING[:20]).predict([]).shape == (0,)


def test_a_failure_of_the_library_is_an_error_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise xgboost.core.XGBoostError("out of luck")

    monkeypatch.setattr(xgboost, "train", fail)
    with pytest.raises(CostModelError, match="20 rows of 6 features failed: out of luck"):
        CostModel(0).update(TRAINING[:20])


def test_a_saved_model_scores_alike(tmp_path: Path) -> None:
    model, copy = trained(TRAINING), CostModel(0)
    model.save(tmp_path / "model.json")
    copy.load(tmp_path / "model.json")
    assert copy.ready
    assert np.array_equal(copy.predict(matrix(HELD_OUT)), model.predict(matrix(HELD_OUT)))
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


def test_a_loaded_model_goes_on_learning_from_where_it_was(tmp_path: Path) -> None:
    trained(TRAINING).save(tmp_path / "model.json")
    continued = CostModel(0)
    continued.load(tmp_path / "model.json")
    few = sample(10, seed=3)
    continued.update(few)
    with_past, alone = (
        rank_correlation(model.predict(matrix(HELD_OUT)), throughputs(HELD_OUT))
        for model in (continued, trained(few))
    )
    assert with_past > max(0.85, alone)


def test_a_model_starts_from_another_as_from_its_file(tmp_path: Path) -> None:
    first = trained(sample(64, seed=1))
    first.save(tmp_path / "model.json")
    loaded, shared = CostModel(seed=7), CostModel(seed=7)
    loaded.load(tmp_path / "model.json")
    shared.start_from(first)
    unseen, before = matrix(sample(32, seed=2)), first.predict(matrix(sample(32, seed=2)))
    assert shared.predict(unseen).tolist() == loaded.predict(unseen).tolist() == before.tolist()
    for model in (loaded, shared):
        model.update(sample(48, seed=3, scale=50.0, group="b"))
    assert shared.predict(unseen).tolist() == loaded.predict(unseen).tolist() != before.tolist()
    assert first.predict(unseen).tolist() == before.tolist()


def test_a_model_starts_from_one_that_knows_the_same_features() -> None:
    with pytest.raises(CostModelError, match="has learned of the same features"):
        CostModel(seed=0).start_from(CostModel(seed=0))
    with pytest.raises(CostModelError, match="has learned of the same features"):
        CostModel(seed=0, feature_names=("x",)).start_from(trained(sample(16, seed=1)))


def test_an_untrained_model_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(CostModelError, match="no rows"):
        CostModel(0).save(tmp_path / "model.json")
    assert json.dumps([path.name for path in tmp_path.iterdir()]) == "[]"


def test_the_estimate_stands_until_it_is_proved_wrong() -> None:
    model = CostModel(0)
    features = [[float(n)] for n in range(40)]
    priors = [0.1 * n for n in range(40)]
    assert model.predict(features, priors).tolist() == priors
    halved = [math.exp(prior) * (0.5 if n >= 20 else 1.0) for n, prior in enumerate(priors)]
    model.update([Row("task", *row) for row in zip(features, halved, priors, strict=True)])
    scores = model.predict([[10.0], [30.0]], [1.0, 1.0])
    assert scores[0] - scores[1] == pytest.approx(math.log(2), abs=0.1)


@pytest.mark.parametrize("weight", [0.0, -1.0, math.inf, math.nan])
def test_weights_of_rows_are_numbers_above_zero(weight: float) -> None:
    with pytest.raises(CostModelError, match="weight"):
        Row("task", (1.0,), 1.0, weight=weight)


def test_rows_of_more_weight_are_believed_rather_than_others() -> None:
    def rows(group: str, better: int, weight: float) -> list[Row]:
        return [
            Row(group, (float(n % 2),), 1.0 + (n % 2 == better), 0.0, weight) for n in range(40)
        ]

    model = trained([*rows("measured", 1, 1.0), *rows("believed", 0, 0.1)])
    scores = model.predict([[0.0], [1.0]])
    assert scores[1] - scores[0] == pytest.approx(0.9 / 1.1 * math.log(2), abs=0.1)


def test_what_was_loaded_counts_for_tasks_that_were_never_seen(tmp_path: Path) -> None:
    first = CostModel(0)
    first.update([Row("old", [float(n % 2), float(n)], 1.0 + n % 2) for n in range(60)])
    first.save(tmp_path / "model.json")
    later = CostModel(0)
    later.load(tmp_path / "model.json")
    later.update([Row("new", [0.0, 100.0 + n], 5.0) for n in range(20)])
    scores = later.predict([[0.0, 110.0], [1.0, 110.0]])
    assert scores[1] > scores[0] + 0.3


def test_careful_growth_needs_more_good_rows_than_one_leaf_holds() -> None:
    rows = [Row("a", (float(place > 0),), 1.0 + place) for place in (0, 1)] * 4
    quick, careful = CostModel(0), CostModel(0, growth=MANY_GROUPS)
    for model in (quick, careful):
        model.update(rows)
    assert quick.predict([[1.0]])[0] > quick.predict([[0.0]])[0]
    assert careful.predict([[1.0]])[0] == careful.predict([[0.0]])[0]
