"""Quantization of float networks: annotate, calibrate, realize."""
