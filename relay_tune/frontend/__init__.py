"""Models in, from ONNX (and out again), Relay text and Python; how users build expressions."""
