"""Other ways to compute a program: an algorithm each."""
