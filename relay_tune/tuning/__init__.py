"""Tasks, budget, and the loop propose, predict, measure, record."""

from relay_tune.leaves import check_leaves

check_leaves()
