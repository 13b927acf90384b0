"""Rules of adjoints: those of a call's arguments, given that of its result."""
