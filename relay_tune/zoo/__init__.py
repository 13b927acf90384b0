"""Built-in architectures with seeded random weights, so that everything can be tried at once."""

from relay_tune.zoo.catalogue import build, example_inputs, names, program_names

__all__ = ["build", "example_inputs", "names", "program_names"]
