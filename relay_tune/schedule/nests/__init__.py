"""The loop nests of a program, before anything is chosen for them."""
