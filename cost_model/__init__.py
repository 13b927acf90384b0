"""A cost model that learns to rank candidates from measured ones.

    model = CostModel(seed=0)
    model.update([Row("matmul_512", features, throughput), ...])
    scores = model.predict(feature_matrix)        # higher is better

Knows nothing of what the candidates are; a group holds those whose throughputs compare.
"""

from cost_model.errors import CostModelError
from cost_model.metrics import rank_correlation, top_recall
from cost_model.model import MANY_GROUPS, RETRAIN_ROWS, CostModel, Growth
from cost_model.rows import Row

__all__ = [
    "MANY_GROUPS",
    "RETRAIN_ROWS",
    "CostModel",
    "CostModelError",
    "Growth",
    "Row",
    "rank_correlation",
    "top_recall",
]
