"""Operators of the domain com.microsoft, which onnxruntime's optimizers and quantizers write."""
