"""Random calls of every operator that computes with floats, by family."""
