"""How a primitive may be computed: sketches, choices, spaces, features."""
