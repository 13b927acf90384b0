"""Weights of layers of neural networks."""
