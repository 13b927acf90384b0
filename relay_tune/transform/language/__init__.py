"""Passes of the language itself: how programs are put together, whatever they compute."""
