"""Convolution by Winograd's minimal filtering, as ordinary stages of a program."""
