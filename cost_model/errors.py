"""Errors of the cost model."""


class CostModelError(ValueError):
    """Rows, features or a model file that the cost model cannot work with."""
