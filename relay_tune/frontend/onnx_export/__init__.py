"""ONNX out: modules without control flow as ONNX graphs; `to_onnx` is what users call."""
