"""How a scale and a zero point pass operators: affine types, a file for each family."""
