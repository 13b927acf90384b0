"""What can be computed before a program runs."""
