"""Built-in architectures with seeded random weights."""
