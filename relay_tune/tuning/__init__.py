"""Tasks, budget, and the loop propose, predict, measure, record."""
