"""Built-in architectures with seeded random weights, so that everything can be tried at once."""

from relay_tune.zoo.catalogue import (
    all_names,
    build,
    decoder_names,
    example_inputs,
    names,
    program_names,
)

__all__ = ["all_names", "build", "decoder_names", "example_inputs", "names", "program_names"]
