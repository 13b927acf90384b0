"""How affine types pass operators of neural networks."""
