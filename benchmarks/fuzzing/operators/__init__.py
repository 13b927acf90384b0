"""Random networks over most of ONNX's operators: steps by family, and the networks themselves."""
