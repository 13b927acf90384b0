"""How operators take part in kernels."""
