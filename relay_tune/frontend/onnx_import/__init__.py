"""ONNX in: node by node into typed expressions; `from_onnx` is what users call."""
