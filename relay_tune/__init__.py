"""relay_tune: a deep-learning compiler that tunes itself on the machine it runs on."""
