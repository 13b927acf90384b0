"""Every operator, once: attributes, type relation, computation, reference."""
