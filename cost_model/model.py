"""The cost model: gradient-boosted trees that rank candidates by predicted throughput.

Trees (Chen and Guestrin, "XGBoost: A Scalable Tree Boosting System", KDD 2016) are fitted by
squared error to the logarithm of the throughput as a share of the best of its group, less what an
estimate says of it. Pairwise ranking was compared and is no better; `docs/search.md` has the
figures.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import xgboost

from cost_model.document import ModelDocument, read_document, write_document
from cost_model.errors import CostModelError
from cost_model.rows import FloatArray, Row, feature_matrix, targets

PARAMETERS: dict[str, str | int | float] = {
    "objective": "reg:squarederror",
    "tree_method": "hist",
    "max_depth": 6,
    "max_bin": 256,
    "lambda": 0.1,
    "base_score": 0.0,
    "verbosity": 0,
}
RETRAIN_ROWS = 8
"""Trees are grown anew once so many new rows have come ..."""

RETRAIN_SHARE = 0.10
"""... or this share of all rows is new."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How trees are grown.

    Attributes:
        rounds: trees of a training.
        rate: how much of what is missing each tree corrects.
        leaf_weight: rows of full weight that a leaf stands for at least.
        rows_share: the share of the rows that each tree sees, drawn anew.
        features_share: the same of the features.
    """

    rounds: int = 60
    rate: float = 0.15
    leaf_weight: float = 1.0
    rows_share: float = 1.0
    features_share: float = 1.0


MANY_GROUPS = Growth(rounds=250, rate=0.1, leaf_weight=2.0, rows_share=0.8, features_share=0.5)
"""For a model that is to rank groups which it has not seen: leaves that one group cannot fill, and
trees that differ in what they see."""


class CostModel:
    """Learns from measured rows and scores candidates.

    Same seed, same rows, same scores, whatever the number of threads. All rows are kept, and
    trees are grown anew from all of them. A loaded model serves as the starting point: later
    rows grow trees on top of it.
    """

    def __init__(
        self,
        seed: int,
        threads: int = 1,
        feature_names: Sequence[str] = (),
        growth: Growth = Growth(),
    ) -> None:
        """A model that knows nothing; `feature_names`, if given, are kept in its file."""
        self._parameters = PARAMETERS | {
            "seed": seed,
            "nthread": threads,
            "eta": growth.rate,
            "min_child_weight": growth.leaf_weight,
            "subsample": growth.rows_share,
            "colsample_bytree": growth.features_share,
        }
        self._feature_names = tuple(feature_names)
        self._rounds = growth.rounds
        self._rows: list[Row] = []
        self._rows_trained = 0
        self._feature_count: int | None = None
        self._loaded: xgboost.Booster | None = None
        self._booster: xgboost.Booster | None = None

    @property
    def ready(self) -> bool:
        """Whether the model has learned from any row."""
        return self._booster is not None

    def update(self, rows: Sequence[Row]) -> None:
        """Learn from further rows; cheap where too few are new to be worth training.

        Raises `CostModelError` where rows differ in their number of features (nothing is kept
        then) or training fails (the rows are kept, the scores stay as they were).
        """
        if not rows:
            return
        self._check_features(feature_matrix([row.features for row in rows]))
        self._rows += map(_compact, rows)
        new = len(self._rows) - self._rows_trained
        if not self.ready or new >= RETRAIN_ROWS or new >= RETRAIN_SHARE * len(self._rows):
            self._train()

    def predict(
        self,
        features: Sequence[Sequence[float]] | FloatArray,
        priors: Sequence[float] | None = None,
    ) -> FloatArray:
        """Scores of candidates of one group, higher is better: logarithms of throughput.

        features: shape (candidates, features); the result has shape (candidates,).
        priors: estimates as in `Row.prior`; zeros if left out.
        Until the model is `ready` the scores are the priors. Raises `CostModelError` where the
        number of features is not the one learned from.
        """
        if len(features) == 0:
            return np.zeros(0)
        matrix = feature_matrix(features)
        known = np.zeros(len(matrix)) if priors is None else np.asarray(priors, dtype=np.float64)
        if self._booster is None:
            return known
        self._check_features(matrix)
        return known + self._learned(self._booster, matrix)

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file; `CostModelError` if it has not learned anything."""
        if self._booster is None or self._feature_count is None:
            raise CostModelError("a model that has learned from no rows cannot be saved")
        trees = bytes(self._booster.save_raw("json")).decode("utf-8")
        rows = self._rows_trained
        document = ModelDocument(self._feature_count, self._feature_names, rows, trees)
        write_document(document, Path(path))

    def load(self, path: str | Path) -> None:
        """Replace what was learned by a saved model.

        Raises `CostModelError`, and leaves the model as it was, where the file is not one, or one
        for other features. The trees are checked for damage, but take files from people you trust
        only.
        """
        document = read_document(Path(path))
        if document.feature_names != self._feature_names:
            raise CostModelError(f"{path} is about other features; train the model again")
        booster = xgboost.Booster({"nthread": self._parameters["nthread"]})
        try:
            booster.load_model(bytearray(document.trees, "utf-8"))
        except xgboost.core.XGBoostError as error:
            raise CostModelError(f"{path}: the trees cannot be read: {error}") from error
        self._loaded = self._booster = booster
        self._feature_count = document.feature_count
        self._rows, self._rows_trained = [], 0

    def start_from(self, other: "CostModel") -> None:
        """Replace what was learned by what another model has learned, as its file would.

        The trees are shared: later rows grow trees on top of them in this model alone. Raises
        `CostModelError` where the other model knows nothing, or knows other features.
        """
        if other._booster is None or other._feature_names != self._feature_names:
            raise CostModelError("a model starts from one that has learned of the same features")
        self._loaded = self._booster = other._booster
        self._feature_count = other._feature_count
        self._rows, self._rows_trained = [], 0

    def _train(self) -> None:
        matrix = feature_matrix([row.features for row in self._rows])
        priors = np.array([row.prior for row in self._rows])
        known = priors if self._loaded is None else priors + self._learned(self._loaded, matrix)
        missing, weights = targets(self._rows, known)
        try:
            data = xgboost.DMatrix(
                matrix,
                label=missing + known - priors,
                weight=weights,
                nthread=self._parameters["nthread"],
            )
            self._booster = xgboost.train(
                self._parameters, data, num_boost_round=self._rounds, xgb_model=self._loaded
            )
        except xgboost.core.XGBoostError as error:
            raise CostModelError(
                f"training on {matrix.shape[0]} rows of {matrix.shape[1]} features failed: {error}"
            ) from error
        self._rows_trained = len(self._rows)

    def _learned(self, booster: xgboost.Booster, matrix: FloatArray) -> FloatArray:
        """What trees add to the priors."""
        return np.asarray(booster.inplace_predict(matrix), dtype=np.float64)

    def _check_features(self, matrix: FloatArray) -> None:
        count = matrix.shape[1]
        if self._feature_count is None:
            self._feature_count = count
        if count != self._feature_count or count == 0:
            raise CostModelError(
                f"candidates have {count} features, the model has {self._feature_count}: "
                "describe all candidates of a model alike"
            )


def _compact(row: Row) -> Row:
    """A row whose features take a tenth of the memory; trees compare no more digits."""
    return replace(row, features=array("f", row.features))
