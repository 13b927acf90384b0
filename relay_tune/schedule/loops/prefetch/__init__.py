"""What kernels ask for before they want it."""
