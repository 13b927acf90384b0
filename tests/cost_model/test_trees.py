"""The text of trees that goes into a file."""

import json

import numpy as np
import xgboost

from cost_model.trees import STATISTICS, check_trees, without_statistics

FEATURES = np.random.default_rng(0).normal(size=(200, 5))


def grown(rounds: int, start: xgboost.Booster | None = None) -> xgboost.Booster:
    """Trees that add up what is in two of the features."""
    data = xgboost.DMatrix(FEATURES, label=FEATURES[:, 1] - FEATURES[:, 3] ** 2)
    return xgboost.train({"seed": 0, "nthread": 1}, data, num_boost_round=rounds, xgb_model=start)


def test_trees_say_the_same_and_grow_on_alike_without_statistics() -> None:
    first = grown(10)
    text = bytes(first.save_raw("json")).decode()
    short = without_statistics(text)
    assert len(short) < 0.8 * len(text)
    check_trees(short, FEATURES.shape[1], "here")
    loaded = xgboost.Booster({"nthread": 1})
    loaded.load_model(bytearray(short, "utf-8"))
    for full, lean in ((first, loaded), (grown(10, first), grown(10, loaded))):
        expected = full.inplace_predict(FEATURES)
        assert np.array_equal(lean.inplace_predict(FEATURES), expected)


def test_statistics_are_zero_and_as_many_as_nodes() -> None:
    text = without_statistics(bytes(grown(2).save_raw("json")).decode())
    for tree in json.loads(text)["learner"]["gradient_booster"]["model"]["trees"]:
        count = int(tree["tree_param"]["num_nodes"])
        assert [tree[name] for name in STATISTICS] == [[0.0] * count] * len(STATISTICS)
