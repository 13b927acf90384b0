"""From a module to a native program: primitives compiled, memory planned, everything linked."""
