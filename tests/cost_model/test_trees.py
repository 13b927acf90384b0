"""The text of trees that goes into a file."""

import json

import numpy as np
import pytest
import xgboost

from cost_model.errors import CostModelError
from cost_model.trees import STATISTICS, check_trees, with_statistics, without_statistics

FEATURES = np.random.default_rng(0).normal(size=(200, 5))


def grown(rounds: int, start: xgboost.Booster | None = None) -> xgboost.Booster:
    """Trees that add up what is in two of the features."""
    data = xgboost.DMatrix(FEATURES, label=FEATURES[:, 1] - FEATURES[:, 3] ** 2)
    return xgboost.train({"seed": 0, "nthread": 1}, data, num_boost_round=rounds, xgb_model=start)


def test_trees_say_the_same_and_grow_on_alike_without_statistics() -> None:
    first = grown(10)
    text = bytes(first.save_raw("json")).decode()
    short = without_statistics(text)
    assert len(short) < 0.7 * len(text)
    filled = with_statistics(short, "here")
    check_trees(filled, FEATURES.shape[1], "here")
    loaded = xgboost.Booster({"nthread": 1})
    loaded.load_model(bytearray(filled, "utf-8"))
    for full, lean in ((first, loaded), (grown(10, first), grown(10, loaded))):
        expected = full.inplace_predict(FEATURES)
        assert np.array_equal(lean.inplace_predict(FEATURES), expected)


def test_statistics_that_are_there_stay() -> None:
    text = bytes(grown(2).save_raw("json")).decode()
    assert json.loads(with_statistics(text, "here")) == json.loads(text)


def test_statistics_left_out_are_zeros_as_many_as_nodes() -> None:
    short = without_statistics(bytes(grown(2).save_raw("json")).decode())
    for tree in json.loads(with_statistics(short, "here"))["learner"]["gradient_booster"]["model"][
        "trees"
    ]:
        count = int(tree["tree_param"]["num_nodes"])
        assert [tree[name] for name in STATISTICS] == [[0.0] * count] * len(STATISTICS)


@pytest.mark.parametrize("text", ["", "[]", '{"learner": {}}', "[" * 100_000])
def test_what_are_no_trees_is_an_error(text: str) -> None:
    with pytest.raises(CostModelError, match="here: the trees are malformed"):
        with_statistics(text, "here")
