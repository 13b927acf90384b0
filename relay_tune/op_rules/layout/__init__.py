"""How operators run on tensors whose axes have another order in memory."""
