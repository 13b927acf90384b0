"""Type inference: constraints, type relations, shapes."""
