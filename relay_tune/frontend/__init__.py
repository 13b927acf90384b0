"""Models in: ONNX files."""
