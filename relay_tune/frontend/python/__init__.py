"""Python functions and classes as programs: `relay_function` and `relay_model`."""
