"""Operators of the domain ai.onnx.ml: classical models, as scikit-learn's exporters write them."""
