"""The operators that ask for the derivative of a function, or say how it is computed."""

from __future__ import annotations

from relay_tune.op_rules.table import OperatorTable

REQUESTS: OperatorTable[str] = OperatorTable(
    {"grad": "gradient", "vjp": "adjoint", "jvp": "tangent"},
)
"""The mode of the operator `derivative` that each of them asks for."""

DERIVATIVE: OperatorTable[bool] = OperatorTable({"derivative": True})
"""The operator that stands for the value of a call together with its derivative."""

RULES: OperatorTable[str] = OperatorTable({"custom_vjp": "adjoint", "custom_jvp": "tangent"})
"""The mode of derivatives that each of them gives a function a rule for."""

CHECKPOINT: OperatorTable[bool] = OperatorTable({"checkpoint": True})
"""The operator that has a function computed again for derivatives."""

CHECKPOINTED: OperatorTable[bool] = OperatorTable({"checkpointed": True})
"""The operator that stands for a call of such a function."""

RULED: OperatorTable[bool] = OperatorTable({"ruled": True})
"""The operator that stands for a call of a function with a rule."""
